/*
 * verbs.c -- acquire, extend, release, yield, change of mode: each is started, waited for and
 * finished.  A blocking call does the same three steps with the operation on the stack.
 * (release.c: how a release starts, and the releases of several.)
 */
#include "api/handles.h"
#include "base/clock.h"
#include "base/fault.h"
#include "runtime/local_groups.h"
#include "runtime/several.h"

/* locked: makes the lock and starts the operation on it. */
static int start_acquire(bwl_operation *operation, bwl_shard *shard, const char *name,
                         const bowline_acquire_options *o, bwl_ms wait_ms, bowline_error *reterr)
{
    bwl_terms terms = bwl_acquire_terms(shard, o);
    bwl_lock *lock;
    int       status = bwl_lock_new_or_join(&lock, shard, name, &terms, wait_ms > 0, reterr);

    if (status < 0)
        return status;
    bwl_lock_acquire(lock, operation, wait_ms);
    return BOWLINE_OK;
}

/* ---- the end of an operation (locked) -------------------------------------------------------- */

/* Cancels the operation if the wait fails. */
static int end_operation(bwl_operation *operation, bowline_error *reterr)
{
    int status = bwl_lock_await(operation, BWL_NEVER, reterr);

    if (status == BOWLINE_OK)
        return bwl_report(operation, reterr);
    operation->lock->operation = NULL;
    return status;
}

int bwl_end_acquire(bowline_hold **ret_hold, bwl_operation *operation, bowline_error *reterr)
{
    int status = end_operation(operation, reterr);

    if (status < 0) {
        bwl_lock_drop_handle(operation->lock);
        return status;
    }
    operation->lock->user = operation->user;
    bwl_lock_attach(operation->lock);
    *ret_hold = (bowline_hold *)operation->lock;
    return BOWLINE_OK;
}

int bwl_end_other(bwl_operation *operation, bowline_error *reterr)
{
    bwl_lock *lock   = operation->lock;
    int       status = end_operation(operation, reterr);

    if (operation->verb == BWL_RELEASE)
        bwl_lock_drop_handle(lock);
    return status;
}

/* ---- the blocking calls ---------------------------------------------------------------------- */

int bwl_keep_hold(bowline_hold **hold, bowline_error *reterr)
{
    bwl_lock     *lock  = bwl_lock_of(*hold);
    bwl_shard    *shard = lock->shard;
    bwl_operation operation;

    if (!shard->host.settings.keeps || lock->timer.at == BWL_NEVER)
        return BOWLINE_OK;
    int status = bwl_shard_start_renewal(shard, reterr);
    if (status == BOWLINE_OK)
        return BOWLINE_OK;
    bwl_lock_release(lock, &operation);
    (void)bwl_end_other(&operation, NULL); /* the reason matters more than its result */
    return status;
}

typedef struct wish {
    const char             *name;
    bowline_acquire_options options;
    bwl_ms                  wait_ms;
} wish;

/* `wait_ms` is the rest of the wait: below the wait of `w`, also below 0, if a connection came
 * first. */
static int acquire_in(bwl_shard *shard, bowline_hold **ret_hold, const wish *w, bwl_ms wait_ms,
                      bowline_error *reterr)
{
    bwl_operation operation;
    bwl_ms        answer_ms = shard->host.settings.answer_ms;

    bwl_loop_lock(&shard->loop);
    bwl_ms now   = bwl_shard_now(shard);
    bwl_ms until = wait_ms == BWL_NEVER ? BWL_NEVER : bwl_ms_add(now + wait_ms, answer_ms);
    if (wait_ms <= 0)
        bwl_loop_catch_up(&shard->loop);
    int status = start_acquire(&operation, shard, w->name, &w->options, wait_ms, reterr);
    if (status == BOWLINE_OK)
        status = bwl_end_acquire(ret_hold, &operation, reterr);
    if (status == BOWLINE_OK)
        status = bwl_keep_hold(ret_hold, reterr);
    if (status == BOWLINE_BUSY && w->wait_ms > 0 && wait_ms <= 0)
        status = bwl_fail(reterr, BWL_STATUS_TIMEOUT,
                          "%s was held by other clients at the end of the wait", w->name);
    bool is_anothers =
        status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT || status == BOWLINE_DONE;
    if (is_anothers && reterr != NULL)
        bwl_describe_holder(shard, w->name, until, reterr);
    bwl_loop_unlock(&shard->loop);
    return status;
}

