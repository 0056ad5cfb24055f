/*
 * election.c -- a holder announces that it leads, and others observe that: bowline/election.h.
 */
#include <bowline/election.h>

#include "api/handles.h"
#include "base/fault.h"
#include "engine/election.h"
#include "runtime/local_groups.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)BWL_LEADER_TEXT_MAX == (int)BOWLINE_ANNOUNCEMENT_MAX,
               "one number for one thing in both headers");

static int fail_unsupported(const bwl_shard *shard, const char *verb, const char *name,
                            bowline_error *reterr)
{
    const bwl_host     *host   = &shard->host;
    const bwl_protocol *chosen = host->settings.protocol;
    const char         *why =
        bwl_why_no_election(host->engine, chosen != NULL ? chosen : host->engine->protocol);

    if (why == NULL)
        return BOWLINE_OK;
    return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                    "cannot %s %.60s: %s.  Use redis://HOST, redis+sentinel:// or "
                    "redis+cluster:// without protocol=, profile= and token=",
                    verb, name, why);
}

/* ---- announcing ------------------------------------------------------------------------------ */

static int check_text(const char *text, bowline_error *reterr)
{
    size_t size = text != NULL ? strnlen(text, BOWLINE_ANNOUNCEMENT_MAX + 1) : 0;

    if (size > BOWLINE_ANNOUNCEMENT_MAX)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "what is announced has at most %d bytes",
                        BOWLINE_ANNOUNCEMENT_MAX);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return bwl_fail(reterr, BWL_STATUS_USAGE,
                            "what is announced has no control characters (no tab or new line)");
    return BOWLINE_OK;
}

static int check_hold(const bwl_lock *lock, bowline_error *reterr)
{
    const char *name   = lock->base.name;
    int         status = fail_unsupported(lock->shard, "announce", name, reterr);

    if (status < 0)
        return status;
    if (lock->operation != NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "something is being done with %s already: finish that first", name);
    if (!bwl_hold_is_held(&lock->base.hold))
        return bwl_report_loss(lock, reterr);
    if (lock->base.hold.request.share.weight > 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "cannot announce %.60s: others share it.  Acquire it as BOWLINE_EXCLUSIVE",
                        name);
    return BOWLINE_OK;
}

/* locked */
static int start_announce(bwl_operation *operation, bwl_lock *lock, const char *text,
                          bowline_error *reterr)
{
    int status = check_text(text, reterr);

    if (status == BOWLINE_OK && lock->operation == NULL)
        bwl_loop_catch_up(&lock->shard->loop);
    if (status == BOWLINE_OK)
        status = check_hold(lock, reterr);
    if (status == BOWLINE_OK)
        status = bwl_lock_leave_group(lock, reterr); /* it is told of this hold alone */
    if (status == BOWLINE_OK)
        bwl_lock_announce(lock, operation, text);
    return status;
}

int bowline_announce(bowline_hold *hold, const char *text, bowline_error *reterr)
{
    bwl_operation operation;

    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_announce needs a hold");
    bwl_shard *shard = bwl_lock_of(hold)->shard;
    bwl_shard_enter(shard);
    BWL_CALL(shard, reterr);
    int status = call.status;
    if (status == BOWLINE_OK)
        status = start_announce(&operation, bwl_lock_of(hold), text, reterr);
    if (status == BOWLINE_OK)
        status = bwl_end_other(&operation, reterr);
    bwl_shard_leave(shard);
    return status;
}

