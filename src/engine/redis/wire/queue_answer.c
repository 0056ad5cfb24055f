/*
 * queue_answer.c -- what the server answers to the words of a lock with a queue.  See queue.h.
 *
 *  TAKE, JOIN      :n HELD   [CLAIMED, n, ticket]   [BUSY, left, ours]   [FULL, waiting]
 *                  [QUEUED, ticket, rank, left, ours, time]
 *  HEARTBEAT            [MINE, n, left]   [CLAIMED, n, ticket]   [QUEUED, ...]   [GONE]
 *  REQUEUE         :n HELD   :0 GONE   [CLAIMED, n, ticket]   [QUEUED, ...]
 *  RELEASE, CANCEL :1 YES   :2 YES MORE   :0 NO
 *  DISPATCH_NEXT            the same, never :0
 *  EXTEND          :1 YES   :0 NO
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

/* As PTTL says it: -2 there is no key, -1 nothing ends it. */
static bool next_left(bwl_resp_cursor *cursor, bwl_queue_status *ret_place)
{
    int64_t left;

    if (!next_integer(cursor, -2, INT64_MAX, &left))
        return false;
    ret_place->ends    = left != -1;
    ret_place->left_ms = left > 0 ? left : 0;
    return true;
}

static bool next_ours(bwl_resp_cursor *cursor, bwl_queue_status *ret_place)
{
    int64_t ours;

    if (!next_integer(cursor, 0, 2, &ours))
        return false;
    ret_place->is_ours = ours == 1;
    return true;
}

static bool next_ticket(bwl_resp_cursor *cursor, bwl_queue_status *ret_place)
{
    int64_t ticket;

    if (!next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &ticket))
        return false;
    ret_place->ticket = (uint64_t)ticket;
    return true;
}

static bool next_queued(bwl_resp_cursor *cursor, bwl_queue_status *ret_place)
{
    int64_t rank;

    if (!next_ticket(cursor, ret_place) || !next_integer(cursor, 0, BWL_QUEUE_COUNT_MAX, &rank) ||
        !next_left(cursor, ret_place) || !next_ours(cursor, ret_place) ||
        !next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &ret_place->server_us))
        return false;
    ret_place->rank = (uint64_t)rank;
    return true;
}

static bool next_waiting(bwl_resp_cursor *cursor, bwl_queue_status *ret_place)
{
    int64_t waiting;

    if (!next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &waiting))
        return false;
    ret_place->rank = (uint64_t)waiting;
    return true;
}

/* One of the ways in which TAKE, JOIN, HEARTBEAT and REQUEUE end. */
static bool read_how(bwl_resp_cursor *cursor, const bwl_resp_value *array,
                     bwl_redis_reply *ret_reply)
{
    bwl_queue_status *queue_status = &ret_reply->queue_status;
    bwl_resp_value    how;
    bool              is_whole = false;

    if (!bwl_resp_next_bare(cursor, &how))
        return false;
    ret_reply->answer = BWL_NO;
    if (array->count == 6 && bwl_resp_text_is(&how, "QUEUED")) {
        queue_status->kind = BWL_QUEUE_STATUS_QUEUED;
        is_whole           = next_queued(cursor, queue_status);
    } else if (array->count == 3 && bwl_resp_text_is(&how, "BUSY")) {
        queue_status->kind = BWL_QUEUE_STATUS_BUSY;
        is_whole           = next_left(cursor, queue_status) && next_ours(cursor, queue_status);
    } else if (array->count == 2 && bwl_resp_text_is(&how, "FULL")) {
        queue_status->kind = BWL_QUEUE_STATUS_FULL;
        is_whole           = next_waiting(cursor, queue_status);
    } else if (array->count == 1 && bwl_resp_text_is(&how, "GONE")) {
        queue_status->kind = BWL_QUEUE_STATUS_GONE;
        is_whole           = true;
    } else if (array->count == 3 && bwl_resp_text_is(&how, "CLAIMED")) {
        ret_reply->answer  = BWL_YES;
        queue_status->kind = BWL_QUEUE_STATUS_PROVISIONAL;
        is_whole = next_fence(cursor, &ret_reply->number) && next_ticket(cursor, queue_status);
    } else if (array->count == 3 && bwl_resp_text_is(&how, "MINE")) {
        ret_reply->answer  = BWL_YES;
        queue_status->kind = BWL_QUEUE_STATUS_MINE;
        is_whole = next_fence(cursor, &ret_reply->number) && next_left(cursor, queue_status);
    }
    return is_whole;
}

/* Is it how this word may end? */
static bool may_end(bwl_redis_command command, bwl_queue_status_kind how)
{
    switch (how) {
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
    bwl_unreachable("this is not how one of these ends");
}

static bwl_redis_verdict read_seat(bwl_redis_command command, const char *bytes, size_t size,
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
    } else if (value.type != '*' || !read_how(&cursor, &value, ret_reply)) {
        return BWL_REDIS_STRANGE;
    }
    return may_end(command, ret_reply->queue_status.kind) ? BWL_REDIS_ANSWER : BWL_REDIS_STRANGE;
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
        return read_seat(command, bytes, size, ret_reply);
    if (!next_integer(&cursor, command == REDIS_QUEUE_DISPATCH_NEXT ? 1 : 0,
                      command == REDIS_QUEUE_EXTEND ? 2 : 3, &flag))
        return BWL_REDIS_STRANGE;
    ret_reply->answer = flag == 0 ? BWL_NO : BWL_YES;
    if (flag == 2)
        ret_reply->queue_status.kind = BWL_QUEUE_STATUS_MORE;
    return BWL_REDIS_ANSWER;
}
