/*
 * status.c -- the results of calls as statuses and texts.
 */
#include "api/handles.h"
#include "base/fault.h"

#define SAME(ours, theirs) \
    _Static_assert((int)(ours) == (int)(theirs), "one number for one thing in both headers")
SAME(BWL_NAME_MAX, BOWLINE_NAME_MAX);
SAME(BWL_LEASE_MIN_MS, BOWLINE_LEASE_MIN_MS);
SAME(BWL_LEASE_MAX_MS, BOWLINE_LEASE_MAX_MS);
SAME(BWL_WAIT_MAX_MS, BOWLINE_WAIT_MAX_MS);
SAME(BWL_REFERENCES_MAX, BOWLINE_REFS_MAX);
SAME(BWL_LOG_INFO, BOWLINE_LOG_INFO);
SAME(BWL_LOG_WARNING, BOWLINE_LOG_WARNING);
SAME(BWL_LOG_ERROR, BOWLINE_LOG_ERROR);
SAME(BWL_HOLDER_TEXT_MAX, BOWLINE_HOLDER_TEXT_MAX);
SAME(BWL_EVENT_ENDED, BOWLINE_EVENT_ENDED);
SAME(BWL_EVENT_LOST, BOWLINE_EVENT_LOST);
SAME(BWL_EVENT_ERROR, BOWLINE_EVENT_NOT_RENEWED);

static const struct {
    bowline_status status;
    const char    *name;
    const char    *words;
} statuses[] = {
    { BOWLINE_OK, "OK", "success" },
    { BOWLINE_BUSY, "BUSY", "someone else holds the lock" },
    { BOWLINE_TIMEOUT, "TIMEOUT", "gave up waiting for the lock" },
    { BOWLINE_LOST, "LOST", "the lock was ours and is not any more" },
    { BOWLINE_UNKNOWN, "UNKNOWN", "no answer: it may or may not have been done" },
    { BOWLINE_CANCELLED, "CANCELLED", "cancelled by the caller" },
    { BOWLINE_UNREACHABLE, "UNREACHABLE", "the server cannot be reached" },
    { BOWLINE_REFUSED, "REFUSED", "the server or the system refused" },
    { BOWLINE_USAGE, "USAGE", "the library was called wrongly" },
    { BOWLINE_UNSUPPORTED, "UNSUPPORTED", "this engine or build cannot do that" },
    { BOWLINE_NOMEM, "NOMEM", "out of memory" },
    { BOWLINE_SYSTEM, "SYSTEM", "a system call failed" },
    { BOWLINE_FORKED, "FORKED", "opened before fork, used in the child" },
    { BOWLINE_DONE, "DONE", "somebody has done it within the period" },
    { 0, "?", "a status that this version does not know" },
};

enum { STATUSES = sizeof statuses / sizeof statuses[0] };

/* The last one is for a status that none has. */
static size_t row_of(int status)
{
    size_t i = 0;

    while (i < STATUSES - 1 && (int)statuses[i].status != status)
        i++;
    return i;
}

const char *bowline_status_name(int status)
{
    return statuses[row_of(status)].name;
}

const char *bowline_status_words(int status)
{
    return statuses[row_of(status)].words;
}

int bowline_version(void)
{
    return BOWLINE_VERSION_NUMBER;
}

const char *bowline_version_string(void)
{
    return BOWLINE_VERSION_STRING;
}

int bwl_check_fork(const bwl_shard *shard, bowline_error *reterr)
{
    if (!bwl_forked(&shard->host.guard))
        return BOWLINE_OK;
    return bwl_fail(reterr, BWL_STATUS_FORKED,
                    "this client was opened before fork: the child must open one of its own");
}

/* The store's error, or that it did not reply; `otherwise` if there is no reason. */
static const char *reason(const bwl_lock *lock, const char *otherwise)
{
    return lock->base.why.text[0] != '\0' ? lock->base.why.text : otherwise;
}

/* Writes "NAME: REASON", with the errno and the server's code of the reason. */
static int because(const bwl_lock *lock, bwl_status status, const char *otherwise,
                   bowline_error *reterr)
{
    return bwl_fail_because(reterr, status, &lock->base.why, "%s: %s", lock->base.name,
                            reason(lock, otherwise));
}

