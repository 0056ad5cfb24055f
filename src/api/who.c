/*
 * who.c -- holder queries: bowline_who, bowline_holders, the holder in the error text of a failed
 * acquire, bowline_break and bowline_ping.
 *
 * A break force releases a hold that was shown, and no other.  The caller passes the id that
 * bowline_who or bowline_holders wrote.  The holder is queried again, and the store is asked to
 * release only if the id is the same; the store compares once more.
 *
 * A ping checks that the store can be reached.  The round trip is a holder query for a reserved
 * name, at all servers of a lock.  A Redis user may have permission for locks but not for queries
 * (bowline acl): that error on an accepted connection shows that the server was reached.
 */
#include "api/handles.h"
#include "base/fault.h"

#include <stdio.h>
#include <string.h>

int bwl_query_lock_new(bwl_lock **ret_lock, bwl_shard *shard, const char *name,
                       bowline_error *reterr)
{
    /* Nothing is acquired: any lease that the URL allows. */
    bwl_terms terms = { .lease_ms = shard->host.settings.lease_ms, .max_hold_ms = BWL_NEVER };

    return bwl_lock_new(ret_lock, shard, shard->host.engine, name, &terms, reterr);
}

/* locked: waits for the query, and reads its result. */
static int end_query(bwl_operation *operation, bwl_ms until, bwl_holder *ret_holder,
                     bowline_error *reterr)
{
    bwl_lock *lock   = operation->lock;
    int       status = bwl_lock_await(operation, until, reterr);

    if (status < 0)
        return status; /* no reply in time, or the wait failed */
    if (operation->completion.result == BWL_CANCELLED)
        return bwl_report(operation, reterr);
    return lock->shard->host.engine->view.who(&lock->base, ret_holder, reterr);
}

/* locked: queries the holder, and waits for the reply until `until`.  As bowline_who; TIMEOUT. */
static int ask(bwl_shard *shard, const char *name, bwl_ms until, bwl_holder *ret_holder,
               bowline_error *reterr)
{
    bwl_operation operation;
    bwl_lock     *lock;
    int           status = bwl_query_lock_new(&lock, shard, name, reterr);

    if (status < 0)
        return status;
    bwl_lock_query_holder(lock, &operation, false);
    status = end_query(&operation, until, ret_holder, reterr);
    bwl_lock_drop_handle(lock);
    return status;
}

/* ---- the holder in an error text ------------------------------------------------------------- */

/* Adds ": by deploy@web-2 pid 4121 (pg_dump); the note", as far as known. */
void bwl_describe_holder(bwl_shard *shard, const char *name, bwl_ms until, bowline_error *error)
{
    bwl_holder h;
    char       pid[40] = "";
    size_t     size    = strlen(error->text);

    if (ask(shard, name, until, &h, NULL) < 0 || (!h.held && !h.done))
        return; /* the text is complete without it */
    bool has_user    = h.user[0] != '\0';
    bool has_host    = has_user && h.host[0] != '\0';
    bool has_program = h.program[0] != '\0';
    if (h.pid != 0)
        (void)snprintf(pid, sizeof pid, " pid %lld", (long long)h.pid);
    (void)snprintf(error->text + size, sizeof error->text - size, "%s%s%s%s%s%s%s%s%s%s",
                   has_user ? ": by " : "", h.user, has_host ? "@" : "", has_host ? h.host : "",
                   pid, has_program ? " (" : "", h.program, has_program ? ")" : "",
                   h.note[0] != '\0' ? "; " : "", h.note); /* truncates */
}

/* ---- bowline_who ----------------------------------------------------------------------------- */

static uint32_t mode_of(const bwl_holder *h)
{
    if (h->sharers == 0)
        return BOWLINE_EXCLUSIVE;
    return h->limit > 0 || h->permits > h->sharers ? BOWLINE_PERMITS : BOWLINE_SHARED;
}

