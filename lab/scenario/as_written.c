/*
 * as_written.c -- the programs, and their interpreter.  See as_written.h.
 *
 * A program is two lists of steps, for acquire and release.  A step sends one command.  A NO leads
 * to `no`; a YES that passes the step's test (if it has one) leads to `yes`, any other to
 * `otherwise`. A connection that breaks ends the command with UNKNOWN, unless the step has another
 * target.
 */
#include "lab/scenario/as_written.h"
#include "protocol/format/compat_rules.h"
#include "protocol/articles.h"

enum { NO_FENCE = 0, NOTHING = 0, STEPS_MAX = 6, GUARD_MS = 3, NS_PER_MS = 1000000 };

/* Where a step leads: to another step, or to an end. */
typedef enum written_end {
    HELD = 100,
    BUSY,
    RELEASED,
    GONE,
    OVER,        /* no result: the program has ended */
    FROM_START,  /* from the start of the list, at once */
    AFTER_PAUSE, /* from the start of the list, 10 ms later */
} written_end;

typedef enum written_test {
    NO_TEST = 0,
    IS_PAST,        /* the timestamp is below now */
    IS_PAST_OR_NOW, /* ... or is now */
    IS_SAME,        /* the same bytes as in the step before */
    IS_MINE,
    IS_AHEAD, /* ahead by the guard */
    IS_AHEAD_AT_ALL,
    HAS_NO_END, /* READ_EXPIRY */
    IS_NEVER_SO,
} written_test;

typedef struct written_step {
    uint8_t command; /* a bwl_redis_command */
    uint8_t test;
    uint8_t yes;
    uint8_t otherwise;
    uint8_t no;
    uint8_t down; /* 0: UNKNOWN */
} written_step;

typedef struct written_program {
    bool         never_looks; /* reads no clock while it works */
    unsigned     lease_over;  /* the timestamp uses 1/n of the lease; 0: all of it */
    written_step acquire[STEPS_MAX];
    written_step release[STEPS_MAX];
} written_program;

typedef struct written_state {
    uint8_t         verb;
    uint8_t         at;
    bwl_one_request in_flight;
    int64_t         timestamp; /* written by this try */
    uint64_t        shown;     /* read by the step before */
    bwl_ms          until;
} written_state;

/* ---- the interpreter ------------------------------------------------------------------------- */

static void written_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(written_state *)state = (written_state){ 0 };
}

static const written_step *step_of(const written_program *p, const written_state *s)
{
    return s->verb == BWL_ACQUIRE ? &p->acquire[s->at] : &p->release[s->at];
}

static void ask(const written_program *p, written_state *s, unsigned at, bwl_effects *fx)
{
    s->at = (uint8_t)at;
    bwl_article_send(&s->in_flight, (bwl_redis_command)step_of(p, s)->command, s->timestamp, fx);
}

/* Reads the wall clock once for each try. */
static void begin(const written_program *p, written_state *s, const bwl_lock_request *request,
                  bwl_moment moment, bwl_effects *fx)
{
    const bwl_compat_rules *rules    = request->options->rules;
    bwl_ms                  lease_ms = request->lease_ms / (p->lease_over != 0 ? p->lease_over : 1);

    if (s->verb == BWL_ACQUIRE) {
        s->until = moment.now + request->lease_ms - bwl_drift_ms(request->lease_ms);
        if (rules != NULL && rules->unit_ns != 0)
            s->timestamp =
                (moment.wall_ns + lease_ms * NS_PER_MS + rules->extra_ns) / rules->unit_ns;
    }
    ask(p, s, 0, fx);
}

static void go_to(const written_program *p, written_state *s, const bwl_lock_request *request,
                  unsigned where, const bwl_event *ev, bwl_effects *fx)
{
    enum { PAUSE_MS = 10 };

    switch (where) {
    case HELD: bwl_complete_held(fx, p->never_looks ? BWL_NEVER : s->until, NO_FENCE); return;
    case BUSY: bwl_complete(fx, BWL_BUSY); return;
    case RELEASED: bwl_complete(fx, BWL_RELEASED); return;
    case GONE: bwl_complete(fx, BWL_LOST); return;
    case OVER: bwl_complete(fx, s->verb == BWL_ACQUIRE ? BWL_BUSY : BWL_RELEASED); return;
    case FROM_START:
        begin(p, s, request, (bwl_moment){ .now = ev->now, .wall_ns = ev->wall_ns }, fx);
        return;
    case AFTER_PAUSE: bwl_wake_at(fx, ev->now + PAUSE_MS); return;
    }
    assert(where < STEPS_MAX);
    ask(p, s, where, fx);
}

