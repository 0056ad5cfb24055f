/*
 * batch.c -- see batch.h.
 *
 *  EVALSHA script n key ... value ... lease        :n        [1, 0, -1, ...]
 *
 * A number: YES for each.  An array: for each key 1 (YES), 0 (NO), or -1 (send this one alone).  An
 * error is the reply to the whole call.  If the server cannot serve now, it would be the same for
 * each extension.  Any other error may be about one key only: an ACL forbids it, or another node of
 * a cluster has it.  So each extension is then sent alone.
 */
#include "engine/redis/wire/batch.h"
#include "engine/redis/wire/scripts.h"

enum {
    BULK_ROOM  = 16,   /* bytes around a key or a value */
    BEGIN_ROOM = 2048, /* for the text of the script, the numbers and the lease */
};

_Static_assert((int)BWL_BATCH_MAX < (int)BWL_RESP_ELEMENTS_MAX, "a frame has room for each reply");

bool bwl_batch_takes(bwl_redis_command command)
{
    return command == REDIS_EXTEND_IF_MINE || command == REDIS_QUEUE_EXTEND;
}

/* ---- the command ----------------------------------------------------------------------------- */

size_t bwl_batch_size_max(unsigned count, size_t keys_size)
{
    return BEGIN_ROOM + keys_size + count * (size_t)(2 * BULK_ROOM + BWL_VALUE_MAX);
}

void bwl_batch_write_begin(bwl_resp_writer *writer, unsigned count, bool use_eval)
{
    assert(count >= 1);
    assert(count <= BWL_BATCH_MAX);
    bwl_redis_write_script(writer, &bwl_scripts[BWL_SCRIPT_EXTEND_EACH_IF_MINE], use_eval, count,
                           2 * count + 1);
}

/* ---- the reply ------------------------------------------------------------------------------- */

/* TRYAGAIN: a cluster is moving the slot, and the keys of this call are on two nodes. */
static bwl_batch_verdict read_error(const char *bytes, size_t size)
{
    if (bwl_redis_error_is(bytes, size, "NOSCRIPT"))
        return BWL_BATCH_NOSCRIPT;
    if (bwl_redis_error_is(bytes, size, "TRYAGAIN"))
        return BWL_BATCH_ALONE;
    return bwl_redis_is_not_now(bytes, size) ? BWL_BATCH_RETRYABLE : BWL_BATCH_ALONE;
}

bwl_batch_verdict bwl_batch_read(unsigned count, const char *bytes, size_t size,
                                 bwl_batch_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    bwl_batch_reply reply;

    assert(count >= 1);
    assert(count <= BWL_BATCH_MAX);
    if (bwl_redis_is_error(bytes, size))
        return read_error(bytes, size);
    if (!bwl_resp_next_bare(&cursor, &value))
        return BWL_BATCH_STRANGE;
    bool all_are_ours = value.type == ':' && value.integer == count;
    if (!all_are_ours && (value.type != '*' || value.count != count))
        return BWL_BATCH_STRANGE;
    for (unsigned i = 0; i < count; i++) {
        if (all_are_ours)
            value.integer = 1;
        else if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':' || value.integer < -1 ||
                 value.integer > 1)
            return BWL_BATCH_STRANGE;
        reply.answers[i] = value.integer == 1 ? BWL_YES : value.integer == 0 ? BWL_NO : 0;
    }
    *ret_reply = reply;
    return BWL_BATCH_EACH;
}
