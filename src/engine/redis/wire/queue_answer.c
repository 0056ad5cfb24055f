/*
 * queue_answer.c -- reads the replies to the commands of a lock with a queue.  See queue.h.
 *
 *  TAKE, JOIN      :n HELD   [CLAIMED, n, ticket]   [BUSY, left, ours]   [FULL, waiters]
 *                  [QUEUED, ticket, rank, left, ours, time]
 *  HEARTBEAT       [MINE, n, left]   [CLAIMED, n, ticket]   [QUEUED, ...]   [GONE]
 *  REQUEUE         :n HELD   :0 GONE   [CLAIMED, n, ticket]   [QUEUED, ...]
 *  RELEASE, CANCEL :1 YES   :2 YES MORE   :0 NO
 *  DISPATCH_NEXT   the same, never :0
 *  EXTEND          :1 YES   :0 NO
 *
 * CLAIMED is the PROVISIONAL of protocol/store/queue.h.  n: the counter that makes the fence.
 * left: as PTTL.  ours: 1 if the lock has a value of this protocol.  time: the server's, in
 * microseconds.
 */
#include "engine/redis/wire/queue.h"

static bool next_integer(bwl_resp_cursor *cursor, int64_t min, int64_t max, int64_t *ret_integer)
{
    bwl_resp_value value;

    if (!bwl_resp_next_bare(cursor, &value) || value.type != ':' || value.integer < min ||
        value.integer >= max)
        return false;
    *ret_integer = value.integer;
    return true;
}

static bool next_fence(bwl_resp_cursor *cursor, uint64_t *ret_fence)
{
    int64_t count;

    if (!next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &count))
        return false;
    *ret_fence = (uint64_t)count * BWL_QUEUE_HANDOFFS;
    return true;
}

/* As PTTL: -2: no key; -1: no expiry. */
static bool next_left(bwl_resp_cursor *cursor, bwl_queue_status *ret_status)
{
    int64_t left;

    if (!next_integer(cursor, -2, INT64_MAX, &left))
        return false;
    ret_status->ends    = left != -1;
    ret_status->left_ms = left > 0 ? left : 0;
    return true;
}

static bool next_ours(bwl_resp_cursor *cursor, bwl_queue_status *ret_status)
{
    int64_t ours;

    if (!next_integer(cursor, 0, 2, &ours))
        return false;
    ret_status->is_ours = ours == 1;
    return true;
}

static bool next_ticket(bwl_resp_cursor *cursor, bwl_queue_status *ret_status)
{
    int64_t ticket;

    if (!next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &ticket))
        return false;
    ret_status->ticket = (uint64_t)ticket;
    return true;
}

static bool next_queued(bwl_resp_cursor *cursor, bwl_queue_status *ret_status)
{
    int64_t rank;

    if (!next_ticket(cursor, ret_status) || !next_integer(cursor, 0, BWL_QUEUE_COUNT_MAX, &rank) ||
        !next_left(cursor, ret_status) || !next_ours(cursor, ret_status) ||
        !next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &ret_status->server_us))
        return false;
    ret_status->rank = (uint64_t)rank;
    return true;
}

static bool next_waiting(bwl_resp_cursor *cursor, bwl_queue_status *ret_status)
{
    int64_t waiting;

    if (!next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &waiting))
        return false;
    ret_status->rank = (uint64_t)waiting;
    return true;
}