int bwl_report_loss(const bwl_lock *lock, bowline_error *reterr)
{
    return bwl_fail_because(reterr, BWL_STATUS_LOST, &lock->base.why, "%s is no longer ours: %s",
                            lock->base.name, reason(lock, "the lease ended, or the store lost it"));
}

int bwl_report_unreachable(const bwl_lock *lock, bowline_error *reterr)
{
    return because(lock, BWL_STATUS_UNREACHABLE, "the store gave no reason", reterr);
}

static int unknown(const bwl_operation *operation, bowline_error *reterr)
{
    const bwl_lock *lock      = operation->lock;
    const char     *otherwise = "the server did not answer";

    if (operation->verb == BWL_RELEASE)
        return bwl_fail_because(
            reterr, BWL_STATUS_UNKNOWN, &lock->base.why,
            "%s: the result of the release is unknown, the lock ends with its lease: %s",
            lock->base.name, reason(lock, otherwise));
    return because(lock, BWL_STATUS_UNKNOWN, otherwise, reterr);
}

static const char *foreign(const bwl_lock *lock)
{
    return lock->saw_foreign
               ? ": a foreign lock, whose value or expiry this protocol does not write: left alone"
               : "";
}

static int timed_out(const bwl_lock *lock, bowline_error *reterr)
{
    const bwl_compat_rules *rules     = lock->base.hold.request.options->rules;
    unsigned                tries_max = rules != NULL ? rules->tries_max : 0;

    if (tries_max != 0 && lock->base.hold.request.attempt >= tries_max)
        return bwl_fail(reterr, BWL_STATUS_TIMEOUT,
                        "%s was held by other clients at each of %u attempts%s", lock->base.name,
                        tries_max, foreign(lock));
    return bwl_fail(reterr, BWL_STATUS_TIMEOUT,
                    "%s was held by other clients during the whole wait%s", lock->base.name,
                    foreign(lock));
}

int bwl_report(const bwl_operation *operation, bowline_error *reterr)
{
    const bwl_lock *lock        = operation->lock;
    const char     *silence     = "the store gave no reason";
    bool            is_of_files = lock->engine != NULL && lock->engine->kind == BWL_ENGINE_FILE;

    switch (operation->completion.result) {
    case BWL_HELD: return BOWLINE_OK;
    case BWL_RELEASED:
        return operation->announces ? lock->engine->view.election->announced(&lock->base, reterr)
                                    : BOWLINE_OK;
    case BWL_BUSY:
        if (operation->verb == BWL_EXTEND)
            return bwl_fail(reterr, BWL_STATUS_BUSY,
                            "others share %s too: it is still shared, as before", lock->base.name);
        return bwl_fail(reterr, BWL_STATUS_BUSY, "%s is held by someone else%s", lock->base.name,
                        foreign(lock));
    case BWL_FULL:
        return bwl_fail(reterr, BWL_STATUS_BUSY, "%s is held, and %s", lock->base.name,
                        reason(lock, silence));
    case BWL_DONE:
        return bwl_fail(reterr, BWL_STATUS_DONE, "%s is done for this period", lock->base.name);
    case BWL_TIMED_OUT: return timed_out(lock, reterr);
    case BWL_NOT_NOW:
        return because(lock, BWL_STATUS_REFUSED,
                       is_of_files ? "a program that is using the file of the lock does not go on: "
                                     "it may be stopped"
                                   : "the server answers too slowly for this lease",
                       reterr);
    case BWL_STORE_REFUSED: return because(lock, BWL_STATUS_REFUSED, silence, reterr);
    case BWL_UNREACHABLE: return bwl_report_unreachable(lock, reterr);
    case BWL_LOST: return bwl_report_loss(lock, reterr);
    case BWL_UNKNOWN: return unknown(operation, reterr);
    case BWL_CANCELLED:
        return bwl_fail(reterr, BWL_STATUS_CANCELLED, "%s: cancelled", lock->base.name);
    case BWL_PENDING:
    case BWL_QUEUED:
    case BWL_RETRY_WITH_NEW_TOKEN: bwl_unreachable("the operation has ended");
    }
    bwl_unreachable("an outcome outside of its enum");
}