/* A new shard connects before the acquire, so that there is one acquire: a try without a wait,
 * followed by one with a wait, could lose its position in the queue.  If the shard cannot connect
 * (perhaps the server's limit of connections is reached), the first shard acquires, with the rest
 * of the time. */
static int acquire_somewhere(bowline_client *client, bowline_hold **ret_hold, const wish *w,
                             bowline_error *reterr)
{
    atomic_uint *name_pin = NULL;
    bwl_ms       wait_ms  = w->wait_ms;
    bwl_shard   *shard    = w->wait_ms > 0 && client->first->host.settings.handoffs_max > 1
                                ? bwl_shards_enter_for(client, w->name, &name_pin)
                                : bwl_shards_enter(client);

    if (shard != client->first && !atomic_load(&shard->is_connected)) {
        bwl_ms begun = bwl_clock_now();
        if (!bwl_shard_connect(shard)) {
            bwl_shard_leave(shard);
            shard = client->first;
            bwl_shard_enter(shard);
            bwl_name_pin_move_to_first(name_pin);
        }
        if (wait_ms != BWL_NEVER)
            wait_ms -= bwl_clock_now() - begun; /* below 0: how long ago the wait ended */
    }
    int status = acquire_in(shard, ret_hold, w, wait_ms, reterr);
    if (status == BOWLINE_OK)
        bwl_lock_of(*ret_hold)->name_pin = name_pin; /* until nothing of the lock is left */
    else
        bwl_name_unpin(name_pin);
    bwl_shard_leave(shard);
    return status;
}