void bwl_copy_holder(bowline_holder *ret_public, const char *name, const bwl_holder *h)
{
    ret_public->held        = h->held;
    ret_public->foreign     = h->foreign;
    ret_public->left_ms     = h->left_ms;
    ret_public->since_ms    = h->since_ms;
    ret_public->pid         = h->pid;
    ret_public->command_pid = h->command_pid;
    ret_public->done        = h->done;
    ret_public->waiting     = h->waiting;
    ret_public->sharers     = h->sharers;
    ret_public->permits     = h->permits;
    ret_public->limit       = h->limit;
    ret_public->mode        = mode_of(h);
    ret_public->fence       = h->fence;
    ret_public->id          = h->id;
    (void)snprintf(ret_public->name, sizeof ret_public->name, "%s", name);
    memcpy(ret_public->user, h->user, sizeof h->user);
    memcpy(ret_public->host, h->host, sizeof h->host);
    memcpy(ret_public->program, h->program, sizeof h->program);
    memcpy(ret_public->note, h->note, sizeof h->note);
}

int bwl_check_holder(const bowline_holder *holder, bowline_error *reterr)
{
    if (holder->size == sizeof *holder)
        return BOWLINE_OK;
    return bwl_fail(reterr, BWL_STATUS_USAGE,
                    "the size field of the holder is not sizeof(bowline_holder)");
}

