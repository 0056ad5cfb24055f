/*
 * status.c -- how calls come out, in numbers and in words.
 */
#include "api/handles.h"
#include "base/fault.h"

#include <stdio.h>

#define SAME(ours, theirs) \
    _Static_assert((int)(ours) == (int)(theirs), "one number for one thing in both headers")
SAME(BWL_OK, BOWLINE_OK);
SAME(BWL_STATUS_BUSY, BOWLINE_BUSY);
SAME(BWL_STATUS_TIMEOUT, BOWLINE_TIMEOUT);
SAME(BWL_STATUS_LOST, BOWLINE_LOST);
SAME(BWL_STATUS_UNKNOWN, BOWLINE_UNKNOWN);
SAME(BWL_STATUS_CANCELLED, BOWLINE_CANCELLED);
SAME(BWL_STATUS_UNREACHABLE, BOWLINE_UNREACHABLE);
SAME(BWL_STATUS_REFUSED, BOWLINE_REFUSED);
SAME(BWL_STATUS_USAGE, BOWLINE_USAGE);
SAME(BWL_STATUS_UNSUPPORTED, BOWLINE_UNSUPPORTED);
SAME(BWL_STATUS_NOMEM, BOWLINE_NOMEM);
SAME(BWL_STATUS_SYSTEM, BOWLINE_SYSTEM);
SAME(BWL_STATUS_FORKED, BOWLINE_FORKED);
SAME(BWL_NAME_MAX, BOWLINE_NAME_MAX);
SAME(BWL_LEASE_MIN_MS, BOWLINE_LEASE_MIN_MS);
SAME(BWL_LEASE_MAX_MS, BOWLINE_LEASE_MAX_MS);
SAME(BWL_WAIT_MAX_MS, BOWLINE_WAIT_MAX_MS);
SAME(BWL_HOLDER_TEXT_MAX, BOWLINE_HOLDER_TEXT_MAX);
SAME(BWL_EVENT_ENDED, BOWLINE_EVENT_ENDED);
SAME(BWL_EVENT_LOST, BOWLINE_EVENT_LOST);
SAME(BWL_EVENT_TROUBLE, BOWLINE_EVENT_TROUBLE);

const char *bowline_status_name(int status)
{
    switch (status) {
#define X(name, number, words) \
    case number: return #name;
        BOWLINE_STATUS_MAP(X)
#undef X
    default: return "?";
    }
}

const char *bowline_status_words(int status)
{
    switch (status) {
#define X(name, number, words) \
    case number: return words;
        BOWLINE_STATUS_MAP(X)
#undef X
    default: return "a status that this version does not know";
    }
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
    return bwl_fail(bwl_fault_of(reterr), BWL_STATUS_FORKED,
                    "this client was opened before fork: the child must open one of its own");
}

int bwl_report_loss(const bwl_lock *lock, bowline_error *reterr)
{
    const char *why =
        lock->base.why[0] != '\0' ? lock->base.why : "the lease ended, or the store lost it";

    return bwl_fail(bwl_fault_of(reterr), BWL_STATUS_LOST, "%s is not ours any more: %s",
                    lock->base.name, why);
}

static int unknown(const bwl_operation *operation, bwl_fault *fault)
{
    const bwl_lock *lock = operation->lock;
    const char     *why  = lock->base.why[0] != '\0' ? lock->base.why : "the server did not answer";

    if (operation->verb == BWL_RELEASE)
        return bwl_fail(fault, BWL_STATUS_UNKNOWN,
                        "%s: whether it was given back is not known, it ends with its lease: %s",
                        lock->base.name, why);
    return bwl_fail(fault, BWL_STATUS_UNKNOWN, "%s: %s", lock->base.name, why);
}

static const char *stranger(const bwl_lock *lock)
{
    return lock->saw_foreign
               ? ": a foreign lock, whose value or expiry this protocol does not write: left alone"
               : "";
}

static int timed_out(const bwl_lock *lock, bwl_fault *fault)
{
    const bwl_rules *rules     = lock->base.hold.claim.rules;
    unsigned         tries_max = rules != NULL ? rules->tries_max : 0;

    if (tries_max != 0 && lock->base.hold.claim.attempt >= tries_max)
        return bwl_fail(fault, BWL_STATUS_TIMEOUT, "%s was held by others at each of %u tries%s",
                        lock->base.name, tries_max, stranger(lock));
    return bwl_fail(fault, BWL_STATUS_TIMEOUT, "%s was held by others for all of the wait%s",
                    lock->base.name, stranger(lock));
}

int bwl_report(const bwl_operation *operation, bowline_error *reterr)
{
    bwl_fault      *fault = bwl_fault_of(reterr);
    const bwl_lock *lock  = operation->lock;
    const char     *why   = lock->base.why[0] != '\0' ? lock->base.why : "the store gave no reason";

    switch (operation->completion.result) {
    case BWL_HELD:
    case BWL_RELEASED: return BOWLINE_OK;
    case BWL_BUSY:
        return bwl_fail(fault, BWL_STATUS_BUSY, "%s is held by someone else%s", lock->base.name,
                        stranger(lock));
    case BWL_FULL:
        return bwl_fail(fault, BWL_STATUS_BUSY, "%s is held, and %s", lock->base.name, why);
    case BWL_TIMED_OUT: return timed_out(lock, fault);
    case BWL_NOT_NOW:
        if (lock->base.why[0] == '\0')
            why = "the server answers too slowly for this lease";
        return bwl_fail(fault, BWL_STATUS_REFUSED, "%s: %s", lock->base.name, why);
    case BWL_STORE_REFUSED:
        return bwl_fail(fault, BWL_STATUS_REFUSED, "%s: %s", lock->base.name, why);
    case BWL_UNREACHABLE:
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s: %s", lock->base.name, why);
    case BWL_LOST: return bwl_report_loss(lock, reterr);
    case BWL_UNKNOWN: return unknown(operation, fault);
    case BWL_CANCELLED:
        return bwl_fail(fault, BWL_STATUS_CANCELLED, "%s: cancelled", lock->base.name);
    case BWL_PENDING:
    case BWL_QUEUED:
    case BWL_ANEW: bwl_unreachable("the operation has ended");
    }
    bwl_unreachable("an outcome outside of its enum");
}