int bowline_acquire(bowline_hold **ret_hold, bowline_client *client, const char *name,
                    const bowline_acquire_options *options, bowline_error *reterr)
{
    bowline_hold *hold = NULL;
    wish          w    = { .name = name };

    if (ret_hold == NULL || client == NULL || name == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_acquire needs a place for the hold, a client and a name");
    BWL_UNLOCKED_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_take_acquire_options(&w.options, &w.wait_ms, client->first, options, reterr);
    if (status == BOWLINE_OK)
        status = acquire_somewhere(client, &hold, &w, reterr);
    if (status == BOWLINE_OK)
        *ret_hold = hold;
    return status;
}

/* ---- calls on a hold ------------------------------------------------------------------------- */

typedef struct action {
    bwl_verb   verb;     /* BWL_ACQUIRE: a yield */
    bwl_change change;   /* of an extend; 0: none */
    uint32_t   lease_ms; /* of an extend; 0: the lease of the hold */
    int64_t    wait_ms;  /* of a yield, as the caller passed it */
} action;

static int start_extend(bwl_operation *operation, bwl_lock *lock, uint32_t lease_ms,
                        bowline_error *reterr)
{
    int status = bwl_check_extend(lock, lease_ms, reterr);

    if (status < 0)
        return status;
    if (lock->operation != NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "%s is being extended already: finish that first",
                        lock->base.name);
    bwl_lock_extend(lock, operation, lease_ms != 0 ? lease_ms : lock->base.hold.request.lease_ms);
    return BOWLINE_OK;
}

static int start_change(bwl_operation *operation, bwl_lock *lock, bwl_change change,
                        bowline_error *reterr)
{
    int status = bwl_check_change(lock, change, reterr);

    /* A handoff would begin with this mode: the other threads acquire from the store. */
    if (status == BOWLINE_OK && !bwl_hold_has_mode(&lock->base.hold, change))
        status = bwl_lock_leave_group(lock, reterr);
    if (status == BOWLINE_OK)
        bwl_lock_change(lock, operation, change);
    return status;
}

/* Without a wait in the URL, a yield waits without a limit. */
static int start_yield(bwl_operation *operation, bwl_lock *lock, int64_t wait_ms,
                       bowline_error *reterr)
{
    bwl_ms left_ms;
    int    status = bwl_take_wait(&left_ms, lock->shard, wait_ms, reterr);

    if (status < 0)
        return status;
    if (wait_ms == 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "wait_ms is 0: a yield waits until the lock is ours again; to give it away "
                        "without waiting, release it");
    if (lock->base.hold.request.rest_ms != 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "%s was acquired with once_ms or at_least_ms, so no other client may have "
                        "it yet: release it",
                        lock->base.name);
    status = bwl_check_only_reference(lock, "yield", reterr);
    if (status < 0)
        return status;
    if (lock->operation != NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "something is being done with %s already: finish that first",
                        lock->base.name);
    bwl_lock_yield(lock, operation, left_ms != 0 ? left_ms : BWL_NEVER);
    return BOWLINE_OK;
}

/* locked */
static int start(bwl_operation *operation, bwl_lock *lock, const action *a, bowline_error *reterr)
{
    switch (a->verb) {
    case BWL_ACQUIRE: return start_yield(operation, lock, a->wait_ms, reterr);
    case BWL_EXTEND:
        return a->change != 0 ? start_change(operation, lock, a->change, reterr)
                              : start_extend(operation, lock, a->lease_ms, reterr);
    case BWL_RELEASE: bwl_start_release(operation, lock); return BOWLINE_OK;
    }
    bwl_unreachable("no such verb");
}

/* locked: an extend is not sent again.  If one is in flight, this does not end it: a second one is
 * USAGE. */
static void prepare(bwl_lock *lock, const action *a)
{
    if (a->verb == BWL_EXTEND && lock->operation == NULL)
        bwl_loop_catch_up(&lock->shard->loop);
}

static int run(bowline_hold *hold, const action *a, bowline_error *reterr)
{
    bwl_shard    *shard = bwl_lock_of(hold)->shard;
    bwl_operation operation;

    bwl_shard_enter(shard);
    BWL_CALL(shard, reterr);
    int status = call.status;
    if (status == BOWLINE_OK)
        prepare(bwl_lock_of(hold), a);
    if (status == BOWLINE_OK)
        status = start(&operation, bwl_lock_of(hold), a, reterr);
    if (status == BOWLINE_OK)
        status = bwl_end_other(&operation, reterr);
    if (status == BOWLINE_OK && a->verb == BWL_ACQUIRE)
        bwl_loop_notify_renewal(&shard->loop);
    bwl_shard_leave(shard);
    return status;
}

int bowline_extend(bowline_hold *hold, uint32_t lease_ms, bowline_error *reterr)
{
    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_extend needs a hold");
    return run(hold, &(action){ .verb = BWL_EXTEND, .lease_ms = lease_ms }, reterr);
}

int bowline_release(bowline_hold *hold, bowline_error *reterr)
{
    return hold != NULL ? run(hold, &(action){ .verb = BWL_RELEASE }, reterr) : BOWLINE_OK;
}

int bowline_downgrade(bowline_hold *hold, bowline_error *reterr)
{
    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_downgrade needs a hold");
    return run(hold, &(action){ .verb = BWL_EXTEND, .change = BWL_DOWNGRADE }, reterr);
}

int bowline_upgrade(bowline_hold *hold, bowline_error *reterr)
{
    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_upgrade needs a hold");
    return run(hold, &(action){ .verb = BWL_EXTEND, .change = BWL_UPGRADE }, reterr);
}

int bowline_yield(bowline_hold *hold, int64_t wait_ms, bowline_error *reterr)
{
    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_yield needs a hold");
    return run(hold, &(action){ .verb = BWL_ACQUIRE, .wait_ms = wait_ms }, reterr);
}

/* ---- start and finish ------------------------------------------------------------------------ */

int bowline_acquire_start(bowline_operation **ret_op, bowline_client *client, const char *name,
                          const bowline_acquire_options *options, bowline_error *reterr)
{
    bowline_acquire_options o;
    bowline_operation      *op;
    bwl_ms                  wait_ms;

    if (ret_op == NULL || client == NULL || name == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_acquire_start needs a place for the operation, a client, a name");
    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_take_acquire_options(&o, &wait_ms, client->first, options, reterr);
    if (status == BOWLINE_OK)
        status = bwl_client_operation_new(&op, client, reterr);
    if (status < 0)
        return status;
    if (wait_ms <= 0)
        bwl_loop_catch_up(&client->first->loop);
    bwl_loop_coalesce_begin(&client->first->loop);
    status = start_acquire(&op->inner, client->first, name, &o, wait_ms, reterr);
    bwl_loop_coalesce_end(&client->first->loop);
    if (status < 0) {
        bwl_client_operation_free(op);
        return status;
    }
    bwl_operation_watch(&op->inner);
    *ret_op = op;
    return BOWLINE_OK;
}

/* An event loop polls only the first shard: in others the renewal thread reads the reply. */
void bwl_watch_on_hold(bowline_operation *op)
{
    bwl_lock *lock = op->inner.lock;

    if (op->inner.verb != BWL_RELEASE)
        bwl_lock_pin(&lock->base); /* finish may come after the release of the hold */
    op->inner.user = lock->user;
    bwl_operation_watch(&op->inner);
    if (lock->shard != op->client->first)
        bwl_loop_hand_over(&lock->shard->loop);
}

/* `name` is that of the public function, for the message. */
static int start_operation(bowline_operation **ret_op, bowline_hold *hold, const action *a,
                           const char *name, bowline_error *reterr)
{
    bowline_operation *op;

    if (ret_op == NULL || hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "%s needs a place for the operation, and a hold",
                        name);
    bwl_lock  *lock      = bwl_lock_of(hold);
    bwl_shard *shard     = lock->shard;
    bool       coalesces = a->verb != BWL_ACQUIRE;
    BWL_CALL(shard, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_client_operation_new(&op, shard->client, reterr);
    if (status < 0)
        return status;
    prepare(lock, a);
    if (coalesces)
        bwl_loop_coalesce_begin(&shard->loop);
    status = start(&op->inner, lock, a, reterr);
    if (coalesces)
        bwl_loop_coalesce_end(&shard->loop);
    if (status < 0) {
        bwl_client_operation_free(op);
        return status;
    }
    bwl_watch_on_hold(op);
    *ret_op = op;
    return BOWLINE_OK;
}

int bowline_extend_start(bowline_operation **ret_op, bowline_hold *hold, uint32_t lease_ms,
                         bowline_error *reterr)
{
    return start_operation(ret_op, hold, &(action){ .verb = BWL_EXTEND, .lease_ms = lease_ms },
                           "bowline_extend_start", reterr);
}

int bowline_downgrade_start(bowline_operation **ret_op, bowline_hold *hold, bowline_error *reterr)
{
    return start_operation(ret_op, hold, &(action){ .verb = BWL_EXTEND, .change = BWL_DOWNGRADE },
                           "bowline_downgrade_start", reterr);
}

int bowline_upgrade_start(bowline_operation **ret_op, bowline_hold *hold, bowline_error *reterr)
{
    return start_operation(ret_op, hold, &(action){ .verb = BWL_EXTEND, .change = BWL_UPGRADE },
                           "bowline_upgrade_start", reterr);
}

int bowline_release_start(bowline_operation **ret_op, bowline_hold *hold, bowline_error *reterr)
{
    return start_operation(ret_op, hold, &(action){ .verb = BWL_RELEASE }, "bowline_release_start",
                           reterr);
}

int bowline_yield_start(bowline_operation **ret_op, bowline_hold *hold, int64_t wait_ms,
                        bowline_error *reterr)
{
    return start_operation(ret_op, hold, &(action){ .verb = BWL_ACQUIRE, .wait_ms = wait_ms },
                           "bowline_yield_start", reterr);
}

int bowline_acquire_finish(bowline_hold **ret_hold, bowline_operation *op, bowline_error *reterr)
{
    bowline_hold *hold = NULL;

    BWL_CALL(bwl_shard_of_operation(op), reterr);
    if (call.status < 0)
        return call.status;
    if (op->inner.verb != BWL_ACQUIRE || op->inner.yields || op->several != NULL ||
        ret_hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_acquire_finish takes an acquire, and a place for the hold");
    bwl_operation_forget(&op->inner);
    int status = bwl_end_acquire(&hold, &op->inner, reterr);
    bwl_client_operation_free(op);
    if (status == BOWLINE_OK)
        status = bwl_keep_hold(&hold, reterr);
    if (status == BOWLINE_OK)
        *ret_hold = hold;
    return status;
}

int bowline_finish(bowline_operation *op, bowline_error *reterr)
{
    BWL_CALL(bwl_shard_of_operation(op), reterr);
    if (call.status < 0)
        return call.status;
    if (op->inner.is_query || (op->inner.verb == BWL_ACQUIRE && !op->inner.yields))
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "an acquire is finished by bowline_acquire_finish or "
                        "bowline_acquire_all_finish, a who by bowline_who_finish, holders by "
                        "bowline_holders_finish, an observe by bowline_observe_finish");
    bwl_operation_forget(&op->inner);
    bwl_lock *kept   = op->inner.verb != BWL_RELEASE ? op->inner.lock : NULL;
    int       status = bwl_end_other(&op->inner, reterr);
    if (kept != NULL)
        bwl_lock_unpin(&kept->base);
    bwl_client_operation_free(op);
    return status;
}

int bowline_operation_done(bowline_operation *op)
{
    BWL_QUERY(bwl_shard_of_operation(op));
    return call.status < 0 || op->inner.completion.result != BWL_PENDING;
}

int bowline_operation_check(bowline_operation *op, bowline_error *reterr)
{
    if (op == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_operation_check needs an operation");
    BWL_CALL(bwl_shard_of_operation(op), reterr);
    const bwl_operation *operation = &op->inner;
    if (call.status == BOWLINE_OK && op->several != NULL)
        operation = bwl_several_decisive(op->several);
    if (call.status < 0 || operation == NULL || operation->completion.result != BWL_PENDING ||
        !bwl_lock_is_unreachable(operation->lock))
        return call.status;
    return bwl_report_unreachable(operation->lock, reterr);
}

int bowline_operation_wait(bowline_operation *op, int64_t wait_ms, bowline_error *reterr)
{
    bwl_shard *shard = bwl_shard_of_operation(op);
    bwl_ms     left_ms;

    BWL_CALL(shard, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_take_wait(&left_ms, shard, wait_ms, reterr);
    if (status < 0)
        return status;
    bwl_ms now = bwl_shard_now(shard);
    if (left_ms == 0 && !shard->loop.is_running && op->inner.completion.result == BWL_PENDING)
        status = bwl_loop_run(&shard->loop, now, reterr);
    bwl_ms until = bwl_ms_add(now, left_ms);
    if (status == BOWLINE_OK)
        status = bwl_loop_wait(&shard->loop, &op->inner.completion, until, reterr);
    if (status == BOWLINE_TIMEOUT)
        (void)bwl_fail(reterr, BWL_STATUS_TIMEOUT, "the operation has not ended yet");
    return status;
}

void bowline_cancel(bowline_operation *op)
{
    BWL_QUERY(bwl_shard_of_operation(op));
    if (call.status < 0)
        return;
    if (op->several != NULL)
        bwl_several_cancel(op->several);
    else
        bwl_lock_cancel(&op->inner);
}
