/*
 * several.c -- acquires several names at once; release.c releases them.
 */
#include "api/handles.h"
#include "base/fault.h"
#include "runtime/several.h"

#include <string.h>

static int check_names(const char *const names[], size_t count, bowline_error *reterr)
{
    if (count < 1 || count > BOWLINE_NAMES_MAX)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "%zu names, not 1 .. %d", count,
                        BOWLINE_NAMES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (names[i] == NULL)
            return bwl_fail(reterr, BWL_STATUS_USAGE, "name %zu of %zu is NULL", i + 1, count);
        for (size_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return bwl_fail(reterr, BWL_STATUS_USAGE,
                                "%.60s is there twice: give each name once", names[i]);
    }
    return BOWLINE_OK;
}

typedef struct wish {
    const char *const             *names;
    size_t                         count;
    const bowline_acquire_options *options;
    bwl_ms                         wait_ms; /* of the options */
} wish;

/* locked */
static int start(bwl_several **ret_several, bwl_operation *whole, bwl_shard *shard, wish *w,
                 bowline_error *reterr)
{
    bowline_acquire_options o;
    int                     status = check_names(w->names, w->count, reterr);

    if (status == BOWLINE_OK)
        status = bwl_take_acquire_options(&o, &w->wait_ms, shard, w->options, reterr);
    if (status < 0)
        return status;
    if (o.once_ms != 0 || o.at_least_ms != 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "once_ms and at_least_ms are for one name");
    if (w->wait_ms <= 0)
        bwl_loop_catch_up(&shard->loop);
    bwl_terms terms = bwl_acquire_terms(shard, &o);
    status =
        bwl_several_new(ret_several, whole, shard, w->names, w->count, &terms, w->wait_ms, reterr);
    if (status == BOWLINE_OK)
        bwl_several_start(*ret_several);
    return status;
}

/* locked: `whole` has completed. */
static int end(bowline_hold *ret_holds[], bwl_several *s, const bwl_operation *whole, size_t count,
               bowline_error *reterr)
{
    bwl_lock *locks[BOWLINE_NAMES_MAX];

    if (whole->completion.result != BWL_HELD) {
        int status = bwl_several_fault(s, reterr);
        return status < 0 ? status : bwl_report(bwl_several_decisive(s), reterr);
    }
    bwl_several_take(s, locks);
    for (size_t i = 0; i < count; i++) {
        locks[i]->user = whole->user;
        bwl_lock_attach(locks[i]);
        ret_holds[i] = (bowline_hold *)locks[i];
    }
    return BOWLINE_OK;
}

/* locked */
static int acquire(bowline_hold *ret_holds[], bwl_shard *shard, wish *w, bowline_error *reterr)
{
    bwl_operation whole;
    bwl_several  *s;
    bwl_ms        now    = bwl_shard_now(shard);
    int           status = start(&s, &whole, shard, w, reterr);

    if (status < 0)
        return status;
    status = bwl_loop_wait(&shard->loop, &whole.completion, BWL_NEVER, reterr);
    if (status == BOWLINE_OK)
        status = end(ret_holds, s, &whole, w->count, reterr);
    if ((status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT) && reterr != NULL) {
        bwl_ms until = bwl_ms_add(bwl_ms_add(now, w->wait_ms), shard->host.settings.answer_ms);
        bwl_describe_holder(shard, bwl_several_decisive(s)->lock->base.name, until, reterr);
    }
    bwl_several_free(s);
    return status;
}

int bowline_acquire_all(bowline_hold *ret_holds[], bowline_client *client,
                        const char *const names[], size_t count,
                        const bowline_acquire_options *options, bowline_error *reterr)
{
    wish w = { .names = names, .count = count, .options = options };

    if (ret_holds == NULL || client == NULL || names == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_acquire_all needs a place for the holds, a client and names");
    bwl_shard_enter(client->first);
    BWL_CALL(client->first, reterr);
    int status = call.status < 0 ? call.status : acquire(ret_holds, client->first, &w, reterr);
    bwl_shard_leave(client->first);
    return status;
}

int bowline_acquire_all_start(bowline_operation **ret_op, bowline_client *client,
                              const char *const names[], size_t count,
                              const bowline_acquire_options *options, bowline_error *reterr)
{
    wish               w = { .names = names, .count = count, .options = options };
    bowline_operation *op;

    if (ret_op == NULL || client == NULL || names == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_acquire_all_start needs a place for the operation, a client and "
                        "names");
    BWL_CALL(client->first, reterr);
    int status = call.status;
    if (status == BOWLINE_OK)
        status = bwl_client_operation_new(&op, client, reterr);
    if (status < 0)
        return status;
    status = start(&op->several, &op->inner, client->first, &w, reterr);
    if (status < 0) {
        bwl_client_operation_free(op);
        return status;
    }
    op->names_count = count;
    bwl_operation_watch(&op->inner);
    *ret_op = op;
    return BOWLINE_OK;
}

int bowline_acquire_all_finish(bowline_hold *ret_holds[], bowline_operation *op,
                               bowline_error *reterr)
{
    bwl_shard *shard = bwl_shard_of_operation(op);

    BWL_CALL(shard, reterr);
    if (call.status < 0)
        return call.status;
    if (op->several == NULL || ret_holds == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_acquire_all_finish takes an operation of "
                        "bowline_acquire_all_start, and a place for the holds");
    bwl_operation_forget(&op->inner);
    int status = bwl_loop_wait(&shard->loop, &op->inner.completion, BWL_NEVER, reterr);
    if (status == BOWLINE_OK)
        status = end(ret_holds, op->several, &op->inner, op->names_count, reterr);
    bwl_several_free(op->several);
    bwl_client_operation_free(op);
    return status;
}