/* Reads a reply to TAKE, JOIN, HEARTBEAT or REQUEUE that is an array. */
static bool read_array(bwl_resp_cursor *cursor, const bwl_resp_value *array,
                       bwl_redis_reply *ret_reply)
{
    bwl_queue_status *queue_status = &ret_reply->queue_status;
    bwl_resp_value    kind;
    bool              is_whole = false;

    if (!bwl_resp_next_bare(cursor, &kind))
        return false;
    ret_reply->answer = BWL_NO;
    if (array->count == 6 && bwl_resp_text_is(&kind, "QUEUED")) {
        queue_status->kind = BWL_QUEUE_STATUS_QUEUED;
        is_whole           = next_queued(cursor, queue_status);
    } else if (array->count == 3 && bwl_resp_text_is(&kind, "BUSY")) {
        queue_status->kind = BWL_QUEUE_STATUS_BUSY;
        is_whole           = next_left(cursor, queue_status) && next_ours(cursor, queue_status);
    } else if (array->count == 2 && bwl_resp_text_is(&kind, "FULL")) {
        queue_status->kind = BWL_QUEUE_STATUS_FULL;
        is_whole           = next_waiting(cursor, queue_status);
    } else if (array->count == 1 && bwl_resp_text_is(&kind, "GONE")) {
        queue_status->kind = BWL_QUEUE_STATUS_GONE;
        is_whole           = true;
    } else if (array->count == 3 && bwl_resp_text_is(&kind, "CLAIMED")) {
        ret_reply->answer  = BWL_YES;
        queue_status->kind = BWL_QUEUE_STATUS_PROVISIONAL;
        is_whole = next_fence(cursor, &ret_reply->number) && next_ticket(cursor, queue_status);
    } else if (array->count == 3 && bwl_resp_text_is(&kind, "MINE")) {
        ret_reply->answer  = BWL_YES;
        queue_status->kind = BWL_QUEUE_STATUS_MINE;
        is_whole = next_fence(cursor, &ret_reply->number) && next_left(cursor, queue_status);
    }
    return is_whole;
}

/* True if the command can have this reply. */
static bool can_reply(bwl_redis_command command, bwl_queue_status_kind kind)
{
    switch (kind) {
    case BWL_QUEUE_STATUS_HELD: return command != REDIS_QUEUE_HEARTBEAT;
    case BWL_QUEUE_STATUS_BUSY: return command == REDIS_QUEUE_TAKE;
    case BWL_QUEUE_STATUS_FULL: return command == REDIS_QUEUE_JOIN;
    case BWL_QUEUE_STATUS_QUEUED:
    case BWL_QUEUE_STATUS_PROVISIONAL: return command != REDIS_QUEUE_TAKE;
    case BWL_QUEUE_STATUS_MINE: return command == REDIS_QUEUE_HEARTBEAT;
    case BWL_QUEUE_STATUS_GONE:
        return command == REDIS_QUEUE_HEARTBEAT || command == REDIS_QUEUE_REQUEUE;
    case BWL_QUEUE_STATUS_MORE: break;
    }
    bwl_unreachable("not a status of these commands");
}

static bwl_redis_verdict read_status(bwl_redis_command command, const char *bytes, size_t size,
                                     bwl_redis_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value))
        return BWL_REDIS_STRANGE;
    if (value.type == ':' && value.integer == 0 && command == REDIS_QUEUE_REQUEUE) {
        ret_reply->answer            = BWL_NO;
        ret_reply->queue_status.kind = BWL_QUEUE_STATUS_GONE;
    } else if (value.type == ':') {
        if (value.integer < 1 || value.integer >= BWL_QUEUE_COUNT_MAX)
            return BWL_REDIS_STRANGE;
        ret_reply->answer            = BWL_YES;
        ret_reply->number            = (uint64_t)value.integer * BWL_QUEUE_HANDOFFS;
        ret_reply->queue_status.kind = BWL_QUEUE_STATUS_HELD;
    } else if (value.type != '*' || !read_array(&cursor, &value, ret_reply)) {
        return BWL_REDIS_STRANGE;
    }
    return can_reply(command, ret_reply->queue_status.kind) ? BWL_REDIS_ANSWER : BWL_REDIS_STRANGE;
}

bwl_redis_verdict bwl_queue_read(const bwl_redis_command_args *args, const char *bytes, size_t size,
                                 bwl_redis_reply *ret_reply)
{
    bwl_resp_cursor   cursor  = bwl_resp_begin(bytes, size);
    bwl_redis_command command = args->command;
    int64_t           flag;

    assert(bwl_queue_is(command));
    if (command == REDIS_QUEUE_TAKE || command == REDIS_QUEUE_JOIN ||
        command == REDIS_QUEUE_HEARTBEAT || command == REDIS_QUEUE_REQUEUE)
        return read_status(command, bytes, size, ret_reply);
    if (!next_integer(&cursor, command == REDIS_QUEUE_DISPATCH_NEXT ? 1 : 0,
                      command == REDIS_QUEUE_EXTEND ? 2 : 3, &flag))
        return BWL_REDIS_STRANGE;
    ret_reply->answer = flag == 0 ? BWL_NO : BWL_YES;
    if (flag == 2)
        ret_reply->queue_status.kind = BWL_QUEUE_STATUS_MORE;
    return BWL_REDIS_ANSWER;
}