int bowline_who(bowline_client *client, const char *name, bowline_holder *ret_holder,
                bowline_error *reterr)
{
    bwl_holder holder;

    if (client == NULL || name == NULL || ret_holder == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_who needs a client, a name and a place for the holder");
    int status = bwl_check_holder(ret_holder, reterr);
    if (status < 0)
        return status;
    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    status = ask(client->first, name, BWL_NEVER, &holder, reterr);
    if (status == BOWLINE_OK)
        bwl_copy_holder(ret_holder, name, &holder);
    return status;
}

/* Starts one of the two queries. */
static int start_query(bowline_operation **ret_op, bowline_client *client, const char *name,
                       bool is_of_all, bowline_error *reterr)
{
    bowline_operation *op;
    bwl_lock          *lock;

    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_client_operation_new(&op, client, reterr);
    if (status < 0)
        return status;
    status = bwl_query_lock_new(&lock, client->first, name, reterr);
    if (status < 0) {
        bwl_client_operation_free(op);
        return status;
    }
    bwl_lock_query_holder(lock, &op->inner, is_of_all);
    bwl_operation_watch(&op->inner);
    *ret_op = op;
    return BOWLINE_OK;
}

int bowline_who_start(bowline_operation **ret_op, bowline_client *client, const char *name,
                      bowline_error *reterr)
{
    if (ret_op == NULL || client == NULL || name == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_who_start needs a place for the operation, a client, a name");
    return start_query(ret_op, client, name, false, reterr);
}

int bowline_who_finish(bowline_holder *ret_holder, bowline_operation *op, bowline_error *reterr)
{
    bwl_holder holder;

    if (ret_holder == NULL || op == NULL || !op->inner.is_query || op->inner.is_of_all ||
        op->inner.observes)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_who_finish takes a place for the holder, and a who");
    int status = bwl_check_holder(ret_holder, reterr);
    if (status < 0)
        return status;
    BWL_CALL(bwl_shard_of_operation(op), reterr);
    if (call.status < 0)
        return call.status;
    bwl_operation_forget(&op->inner);
    status = end_query(&op->inner, BWL_NEVER, &holder, reterr);
    if (status == BOWLINE_OK)
        bwl_copy_holder(ret_holder, op->inner.lock->base.name, &holder);
    bwl_lock_drop_handle(op->inner.lock);
    bwl_client_operation_free(op);
    return status;
}

/* ---- bowline_holders ------------------------------------------------------------------------- */

/* locked: of a completed query.  As bwl_engine_view.who_nth. */
static int holder_at(bwl_lock *lock, size_t nth, bwl_holder *ret_holder, bowline_error *reterr)
{
    const bwl_engine_view *view = &lock->shard->host.engine->view;

    if (view->who_nth != NULL)
        return view->who_nth(&lock->base, nth, ret_holder, reterr);
    int status = view->who(&lock->base, ret_holder, reterr);
    return status < 0 ? status : ret_holder->held;
}

/* locked: waits for the query, and reads its result.  Returns how many there are. */
static int end_query_of_all(bwl_operation *operation, bowline_holder ret[], size_t max,
                            bowline_error *reterr)
{
    bwl_lock  *lock   = operation->lock;
    int        status = bwl_lock_await(operation, BWL_NEVER, reterr);
    bwl_holder holder;

    if (status < 0)
        return status;
    if (operation->completion.result == BWL_CANCELLED)
        return bwl_report(operation, reterr);
    int count = holder_at(lock, 0, &holder, reterr);
    for (size_t i = 0; count > 0 && i < (size_t)count && i < max; i++) {
        int now = holder_at(lock, i, &holder, NULL); /* the result is complete */
        if ((size_t)now <= i)
            return now; /* of thread: it is read now, and some have left */
        ret[i].size = sizeof ret[i];
        bwl_copy_holder(&ret[i], lock->base.name, &holder);
    }
    return count;
}

static int check_places(const bowline_holder ret[], size_t max, bowline_error *reterr)
{
    if (max == 0)
        return BOWLINE_OK;
    if (ret == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "there is no place for the holders");
    return bwl_check_holder(&ret[0], reterr);
}

int bowline_holders(bowline_client *client, const char *name, bowline_holder ret[], size_t max,
                    bowline_error *reterr)
{
    bwl_operation operation;
    bwl_lock     *lock;

    if (client == NULL || name == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_holders needs a client and a name");
    int status = check_places(ret, max, reterr);
    if (status < 0)
        return status;
    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    status = bwl_query_lock_new(&lock, client->first, name, reterr);
    if (status < 0)
        return status;
    bwl_lock_query_holder(lock, &operation, true);
    status = end_query_of_all(&operation, ret, max, reterr);
    bwl_lock_drop_handle(lock);
    return status;
}

int bowline_holders_start(bowline_operation **ret_op, bowline_client *client, const char *name,
                          bowline_error *reterr)
{
    if (ret_op == NULL || client == NULL || name == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_holders_start needs a place for the operation, a client, a name");
    return start_query(ret_op, client, name, true, reterr);
}

int bowline_holders_finish(bowline_holder ret[], size_t max, bowline_operation *op,
                           bowline_error *reterr)
{
    if (op == NULL || !op->inner.is_query || !op->inner.is_of_all)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_holders_finish takes what bowline_holders_start has started");
    int status = check_places(ret, max, reterr);
    if (status < 0)
        return status;
    BWL_CALL(bwl_shard_of_operation(op), reterr);
    if (call.status < 0)
        return call.status;
    bwl_operation_forget(&op->inner);
    status = end_query_of_all(&op->inner, ret, max, reterr);
    bwl_lock_drop_handle(op->inner.lock);
    bwl_client_operation_free(op);
    return status;
}

/* ---- bowline_break --------------------------------------------------------------------------- */

/* locked: finds the hold with this id among those that share the lock.  1: found; 0: none. */
static int find_share(bwl_lock *lock, uint64_t id, bowline_error *reterr)
{
    bwl_operation operation;
    bwl_holder    holder;

    bwl_lock_query_holder(lock, &operation, true);
    int count = end_query_of_all(&operation, NULL, 0, reterr);
    for (int i = 0; i < count; i++)
        if (holder_at(lock, (size_t)i, &holder, NULL) > 0 && holder.id == id)
            return 1;
    return count < 0 ? count : 0;
}

/* locked: releases the hold with this id, if a query shows it. */
static int break_hold(bwl_lock *lock, uint64_t id, bowline_error *reterr)
{
    bwl_operation operation;
    bwl_holder    holder;

    bwl_lock_query_holder(lock, &operation, false);
    int status = end_query(&operation, BWL_NEVER, &holder, reterr);
    if (status < 0)
        return status;
    bool is_seen = (holder.held || holder.done) && holder.id == id;
    if (!is_seen && holder.sharers != 0) {
        status  = find_share(lock, id, reterr);
        is_seen = status > 0;
        if (status < 0)
            return status;
    }
    if (!is_seen)
        return bwl_fail(reterr, BWL_STATUS_BUSY, "%s: the hold that was shown has ended, and %s",
                        lock->base.name,
                        holder.held ? "another client has the lock" : "the lock is free");
    bwl_lock_force_release(lock, &operation, id);
    status = bwl_lock_await(&operation, BWL_NEVER, reterr);
    return status < 0 ? status : lock->shard->host.engine->forced.result(&lock->base, reterr);
}

int bowline_break(bowline_client *client, const char *name, uint64_t id, bowline_error *reterr)
{
    bwl_lock *lock;

    if (client == NULL || name == NULL || id == 0)
        return bwl_fail(
            reterr, BWL_STATUS_USAGE,
            "bowline_break needs a client, a name, and the id of a hold, which is not 0");
    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    const bwl_engine *engine = client->first->host.engine;
    if (engine->forced.start == NULL)
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "a lock of %s: ends with its %s, and cannot be broken", engine->scheme,
                        engine->has_lease ? "lease" : "process");
    int status = bwl_query_lock_new(&lock, client->first, name, reterr);
    if (status < 0)
        return status;
    status = break_hold(lock, id, reterr);
    bwl_lock_drop_handle(lock);
    return status;
}

/* locked */
static int ask_breaker(bwl_lock *lock, uint64_t id, char ret_by[BWL_BREAKER_MAX],
                       bowline_error *reterr)
{
    bwl_operation operation;

    bwl_lock_query_breaker(lock, &operation, id);
    int status = bwl_lock_await(&operation, BWL_NEVER, reterr);
    if (status < 0)
        return status;
    if (operation.completion.result == BWL_CANCELLED)
        return bwl_report(&operation, reterr);
    return lock->shard->host.engine->view.breaker(&lock->base, ret_by, reterr);
}

int bowline_broken_by(bowline_client *client, const char *name, uint64_t id,
                      char ret_by[BOWLINE_BREAKER_MAX], bowline_error *reterr)
{
    bwl_lock *lock;

    if (client == NULL || name == NULL || id == 0 || ret_by == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_broken_by needs a client, a name, the id of a hold, which is not "
                        "0, and a place for the text");
    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    ret_by[0] = '\0';
    if (client->first->host.engine->view.ask_breaker == NULL)
        return BOWLINE_OK;
    int status = bwl_query_lock_new(&lock, client->first, name, reterr);
    if (status < 0)
        return status;
    status = ask_breaker(lock, id, ret_by, reterr);
    bwl_lock_drop_handle(lock);
    return status;
}

/* ---- bowline_ping ---------------------------------------------------------------------------- */

static const char ping_name[] = "bowline-ping";

enum { PAUSE_FIRST_MS = 20, PAUSE_MAX_MS = 1000 };

/* locked */
static int try_once(bwl_shard *shard, bowline_error *reterr)
{
    bwl_holder        holder;
    bowline_error     why;
    const bwl_engine *engine = shard->host.engine;
    int status = engine->reach != NULL ? engine->reach(&shard->host, &why) : BOWLINE_OK;

    if (status == BOWLINE_OK)
        status = ask(shard, ping_name, BWL_NEVER, &holder, &why);
    if (status == BOWLINE_REFUSED && strcmp(why.server_code, "NOPERM") == 0 &&
        atomic_load(&shard->is_connected))
        return BOWLINE_OK;
    if (status < 0 && reterr != NULL)
        *reterr = why;
    return status;
}

/* locked: runs the loop until then. */
static void pause(bwl_shard *shard, bwl_ms until)
{
    bwl_completion never = { .result = BWL_PENDING };

    (void)bwl_loop_wait(&shard->loop, &never, until, NULL); /* the next try reports a failure */
}

/* locked */
static int ping(bwl_shard *shard, bwl_ms wait_ms, bowline_error *reterr)
{
    bwl_ms until = bwl_ms_add(bwl_shard_now(shard), wait_ms);
    bwl_ms by_ms = PAUSE_FIRST_MS;

    for (;;) {
        int    status = try_once(shard, reterr);
        bwl_ms now    = bwl_shard_now(shard);
        if ((status != BOWLINE_UNREACHABLE && status != BOWLINE_UNKNOWN) || now >= until)
            return status;
        pause(shard, bwl_ms_min(until, bwl_ms_add(now, by_ms)));
        by_ms = bwl_ms_min(2 * by_ms, PAUSE_MAX_MS);
    }
}

int bowline_ping(bowline_client *client, int64_t wait_ms, bowline_error *reterr)
{
    bwl_ms left_ms;

    if (client == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_ping needs a client");
    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_take_wait(&left_ms, client->first, wait_ms, reterr);
    return status < 0 ? status : ping(client->first, left_ms, reterr);
}