int bowline_announce_start(bowline_operation **ret_op, bowline_hold *hold, const char *text,
                           bowline_error *reterr)
{
    bowline_operation *op;

    if (ret_op == NULL || hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_announce_start needs a place for the operation, and a hold");
    bwl_lock  *lock  = bwl_lock_of(hold);
    bwl_shard *shard = lock->shard;
    BWL_CALL(shard, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_client_operation_new(&op, shard->client, reterr);
    if (status < 0)
        return status;
    status = start_announce(&op->inner, lock, text, reterr);
    if (status < 0) {
        bwl_client_operation_free(op);
        return status;
    }
    bwl_watch_on_hold(op);
    *ret_op = op;
    return BOWLINE_OK;
}

/* ---- observing ------------------------------------------------------------------------------- */

static int check_leader(const bowline_leader *leader, bowline_error *reterr)
{
    if (leader->size == sizeof *leader)
        return BOWLINE_OK;
    return bwl_fail(reterr, BWL_STATUS_USAGE,
                    "the size field of the leader is not sizeof(bowline_leader)");
}

static void copy_leader(bowline_leader *ret_public, const bwl_leader *leader)
{
    *ret_public = (bowline_leader){ .size    = sizeof *ret_public,
                                    .seen    = 1,
                                    .leads   = leader->leads,
                                    .fence   = leader->fence,
                                    .left_ms = leader->left_ms,
                                    .pid     = leader->pid };
    memcpy(ret_public->user, leader->user, sizeof leader->user);
    memcpy(ret_public->host, leader->host, sizeof leader->host);
    memcpy(ret_public->program, leader->program, sizeof leader->program);
    memcpy(ret_public->text, leader->text, sizeof leader->text);
}

/* What the caller has seen, as far as a difference depends on it. */
static bwl_leader seen_of(const bowline_leader *leader)
{
    bwl_leader seen = { .is_known = leader->seen != 0,
                        .leads    = leader->leads != 0,
                        .fence    = leader->fence };

    (void)snprintf(seen.text, sizeof seen.text, "%.*s", BOWLINE_ANNOUNCEMENT_MAX, leader->text);
    return seen;
}

/* locked: its lock is new, and never acquired. */
static int start_observe(bwl_operation *operation, bwl_shard *shard, const char *name,
                         const bowline_leader *leader, int64_t wait_ms, bowline_error *reterr)
{
    bwl_lock  *lock;
    bwl_ms     left_ms;
    bwl_leader seen;
    int        status = check_leader(leader, reterr);

    if (status < 0)
        return status;
    seen   = seen_of(leader);
    status = bwl_take_wait(&left_ms, shard, wait_ms, reterr);
    if (status == BOWLINE_OK)
        status = fail_unsupported(shard, "observe", name, reterr);
    if (status == BOWLINE_OK)
        status = bwl_query_lock_new(&lock, shard, name, reterr);
    if (status == BOWLINE_OK)
        bwl_lock_observe(lock, operation, &seen, bwl_ms_add(bwl_shard_now(shard), left_ms));
    return status;
}

/* locked: waits for the end; the lock is gone afterwards. */
static int end_observe(bowline_leader *leader, bwl_operation *operation, bowline_error *reterr)
{
    bwl_lock  *lock   = operation->lock;
    bwl_leader now    = { .is_known = false };
    int        status = bwl_lock_await(operation, BWL_NEVER, reterr);

    if (status == BOWLINE_OK && operation->completion.result == BWL_CANCELLED)
        status = bwl_report(operation, reterr);
    else if (status == BOWLINE_OK)
        status = lock->engine->view.election->observed(&lock->base, &now, reterr);
    if (now.is_known) /* not OK: the one that was seen before, with what is left of its lease */
        copy_leader(leader, &now);
    bwl_lock_drop_handle(lock);
    return status;
}

int bowline_observe(bowline_leader *leader, bowline_client *client, const char *name,
                    int64_t wait_ms, bowline_error *reterr)
{
    bwl_operation operation;

    if (leader == NULL || client == NULL || name == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_observe needs a leader, a client and a name");
    BWL_CALL(client->first, reterr);
    int status = call.status;
    if (status == BOWLINE_OK)
        status = start_observe(&operation, client->first, name, leader, wait_ms, reterr);
    return status < 0 ? status : end_observe(leader, &operation, reterr);
}

int bowline_observe_start(bowline_operation **ret_op, bowline_client *client, const char *name,
                          const bowline_leader *seen, int64_t wait_ms, bowline_error *reterr)
{
    bowline_operation *op;

    if (ret_op == NULL || client == NULL || name == NULL || seen == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_observe_start needs a place for the operation, a client, a name "
                        "and a leader");
    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_client_operation_new(&op, client, reterr);
    if (status < 0)
        return status;
    status = start_observe(&op->inner, client->first, name, seen, wait_ms, reterr);
    if (status < 0) {
        bwl_client_operation_free(op);
        return status;
    }
    bwl_operation_watch(&op->inner);
    *ret_op = op;
    return BOWLINE_OK;
}

int bowline_observe_finish(bowline_leader *leader, bowline_operation *op, bowline_error *reterr)
{
    if (leader == NULL || op == NULL || !op->inner.observes)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_observe_finish takes a leader, and what bowline_observe_start has "
                        "started");
    int status = check_leader(leader, reterr);
    if (status < 0)
        return status;
    BWL_CALL(bwl_shard_of_operation(op), reterr);
    if (call.status < 0)
        return call.status;
    bwl_operation_forget(&op->inner);
    status = end_observe(leader, &op->inner, reterr);
    bwl_client_operation_free(op);
    return status;
}