static bool passes(const written_step *step, const written_state *s,
                   const bwl_lock_request *request, const bwl_event *ev)
{
    int64_t unit_ns   = request->options->rules != NULL ? request->options->rules->unit_ns : 0;
    int64_t now       = unit_ns != 0 ? ev->wall_ns / unit_ns : 0;
    int64_t timestamp = (int64_t)ev->number;
    const bwl_redis_value *value = ev->details;

    switch ((written_test)step->test) {
    case NO_TEST: return true;
    case IS_PAST: return timestamp < now;
    case IS_PAST_OR_NOW: return timestamp <= now;
    case IS_SAME: return value->hash == s->shown;
    case IS_MINE: return value->is_mine;
    case IS_AHEAD: return timestamp - now >= GUARD_MS;
    case IS_AHEAD_AT_ALL: return timestamp >= now;
    case HAS_NO_END: return ev->number == REDIS_NO_EXPIRY;
    case IS_NEVER_SO: return false;
    }
    bwl_unreachable("no such test");
}

static void answered(const written_program *p, written_state *s, const bwl_lock_request *request,
                     const bwl_event *ev, bwl_effects *fx)
{
    const written_step *step = step_of(p, s);
    unsigned            where;

    switch (ev->answer) {
    case BWL_YES:
        where    = passes(step, s, request, ev) ? step->yes : step->otherwise;
        s->shown = ((const bwl_redis_value *)ev->details)->hash;
        go_to(p, s, request, where, ev, fx);
        return;
    case BWL_NO:
        s->shown = 0;
        go_to(p, s, request, step->no, ev, fx);
        return;
    case BWL_FOREIGN_VALUE: bwl_complete(fx, s->verb == BWL_ACQUIRE ? BWL_BUSY : BWL_LOST); return;
    case BWL_RETRYABLE: bwl_complete(fx, BWL_NOT_NOW); return;
    case BWL_REFUSED: bwl_complete(fx, BWL_STORE_REFUSED); return;
    case BWL_NOT_SENT: bwl_complete(fx, BWL_UNREACHABLE); return;
    }
    bwl_unreachable("no such answer");
}

static void command(const written_program *p, written_state *s, const bwl_lock_request *request,
                    const bwl_command *cmd, bwl_effects *fx)
{
    s->verb = (uint8_t)cmd->verb;
    begin(p, s, request, (bwl_moment){ .now = cmd->now, .wall_ns = cmd->wall_ns }, fx);
}

static void event(const written_program *p, written_state *s, const bwl_lock_request *request,
                  const bwl_event *ev, bwl_effects *fx)
{
    if (ev->kind == BWL_ALARM && s->in_flight.tag == NOTHING)
        go_to(p, s, request, FROM_START, ev, fx);
    if (!bwl_ends_request(&s->in_flight, ev))
        return;
    if (ev->kind == BWL_REPLY)
        answered(p, s, request, ev, fx);
    else if (step_of(p, s)->down != 0)
        go_to(p, s, request, step_of(p, s)->down, ev, fx);
    else
        bwl_complete(fx, BWL_UNKNOWN);
}

/* A step: its index, the command, and where each answer leads. */
#define ASK(AT, WORD, YES, NO) [AT] = { .command = (WORD), .yes = (YES), .no = (NO) }
#define CHECK(AT, WORD, TEST, YES, OTHERWISE, NO) \
    [AT] = { .command = (WORD), .test = (TEST), .yes = (YES), .otherwise = (OTHERWISE), .no = (NO) }

#define PROGRAM(NAME, PROTOCOL, ...)                                                            \
    static const written_program NAME = { __VA_ARGS__ };                                        \
    static void                  NAME##_command(void *state, const bwl_lock_request *request,   \
                                                const bwl_command *cmd, bwl_effects *fx)        \
    {                                                                                           \
        command(&NAME, state, request, cmd, fx);                                                \
    }                                                                                           \
    static void NAME##_event(void *state, const bwl_lock_request *request, const bwl_event *ev, \
                             bwl_effects *fx)                                                   \
    {                                                                                           \
        event(&NAME, state, request, ev, fx);                                                   \
    }                                                                                           \
    const bwl_protocol bwl_written_##NAME = {                                                   \
        .name       = PROTOCOL,                                                                 \
        .fault      = "as written",                                                             \
        .state_size = sizeof(written_state),                                                    \
        .uses_token = true,                                                                     \
        .uses_wall  = true,                                                                     \
        .init       = written_init,                                                             \
        .command    = NAME##_command,                                                           \
        .event      = NAME##_event,                                                             \
    }

