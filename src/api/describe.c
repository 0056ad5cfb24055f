#include "api/describe.h"
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
        bwl_lock_cancel(&operation); /* no answer in time, or it could not be waited for */
    bwl_lock_drop_handle(lock);
    return status;
}

/* "deploy@web-2 pid 4121 (pg_dump)", as far as it is known. */
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
        return; /* the text as it is does without it */
    name_holder(who, sizeof who, &holder);
    mark = holder.note[0] != '\0' ? "; " : "";
    (void)snprintf(error->text + size, sizeof error->text - size, "%s%s%s", who, mark,
                   holder.note); /* cutting is meant */
}
