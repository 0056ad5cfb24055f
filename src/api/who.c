#include "api/who.h"
#include "api/uncancelled.h"
#include "base/fault.h"

#include <stdio.h>
#include <string.h>

int bwl_lock_for_who(bwl_lock **ret_lock, bwl_shard *shard, const char *name, bowline_error *reterr)
{
    bwl_terms terms = { .lease_ms = BWL_LEASE_DEFAULT_MS, .max_hold_ms = BWL_NEVER };

    return bwl_lock_new(ret_lock, shard, name, &terms, reterr);
}

int bwl_ask_who(bwl_shard *shard, const char *name, bwl_ms until, bwl_holder *ret_holder,
                bowline_error *reterr)
{
    bwl_operation operation;
    bwl_lock     *lock;
    int           status = bwl_lock_for_who(&lock, shard, name, reterr);

    if (status < 0)
        return status;
    bwl_lock_query_holder(lock, &operation);
    status = bwl_loop_wait(&shard->loop, &operation.completion, until, reterr);
    if (status == BWL_OK)
        status = shard->host.engine->who(&lock->base, ret_holder, reterr);
    else
        bwl_lock_cancel(&operation); /* no reply in time, or the wait failed */
    bwl_lock_drop_handle(lock);
    return status;
}

/* "deploy@web-2 pid 4121 (pg_dump)", as far as known. */
static void name_holder(char *ret_text, size_t capacity, const bwl_holder *h)
{
    const char *at = h->host[0] != '\0' ? "@" : "";
    char        process[40];
    int         size = 0;

    ret_text[0] = '\0';
    if (h->user[0] != '\0')
        size = snprintf(ret_text, capacity, ": by %s%s%s", h->user, at, h->host);
    if (h->pid != 0 && size >= 0 && (size_t)size < capacity) {
        (void)snprintf(process, sizeof process, " pid %lld", (long long)h->pid);
        size += snprintf(ret_text + size, capacity - (size_t)size, "%s", process);
    }
    if (h->program[0] != '\0' && size >= 0 && (size_t)size < capacity)
        (void)snprintf(ret_text + size, capacity - (size_t)size, " (%s)", h->program);
}

void bwl_describe_holder(bwl_shard *shard, const char *name, bwl_ms until, bowline_error *error)
{
    bwl_holder  holder;
    char        who[3 * BWL_HOLDER_TEXT_MAX + 48];
    size_t      size = strlen(error->text);
    const char *mark;

    if (bwl_ask_who(shard, name, until, &holder, NULL) < 0 || !holder.held)
        return; /* the text is complete without it */
    name_holder(who, sizeof who, &holder);
    mark = holder.note[0] != '\0' ? "; " : "";
    (void)snprintf(error->text + size, sizeof error->text - size, "%s%s%s", who, mark,
                   holder.note); /* truncates */
}

static void copy(bowline_holder *ret_public, const bwl_holder *h)
{
    ret_public->held     = h->held;
    ret_public->foreign  = h->foreign;
    ret_public->left_ms  = h->left_ms;
    ret_public->since_ms = h->since_ms;
    ret_public->pid      = h->pid;
    ret_public->fence    = h->fence;
    ret_public->id       = h->id;
    memcpy(ret_public->user, h->user, sizeof h->user);
    memcpy(ret_public->host, h->host, sizeof h->host);
    memcpy(ret_public->program, h->program, sizeof h->program);
    memcpy(ret_public->note, h->note, sizeof h->note);
}

static int check_place(const bowline_holder *holder, bowline_error *reterr)
{
    if (holder->size == sizeof *holder)
        return BOWLINE_OK;
    return bwl_fail(reterr, BWL_STATUS_USAGE,
                    "the size field of the holder is not sizeof(bowline_holder)");
}

int bowline_who(bowline_client *client, const char *name, bowline_holder *ret_holder,
                bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_holder holder;

    if (client == NULL || name == NULL || ret_holder == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_who needs a client, a name and a place for the holder");
    int status = check_place(ret_holder, reterr);
    if (status < 0)
        return status;
    bwl_shard *inner = client->first;
    status           = bwl_check_fork(inner, reterr);
    if (status < 0)
        return status;
    BWL_LOG_DRAINED(inner->host.settings.log);
    bwl_shard_lock(inner);
    status = bwl_ask_who(inner, name, BWL_NEVER, &holder, reterr);
    bwl_shard_unlock(inner);
    if (status == BOWLINE_OK)
        copy(ret_holder, &holder);
    return status;
}

int bowline_who_start(bowline_operation **ret_op, bowline_client *client, const char *name,
                      bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_lock *lock;

    if (ret_op == NULL || client == NULL || name == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_who_start needs a place for the operation, a client, a name");
    bwl_shard *inner  = client->first;
    int        status = bwl_check_fork(inner, reterr);
    if (status < 0)
        return status;
    BWL_LOG_DRAINED(inner->host.settings.log);
    bwl_shard_lock(inner);
    bowline_operation *op = bwl_operation_new(client, reterr);
    status                = op != NULL ? BOWLINE_OK : BOWLINE_NOMEM;
    if (status == BOWLINE_OK)
        status = bwl_lock_for_who(&lock, inner, name, reterr);
    if (status == BOWLINE_OK) {
        bwl_lock_query_holder(lock, &op->inner);
        bwl_operation_watch(&op->inner);
        *ret_op = op;
    } else if (op != NULL) {
        bwl_client_operation_free(op);
    }
    bwl_shard_unlock(inner);
    return status;
}

/* locked: waits for the query, and reads its result. */
static int end(bwl_operation *operation, bwl_holder *ret_holder, bowline_error *reterr)
{
    bwl_lock  *lock   = operation->lock;
    bwl_shard *shard  = lock->shard;
    int        status = bwl_loop_wait(&shard->loop, &operation->completion, BWL_NEVER, reterr);

    if (status < 0)
        bwl_lock_cancel(operation);
    else if (operation->completion.result == BWL_CANCELLED)
        status = bwl_report(operation, reterr);
    else
        status = shard->host.engine->who(&lock->base, ret_holder, reterr);
    bwl_lock_drop_handle(lock);
    return status;
}

int bowline_who_finish(bowline_holder *ret_holder, bowline_operation *op, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_holder holder;

    if (ret_holder == NULL || op == NULL || !op->inner.is_query)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_who_finish takes a place for the holder, and a who");
    bwl_shard *shard  = bwl_shard_of_operation(op);
    int        status = check_place(ret_holder, reterr);
    if (status < 0 || (status = bwl_check_fork(shard, reterr)) < 0)
        return status;
    BWL_LOG_DRAINED(shard->host.settings.log);
    bwl_shard_lock(shard);
    bwl_operation_forget(&op->inner);
    status = end(&op->inner, &holder, reterr);
    bwl_client_operation_free(op);
    bwl_shard_unlock(shard);
    if (status == BOWLINE_OK)
        copy(ret_holder, &holder);
    return status;
}