/* ---- Redis的分布式锁 / setnx ---------------------------------------------------------------------- */

#define DEL_ALONE                            \
    {                                        \
        ASK(0, REDIS_DELETE, RELEASED, GONE) \
    }

PROGRAM(way_1, "setnx-del", .never_looks = true, .acquire = { ASK(0, REDIS_SETNX, HELD, BUSY) },
        .release = DEL_ALONE);

/* For the program, a lost reply is a release that did not succeed. */
PROGRAM(way_2, "setnx-del-expire", .never_looks = true,
        .acquire = { ASK(0, REDIS_SETNX, HELD, BUSY) },
        .release = { [0] = { .command = REDIS_DELETE, .yes = RELEASED, .no = 1, .down = 1 },
                     ASK(1, REDIS_EXPIRE_NOW, RELEASED, GONE) });

PROGRAM(way_3, "setnx-stamp-del",
        .acquire = { ASK(0, REDIS_SETNX, HELD, 1), CHECK(1, REDIS_READ, IS_PAST_OR_NOW, 2, BUSY, 2),
                     ASK(2, REDIS_DELETE, 3, BUSY), ASK(3, REDIS_SETNX, HELD, BUSY) },
        .release = DEL_ALONE);

/* Two missing values are equal as well: t2 != t1 is false then. */
PROGRAM(way_4, "setnx-getset",
        .acquire = { ASK(0, REDIS_SETNX, HELD, 1), CHECK(1, REDIS_READ, IS_PAST_OR_NOW, 2, BUSY, 3),
                     CHECK(2, REDIS_SWAP, IS_SAME, HELD, BUSY, BUSY),
                     CHECK(3, REDIS_SWAP, IS_NEVER_SO, 0, BUSY, HELD) },
        .release = DEL_ALONE);

PROGRAM(way_5, "set-nx-ex", .acquire = { ASK(0, REDIS_SET_IF_ABSENT, HELD, BUSY) },
        .release = DEL_ALONE);

PROGRAM(way_6, "set-nx-ex", .acquire = { ASK(0, REDIS_SET_IF_ABSENT, HELD, BUSY) },
        .release = { ASK(0, REDIS_DELETE_IF_MINE, RELEASED, GONE) });

PROGRAM(get_del, "set-nx-ex", .acquire = { ASK(0, REDIS_SET_IF_ABSENT, HELD, BUSY) },
        .release = { CHECK(0, REDIS_READ, IS_MINE, 1, GONE, GONE),
                     ASK(1, REDIS_DELETE, RELEASED, GONE) });

/* ---- Redis实现分布式锁 ----------------------------------------------------------------------------- */

/* A missing key is an opportunity, and so is a value in the past. */
#define GETSET_BY_TIME(BUSY_END)                                                     \
    {                                                                                \
        ASK(0, REDIS_SETNX, HELD, 1), CHECK(1, REDIS_READ, IS_PAST, 2, BUSY_END, 2), \
            CHECK(2, REDIS_SWAP, IS_PAST, HELD, BUSY_END, HELD)                      \
    }

PROGRAM(by_time, "setnx-getset", .acquire = GETSET_BY_TIME(BUSY), .release = DEL_ALONE);

PROGRAM(no_sleep, "setnx-getset", .acquire = GETSET_BY_TIME(FROM_START), .release = DEL_ALONE);

PROGRAM(guard_meant, "setnx-getset", .never_looks = true, .acquire = GETSET_BY_TIME(BUSY),
        .release = { CHECK(0, REDIS_READ, IS_AHEAD, 1, OVER, OVER),
                     ASK(1, REDIS_DELETE, OVER, OVER) });

PROGRAM(guard, "setnx-getset", .never_looks = true, .acquire = GETSET_BY_TIME(BUSY),
        .release = { CHECK(0, REDIS_READ, IS_AHEAD_AT_ALL, 1, OVER, OVER),
                     ASK(1, REDIS_DELETE, OVER, OVER) });

/* ---- 利用redis实现分布式锁 --------------------------------------------------------------------------- */

