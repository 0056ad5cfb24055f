#include "lab/model/words.h"
#include "core/timestamps.h"
#include "lab/model/mutation.h"

enum { MS_PER_SECOND = 1000, TOKEN_BITS = 16 };

static const int64_t ns_per_ms     = 1000000;
static const int64_t ns_per_moment = 1000000 / BWL_MODEL_PER_MS;

/* Executes a command on the key of the lock.  The last part of the reply counts: for EXEC, that of
 * its last command. */
static bwl_model_part say(bwl_model_redis *r, const bwl_model_command_args *q,
                          bwl_model_command cmd)
{
    bwl_model_frame frame;

    cmd.key    = BWL_MODEL_LOCK;
    cmd.writer = q->token;
    bwl_model_redis_do(r, q->client, &cmd, &frame);
    assert(frame.pushes_count == 0);
    return frame.parts[frame.parts_count - 1];
}

static bwl_model_part say_op(bwl_model_redis *r, const bwl_model_command_args *q, bwl_model_op op)
{
    return say(r, q, (bwl_model_command){ .op = (uint8_t)op });
}

static bwl_model_reply yes_if(bool is_so)
{
    return (bwl_model_reply){ .answer = is_so ? BWL_YES : BWL_NO };
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool has_timestamp(const bwl_compat_rules *rules)
{
    return rules != NULL && rules->unit_ns != 0;
}

static bool has_token(const bwl_compat_rules *rules)
{
    return rules == NULL || rules->value == BWL_VALUE_TOKEN ||
           rules->value == BWL_VALUE_TOKEN_TIMESTAMP || rules->value == BWL_VALUE_TIMESTAMP_TOKEN;
}

int64_t bwl_model_value(const bwl_compat_rules *rules, uint16_t token, int64_t timestamp)
{
    assert(timestamp >= 0);
    if (!has_token(rules))
        return has_timestamp(rules) ? timestamp : BWL_MODEL_TEXT; /* the literal */
    assert(timestamp < (BWL_MODEL_FOREIGN_VALUE - BWL_MODEL_TEXT) >> TOKEN_BITS);
    return BWL_MODEL_TEXT + (has_timestamp(rules) ? timestamp << TOKEN_BITS : 0) + token;
}

int64_t bwl_model_timestamp_of(const bwl_compat_rules *rules, int64_t value)
{
    if (!has_timestamp(rules))
        return 0;
    return has_token(rules) ? (value - BWL_MODEL_TEXT) >> TOKEN_BITS : value;
}

uint16_t bwl_model_token_of(const bwl_compat_rules *rules, int64_t value)
{
    return has_token(rules) ? (uint16_t)value : 0;
}

static int64_t value_of(const bwl_model_command_args *q)
{
    return bwl_model_value(q->rules, q->token, q->timestamp);
}

/* Whether these rules can have written it. */
static bool is_known(const bwl_model_command_args *q, int64_t value)
{
    bool is_text = value >= BWL_MODEL_TEXT;

    if (value >= BWL_MODEL_FOREIGN_VALUE)
        return false;
    if (q->rules != NULL &&
        !bwl_timestamp_is_plausible(q->rules, bwl_model_timestamp_of(q->rules, value)))
        return false;
    if (!has_token(q->rules))
        return is_text != has_timestamp(q->rules);
    return is_text && ((value - BWL_MODEL_TEXT) >> TOKEN_BITS > 0) == has_timestamp(q->rules);
}

static bool is_mine(const bwl_model_redis *r, const bwl_model_command_args *q)
{
    const bwl_model_key *k = bwl_model_lock(r);

    return k->kind == BWL_KIND_STRING && k->value == value_of(q);
}

/* The reply of GET or GETSET. */
static bwl_model_reply show(const bwl_model_command_args *q, bwl_model_part part)
{
    if (part.kind == BWL_PART_NIL)
        return (bwl_model_reply){ .answer = BWL_NO };
    if (part.kind != BWL_PART_VALUE || !is_known(q, part.number))
        return (bwl_model_reply){ .answer = BWL_FOREIGN_VALUE };
    return (bwl_model_reply){
        .answer     = BWL_YES,
        .is_mine    = part.number == value_of(q),
        .number     = (uint64_t)bwl_model_timestamp_of(q->rules, part.number),
        .value_hash = (uint64_t)part.number,
    };
}

/* ---- bowline's own locks --------------------------------------------------------------------- */

static int64_t lease_s(const bwl_model_command_args *q)
{
    return (q->lease_ms + MS_PER_SECOND - 1) / MS_PER_SECOND;
}

static bwl_model_reply set_if_absent(bwl_model_redis *r, const bwl_model_command_args *q,
                                     unsigned mutations)
{
    bwl_model_command cmd = { .op = BWL_OP_SET, .value = value_of(q) };

    if ((mutations & BWL_MUTATION_SET_OVERWRITES) == 0)
        cmd.flags |= BWL_SET_NX;
    if ((mutations & BWL_MUTATION_SET_LASTS) == 0) {
        bool in_seconds = q->command == REDIS_SET_IF_ABSENT && q->rules != NULL &&
                          q->rules->lease_in_seconds; /* the script has milliseconds */
        cmd.flags |= in_seconds ? BWL_SET_EX : BWL_SET_PX;
        cmd.time = in_seconds ? lease_s(q) : q->lease_ms;
    }
    return yes_if(say(r, q, cmd).kind == BWL_PART_OK);
}

/* A write without effect: PEXPIRE of the PTTL keeps the TTL, because a server counts in whole
 * milliseconds. */
static void write_again(bwl_model_redis *r, const bwl_model_command_args *q)
{
    bwl_model_key *k       = &r->data.keys[BWL_MODEL_LOCK];
    int64_t        ends_at = k->ends_at;

    (void)say(r, q, (bwl_model_command){ .op = BWL_OP_PEXPIRE, .time = q->lease_ms });
    k->ends_at = ends_at;
}

static bwl_model_reply extend_if_mine(bwl_model_redis *r, const bwl_model_command_args *q,
                                      unsigned mutations)
{
    bool is_there  = bwl_model_lock(r)->kind != BWL_KIND_NONE;
    bool is_blind  = (mutations & BWL_MUTATION_EXTEND_BLIND) != 0;
    bool is_longer = say_op(r, q, BWL_OP_PTTL).number < q->lease_ms;

    if (!is_there && (mutations & BWL_MUTATION_EXTEND_CREATES) != 0)
        return set_if_absent(r, q, mutations);
    if (!is_there || (!is_mine(r, q) && !is_blind))
        return yes_if(false);
    if (is_longer || (mutations & BWL_MUTATION_EXTEND_SHORTENS) != 0)
        (void)say(r, q, (bwl_model_command){ .op = BWL_OP_PEXPIRE, .time = q->lease_ms });
    else
        write_again(r, q);
    return yes_if(true);
}

static bwl_model_reply set_if_absent_or_mine(bwl_model_redis *r, const bwl_model_command_args *q,
                                             unsigned mutations)
{
    int64_t left_ms = say_op(r, q, BWL_OP_PTTL).number;

    if (!is_mine(r, q))
        return set_if_absent(r, q, mutations);
    if (left_ms > 0)
        write_again(r, q);
    else
        (void)say(r, q,
                  (bwl_model_command){
                      .op   = BWL_OP_PEXPIRE,
                      .time = left_ms < 0 ? q->lease_ms : 1,
                  });
    return yes_if(true);
}

static bwl_model_reply delete_if_mine(bwl_model_redis *r, const bwl_model_command_args *q,
                                      unsigned mutations)
{
    if (!is_mine(r, q) && (mutations & BWL_MUTATION_DELETE_BLIND) == 0)
        return yes_if(false);
    return yes_if(say_op(r, q, BWL_OP_DEL).number == 1);
}

/* ---- locks of other programs ----------------------------------------------------------------- */

static bwl_model_reply read_expiry(bwl_model_redis *r, const bwl_model_command_args *q)
{
    int64_t seconds = say_op(r, q, BWL_OP_TTL).number;

    if (seconds == -2)
        return yes_if(false);
    return (bwl_model_reply){
        .answer = BWL_YES,
        .number = seconds == -1 ? REDIS_NO_EXPIRY : (uint64_t)seconds,
    };
}

static bwl_model_reply find_no_expiry(bwl_model_redis *r, const bwl_model_command_args *q)
{
    int64_t left = say_op(r, q, BWL_OP_PTTL).number;

    return left >= 0 ? (bwl_model_reply){ .answer = BWL_FOREIGN_VALUE } : yes_if(left == -1);
}

static bwl_model_reply delete_watched(bwl_model_redis *r, const bwl_model_command_args *q)
{
    bwl_model_part deleted;

    (void)say_op(r, q, BWL_OP_MULTI);
    (void)say_op(r, q, BWL_OP_DEL);
    deleted = say_op(r, q, BWL_OP_EXEC);
    return yes_if(deleted.kind == BWL_PART_INTEGER && deleted.number == 1);
}

/* A start timestamp expires a lease later. */
static bool has_expired(const bwl_model_command_args *q, int64_t timestamp, int64_t now_ns)
{
    const bwl_compat_rules *rules = q->rules;
    int64_t                 ends  = timestamp;
    int64_t                 now   = now_ns / rules->unit_ns;

    if (rules->timestamp_is_start)
        ends += (q->lease_ms * ns_per_ms + rules->extra_ns) / rules->unit_ns;
    return rules->expired == BWL_TIMESTAMP_BEFORE_NOW ? ends < now : ends <= now;
}

static bwl_model_reply take_stamp(bwl_model_redis *r, const bwl_model_command_args *q)
{
    const bwl_compat_rules *rules     = q->rules;
    int64_t                 now_ns    = r->now * ns_per_moment;
    int64_t                 ends_ns   = now_ns + q->lease_ms * ns_per_ms + rules->extra_ns;
    bwl_model_reply         present   = show(q, say_op(r, q, BWL_OP_GET));
    int64_t                 timestamp = now_ns / rules->unit_ns;
    int64_t                 value;

    if (!rules->timestamp_is_start) {
        timestamp = (ends_ns + rules->unit_ns - 1) / rules->unit_ns;
        ends_ns   = timestamp * rules->unit_ns;
    }
    if (present.answer == BWL_FOREIGN_VALUE)
        return (bwl_model_reply){ .answer = BWL_FOREIGN_VALUE };
    if (present.answer == BWL_YES && !has_expired(q, (int64_t)present.number, now_ns))
        return yes_if(false);
    if (present.answer == BWL_YES && say_op(r, q, BWL_OP_PTTL).number >= 0)
        return (bwl_model_reply){ .answer = BWL_FOREIGN_VALUE };
    value = bwl_model_value(rules, q->token, timestamp);
    (void)say(r, q,
              (bwl_model_command){
                  .op    = BWL_OP_SET,
                  .flags = BWL_SET_PXAT,
                  .value = value,
                  .time  = (ends_ns + ns_per_ms - 1) / ns_per_ms,
              });
    return (bwl_model_reply){
        .answer     = BWL_YES,
        .is_mine    = true,
        .number     = (uint64_t)timestamp,
        .value_hash = (uint64_t)value,
    };
}

/* ---- a hash with one field per holder -------------------------------------------------------- */

enum { COUNTER = 1 }; /* the key of the fences */

int64_t bwl_model_counter(const bwl_model_redis *r)
{
    const bwl_model_key *k = &r->data.keys[COUNTER];

    return k->kind == BWL_KIND_STRING ? k->value : 0;
}

static bool has_field(bwl_model_redis *r, const bwl_model_command_args *q)
{
    bwl_model_command get = { .op = BWL_OP_HGET, .member = q->token };

    return bwl_model_lock(r)->kind == BWL_KIND_HASH && say(r, q, get).kind == BWL_PART_VALUE;
}

static bwl_model_part say_counter(bwl_model_redis *r, const bwl_model_command_args *q,
                                  bwl_model_op op)
{
    bwl_model_command cmd = { .op = (uint8_t)op, .key = COUNTER, .writer = q->token };
    bwl_model_frame   frame;

    bwl_model_redis_do(r, q->client, &cmd, &frame);
    return frame.parts[frame.parts_count - 1];
}

static bwl_model_reply hash_take(bwl_model_redis *r, const bwl_model_command_args *q,
                                 unsigned mutations)
{
    bool           is_free = bwl_model_lock(r)->kind == BWL_KIND_NONE;
    bwl_model_part fence   = { .number = 0 };

    if (!is_free && !has_field(r, q) && (mutations & BWL_MUTATION_SET_OVERWRITES) == 0)
        return yes_if(false);
    if (q->rules != NULL && q->rules->counts_fences)
        fence = say_counter(r, q, is_free ? BWL_OP_INCR : BWL_OP_GET);
    if (is_free || !has_field(r, q)) {
        (void)say_op(r, q, BWL_OP_DEL);
        (void)say(r, q, (bwl_model_command){ .op = BWL_OP_HSET, .member = q->token, .value = 1 });
        r->data.keys[BWL_MODEL_LOCK].writer = q->token;
        if ((mutations & BWL_MUTATION_SET_LASTS) == 0)
            (void)say(r, q, (bwl_model_command){ .op = BWL_OP_PEXPIRE, .time = q->lease_ms });
    }
    return (bwl_model_reply){ .answer = BWL_YES, .number = (uint64_t)fence.number };
}

static bwl_model_reply hash_extend(bwl_model_redis *r, const bwl_model_command_args *q,
                                   unsigned mutations)
{
    bool is_blind  = (mutations & BWL_MUTATION_EXTEND_BLIND) != 0;
    bool is_longer = say_op(r, q, BWL_OP_PTTL).number < q->lease_ms;

    if (bwl_model_lock(r)->kind == BWL_KIND_NONE || (!has_field(r, q) && !is_blind))
        return yes_if(false);
    if (is_longer || (mutations & BWL_MUTATION_EXTEND_SHORTENS) != 0)
        (void)say(r, q, (bwl_model_command){ .op = BWL_OP_PEXPIRE, .time = q->lease_ms });
    return yes_if(true);
}

static bwl_model_reply hash_release(bwl_model_redis *r, const bwl_model_command_args *q,
                                    unsigned mutations)
{
    if (!has_field(r, q) && (mutations & BWL_MUTATION_DELETE_BLIND) == 0)
        return yes_if(false);
    return yes_if(say_op(r, q, BWL_OP_DEL).number == 1);
}

/* ---- the commands ---------------------------------------------------------------------------- */

bwl_model_reply bwl_model_redis_reply(bwl_model_redis *r, const bwl_model_command_args *q,
                                      unsigned mutations)
{
    bwl_model_command write = { .value = value_of(q), .time = lease_s(q) };

    assert(q->token != 0);
    assert(q->lease_ms > 0);
    switch (q->command) {
    case REDIS_SET_IF_ABSENT: return set_if_absent(r, q, mutations);
    case REDIS_SET_IF_ABSENT_OR_MINE: return set_if_absent_or_mine(r, q, mutations);
    case REDIS_EXTEND_IF_MINE: return extend_if_mine(r, q, mutations);
    case REDIS_DELETE_IF_MINE: return delete_if_mine(r, q, mutations);
    case REDIS_SETNX: write.op = BWL_OP_SETNX; return yes_if(say(r, q, write).number == 1);
    case REDIS_READ: return show(q, say_op(r, q, BWL_OP_GET));
    case REDIS_SWAP: write.op = BWL_OP_GETSET; return show(q, say(r, q, write));
    case REDIS_DELETE: return yes_if(say_op(r, q, BWL_OP_DEL).number == 1);
    case REDIS_EXPIRE: write.op = BWL_OP_EXPIRE; return yes_if(say(r, q, write).number == 1);
    case REDIS_EXPIRE_NOW: return yes_if(say_op(r, q, BWL_OP_EXPIRE).number == 1);
    case REDIS_READ_EXPIRY: return read_expiry(r, q);
    case REDIS_FIND_NO_EXPIRY: return find_no_expiry(r, q);
    case REDIS_WATCH_READ:
        (void)say_op(r, q, BWL_OP_WATCH);
        return show(q, say_op(r, q, BWL_OP_GET));
    case REDIS_UNWATCH: (void)say_op(r, q, BWL_OP_UNWATCH); return yes_if(true);
    case REDIS_DELETE_WATCHED: return delete_watched(r, q);
    case REDIS_TAKE_TIMESTAMP: return take_stamp(r, q);
    case REDIS_DROP_TIMESTAMP: return delete_if_mine(r, q, 0);
    case REDIS_HASH_TAKE: return hash_take(r, q, mutations);
    case REDIS_HASH_EXTEND: return hash_extend(r, q, mutations);
    case REDIS_HASH_RELEASE: return hash_release(r, q, mutations);
    case REDIS_ZSET_TAKE:
    case REDIS_ZSET_EXTEND:
    case REDIS_ZSET_RELEASE: return bwl_model_zset_reply(r, q, mutations);
    case REDIS_QUEUE_TAKE:
    case REDIS_QUEUE_JOIN:
    case REDIS_QUEUE_HEARTBEAT:
    case REDIS_QUEUE_EXTEND:
    case REDIS_QUEUE_RELEASE:
    case REDIS_QUEUE_CANCEL:
    case REDIS_QUEUE_DISPATCH_NEXT:
    case REDIS_QUEUE_REQUEUE:
    case REDIS_REPLICATED: break;
    }
    bwl_unreachable("a word that is not Redis'");
}