/* The lock is only taken if GET still returns the value shown before. */
#define GETSET_OF_SHOWN(BUSY_END)                                                           \
    {                                                                                       \
        ASK(0, REDIS_SETNX, HELD, 1), CHECK(1, REDIS_READ, IS_PAST, 2, BUSY_END, BUSY_END), \
            CHECK(2, REDIS_SWAP, IS_SAME, HELD, BUSY_END, BUSY_END)                         \
    }

PROGRAM(jedis, "setnx-getset", .acquire = GETSET_OF_SHOWN(BUSY), .release = DEL_ALONE);

/* The listing has 60*1000*5 ms, the text 100*60*5: a tenth. */
PROGRAM(jedis_tenth, "setnx-getset", .lease_over = 10, .acquire = GETSET_OF_SHOWN(BUSY),
        .release = DEL_ALONE);

/* A hundred times as many tries as intended: without an end, for any wait of the lab. */
PROGRAM(jedis_minus_1, "setnx-getset", .acquire = GETSET_OF_SHOWN(AFTER_PAUSE),
        .release = DEL_ALONE);

PROGRAM(jedis_numeric, "setnx-getset",
        .acquire = { ASK(0, REDIS_SETNX, HELD, 1), CHECK(1, REDIS_READ, IS_PAST, 2, BUSY, BUSY),
                     CHECK(2, REDIS_SWAP, IS_PAST, HELD, BUSY, BUSY) },
        .release = DEL_ALONE);

/* ---- Lock / watch与锁 / 分布式锁 ------------------------------------------------------------------- */

#define SETNX_EXPIRE_REPAIR(TEST, REPAIR, BUSY_END)                   \
    {                                                                 \
        ASK(0, REDIS_SETNX, 1, 2), ASK(1, REDIS_EXPIRE, HELD, HELD),  \
            CHECK(2, REDIS_READ_EXPIRY, TEST, 3, BUSY_END, BUSY_END), \
            ASK(3, REPAIR, BUSY_END, BUSY_END)                        \
    }

#define WATCHED_DEL                                                                      \
    {                                                                                    \
        CHECK(0, REDIS_WATCH_READ, IS_MINE, 1, 2, 2),                                    \
            ASK(1, REDIS_DELETE_WATCHED, RELEASED, GONE), ASK(2, REDIS_UNWATCH, GONE, 0) \
    }

PROGRAM(watch, "setnx-expire-watch", .acquire = SETNX_EXPIRE_REPAIR(HAS_NO_END, REDIS_EXPIRE, BUSY),
        .release = WATCHED_DEL);

/* -2 means that there is no key; then EXPIRE does nothing. */
PROGRAM(watch_ttl, "setnx-expire-watch",
        .acquire = { ASK(0, REDIS_SETNX, 1, 2), ASK(1, REDIS_EXPIRE, HELD, HELD),
                     ASK(2, REDIS_READ_EXPIRY, BUSY, 3), ASK(3, REDIS_EXPIRE, BUSY, BUSY) },
        .release = WATCHED_DEL);

PROGRAM(watch_no_end, "setnx-expire-watch",
        .acquire = SETNX_EXPIRE_REPAIR(HAS_NO_END, REDIS_EXPIRE, AFTER_PAUSE),
        .release = WATCHED_DEL);

PROGRAM(watch_no_sleep, "setnx-expire-watch",
        .acquire = SETNX_EXPIRE_REPAIR(HAS_NO_END, REDIS_EXPIRE, FROM_START),
        .release = WATCHED_DEL);

PROGRAM(watch_del, "setnx-expire-watch",
        .acquire = SETNX_EXPIRE_REPAIR(HAS_NO_END, REDIS_DELETE, BUSY), .release = WATCHED_DEL);

/* EXEC and UNWATCH end the watch alike. */
PROGRAM(watch_queued, "setnx-expire-watch",
        .acquire = SETNX_EXPIRE_REPAIR(HAS_NO_END, REDIS_EXPIRE, BUSY),
        .release = { CHECK(0, REDIS_WATCH_READ, IS_NEVER_SO, 0, 1, 1),
                     ASK(1, REDIS_UNWATCH, GONE, 0) });

PROGRAM(watch_exec_first, "setnx-expire-watch",
        .acquire = SETNX_EXPIRE_REPAIR(HAS_NO_END, REDIS_EXPIRE, BUSY),
        .release = { CHECK(0, REDIS_WATCH_READ, IS_MINE, 1, 2, 2), ASK(1, REDIS_UNWATCH, 3, 0),
                     ASK(2, REDIS_UNWATCH, GONE, 0), ASK(3, REDIS_DELETE, RELEASED, GONE) });
