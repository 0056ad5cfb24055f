/*
 * transcript.h -- golden transcripts of the lock machine and its protocols: a story is played, and
 * its text is compared with the actual events.
 *
 * A story is one string of items:
 *
 *      acquires, once; SETNX of 10 -> no; READ of 10 -> +5 shows -3; BUSY; over
 *
 * An arrow joins a request and its reply.  +N: N ms have passed since the item before.  The items
 * of the caller, the store and the clock, and every reply, are inputs; all other items are expected
 * actions of the machine.  An alarm rings at exactly the time that the machine set, and after the
 * items of the same time.  The actual events must give the same string.
 *
 *      caller   acquires, once | acquires, for N | acquires, for ever | extends to N | releases |
 *               yields, for N | downgrades | upgrades | cancels | is out of time | closes (lost) |
 *               reads [exact] (the time left) | deadlines (of the result, of unsent requests)
 *      reply    yes|no|retry|refused [N] (to the oldest request in flight; N: a number with it) |
 *               shows N [mine] (a value with that timestamp) | shows foreign | no expiry |
 *               cut (every request in flight) | unsent (the oldest request)
 *      others   pushes yes|no [N] | link ends (with no request in flight) | clock rings (early) |
 *               store revokes (it can no longer verify the lock) | end (only time passes) |
 *               random N (the random bits of the next pauses; 0 at first: the shortest pause)
 *
 * Timestamps count from the wall clock at 0, in the unit of the rules: "SETNX of 10001".  Tokens
 * are A, B, C ... in the order in which they appear.  A request has a lease, "for N", only if it is
 * not that of the terms.
 *
 * queue_story.h has the items of locks with a queue; scripted.h those of the lock machine alone.  A
 * reply of a local group is "until N" (granted until then) or "is KIND".  With several servers
 * (three, or as many as in "redlock5_"), a request is "all X" or "2 X", a reply "2 yes" or "2
 * down", each to the oldest request in flight at that server.
 */
#pragma once

#include "queue_story.h"
#include "scripted.h"

#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include "lock/machine.h"
#include "protocol/quorum.h"
#include "protocol/local_lock.h"
#include "protocol/protocol.h"
#include "protocol/store/local.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BEGINNING      = 1000000, /* the machine's time at the beginning of a story */
    STORY_ITEM_MAX = 100,
    WRITTEN_MAX    = 8192,
    SHOWN_BEFORE   = 300, /* characters before a difference that are shown */
    OPEN_MAX       = 64,
    TOKENS_MAX     = 26,
    ALARMS_MAX     = 1000, /* more at one time: the machine makes no progress */
};

#define BEGINNING_WALL_NS (INT64_C(1700000000) * 1000000000) /* the wall clock then */

#define TERMS(...)                                               \
    {                                                            \
        .max_hold_ms = BWL_NEVER, .answer_ms = 5000, __VA_ARGS__ \
    }

static const bwl_terms usual_terms       = TERMS(.lease_ms = 30000, .renews = true);
static const bwl_terms without_renewal   = TERMS(.lease_ms = 30000);
static const bwl_terms ending_after_45_s = {
    .lease_ms = 30000, .max_hold_ms = 45000, .answer_ms = 5000, .renews = true
};

typedef struct stage {
    bwl_hold hold;
    bwl_ms   now;
    bwl_ms   wake_at;
    bool     over;
    uint16_t random_bits;
    uint8_t  turn;
    unsigned nodes;
    bwl_ms   lease_ms;       /* of the terms */
    uint32_t open[OPEN_MAX]; /* tags of the requests in flight, oldest first */
    uint8_t  open_node[OPEN_MAX];
    unsigned open_count;
    char     tokens[TOKENS_MAX][BWL_TOKEN_MAX + 1];
    unsigned tokens_count;
    char     written[WRITTEN_MAX];
    size_t   size;
    bwl_ms   written_at; /* when the last item was written */
} stage;

static inline void write_item(stage *s, const char *join, const char *item)
{
    char passed[24] = "";

    if (s->now > s->written_at)
        (void)snprintf(passed, sizeof passed, "+%lld ", (long long)(s->now - s->written_at));
    s->size += (size_t)snprintf(s->written + s->size, WRITTEN_MAX - s->size, "%s%s%s",
                                s->size == 0 ? "" : join, passed, item);
    assert_true(s->size < WRITTEN_MAX);
    s->written_at = s->now;
}

__attribute__((format(printf, 2, 3))) static inline void note(stage *s, const char *format, ...)
{
    char    item[STORY_ITEM_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(item, sizeof item, format, args);
    va_end(args);
    write_item(s, "; ", item);
}

static inline char letter_of(stage *s, const char *token)
{
    for (unsigned i = 0; i < s->tokens_count; i++)
        if (strcmp(s->tokens[i], token) == 0)
            return (char)('A' + i);
    assert_true(s->tokens_count < TOKENS_MAX);
    memcpy(s->tokens[s->tokens_count], token, strlen(token) + 1);
    return (char)('A' + s->tokens_count++);
}

static inline char token_letter(stage *s)
{
    return letter_of(s, s->hold.request.token);
}

/* " for N"; empty if the lease of the request is that of the terms. */
static inline const char *lease_text(const stage *s)
{
    static char text[32];
    bwl_ms      lease_ms = s->hold.request.lease_ms;

    (void)snprintf(text, sizeof text, " for %lld", (long long)lease_ms);
    return lease_ms == s->lease_ms ? "" : text;
}

static inline bwl_moment moment(const stage *s)
{
    int64_t wall_ns = BEGINNING_WALL_NS + (s->now - BEGINNING) * 1000000;

    return (bwl_moment){ .now = s->now, .wall_ns = s->hold.protocol->uses_wall ? wall_ns : 0 };
}

/* The timestamp at the start of a story. */
static inline int64_t stamp_zero(const stage *s)
{
    const bwl_compat_rules *rules = s->hold.request.options->rules;

    return rules != NULL && rules->unit_ns != 0 ? BEGINNING_WALL_NS / rules->unit_ns : 0;
}

/* The commands of the articles' locks. */
static inline void note_article_command(stage *s, const bwl_send *send)
{
    static const char *const names[] = {
        "SETNX",          "READ",           "SWAP",           "DELETE",     "EXPIRE",
        "EXPIRE_NOW",     "READ_EXPIRY",    "FIND_NO_EXPIRY", "WATCH_READ", "UNWATCH",
        "DELETE_WATCHED", "TAKE_TIMESTAMP", "DROP_TIMESTAMP",
    };

    assert_in_range(send->command, REDIS_SETNX, REDIS_DROP_TIMESTAMP);
    if (send->args[REDIS_ARG_TIMESTAMP] != 0)
        note(s, "%s of %lld", names[send->command - REDIS_SETNX],
             (long long)(send->args[REDIS_ARG_TIMESTAMP] - stamp_zero(s)));
    else
        note(s, "%s", names[send->command - REDIS_SETNX]);
}

static inline void note_send(stage *s, const bwl_send *send, bool is_to_all)
{
    unsigned                 command = send->command;
    char                     whom[8] = "";
    static const char *const local[] = { "?", "JOIN", "JOIN_OR_LEAVE", "TRY", "LEAVE" };
    static const char *const redis[] = { "?", "SET_IF_ABSENT", "SET_IF_ABSENT_OR_MINE",
                                         "EXTEND_IF_MINE", "DELETE_IF_MINE" };

    if (command >= REDIS_QUEUE_TAKE && command <= REDIS_QUEUE_REQUEUE) {
        char text[STORY_ITEM_MAX];
        char token =
            bwl_redis_uses_other_token(send) ? letter_of(s, s->hold.other_token) : token_letter(s);
        queue_send_text(text, sizeof text, send, token, lease_text(s));
        note(s, "%s", text);
        return;
    }
    if (s->hold.protocol == &bwl_local_waiter_protocol) {
        static const char *const names[] = { "?", "ENQUEUE", "EXTEND", "LEAVE" };
        note(s, "%s", names[command]);
        return;
    }
    if (command >= REDIS_HASH_TAKE && command <= REDIS_ZSET_RELEASE) {
        static const char *const kind[] = { "TAKE", "EXTEND", "RELEASE" };
        assert_int_equal(send->args[REDIS_ARG_TIMESTAMP], 0);
        note(s, "%s_%s as %c%s", command < REDIS_ZSET_TAKE ? "HASH" : "ZSET",
             kind[(command - REDIS_HASH_TAKE) % 3], token_letter(s), lease_text(s));
        return;
    }
    if (command == REDIS_REPLICATED) {
        note(s, "REPLICATED by %lld in %lld", (long long)send->args[REDIS_ARG_REPLICAS],
             (long long)send->args[REDIS_ARG_LIMIT_MS]);
        return;
    }
    if (s->hold.protocol != &bwl_ticket && command > REDIS_DELETE_IF_MINE) {
        note_article_command(s, send);
        return;
    }
    if (is_scripted(s->hold.protocol)) {
        char text[STORY_ITEM_MAX];
        char token   = token_letter(s);
        bool has_two = script.cmd.yields || script.cmd.upgrades;
        char other   = has_two ? letter_of(s, s->hold.other_token) : '?';
        scripted_send_text(text, sizeof text, token, other, lease_text(s));
        note(s, "%s", text);
        return;
    }
    assert_in_range(command, 1, 4);
    if (is_to_all)
        (void)snprintf(whom, sizeof whom, "all ");
    else if (s->nodes > 1)
        (void)snprintf(whom, sizeof whom, "%u ", send->node + 1u);
    if (s->hold.protocol == &bwl_ticket)
        note(s, "%s", local[command]);
    else
        note(s, "%s%s as %c%s", whom, redis[command], token_letter(s),
             command == REDIS_DELETE_IF_MINE ? "" : lease_text(s));
}

static inline void note_outcome(stage *s, const bwl_outcome *out)
{
    static const char *const names[] = {
        "",        "HELD",          "QUEUED",      "BUSY", "FULL",
        "NOT_NOW", "STORE_REFUSED", "UNREACHABLE", "LOST", "RELEASED",
        "UNKNOWN", "TIMED_OUT",     "CANCELLED",   "",     "DONE",
    };
    char fence[30] = "";

    if (out->fence != 0)
        (void)snprintf(fence, sizeof fence, ", fence %llu", (unsigned long long)out->fence);
    if (out->kind == BWL_HELD && out->until == BWL_NEVER)
        note(s, "HELD until released%s", fence);
    else if (out->kind == BWL_HELD)
        note(s, "HELD until %lld%s", (long long)(out->until - BEGINNING), fence);
    else if (out->kind != BWL_PENDING)
        note(s, "%s", names[out->kind]);
}

/* True if the requests from `first` on send every server the same command. */
static inline bool is_run_to_all(const stage *s, const bwl_effects *fx, unsigned first)
{
    if (s->nodes == 1 || first + s->nodes > fx->send_count)
        return false;
    for (unsigned i = 0; i < s->nodes; i++)
        if (fx->sends[first + i].command != fx->sends[first].command ||
            fx->sends[first + i].node != i)
            return false;
    return true;
}

/* Writes the effects of one step of the machine. */
static inline void note_effects(stage *s, const bwl_effects *fx)
{
    for (unsigned i = 0; i < fx->send_count; i++) {
        bool is_to_all = is_run_to_all(s, fx, i - i % s->nodes);
        assert_true(s->open_count < OPEN_MAX);
        s->open_node[s->open_count] = fx->sends[i].node;
        s->open[s->open_count++]    = fx->sends[i].tag;
        if (!is_to_all || i % s->nodes == 0)
            note_send(s, &fx->sends[i], is_to_all);
    }
    note_outcome(s, &fx->outcome);
    assert_true(fx->wake_at > 0);
    s->wake_at = fx->wake_at;
    if (is_scripted(s->hold.protocol) && fx->wake_slack_ms != 0)
        note(s, "the alarm at %lld may be %lld late", (long long)(fx->wake_at - BEGINNING),
             (long long)fx->wake_slack_ms);
    if (s->hold.state == BWL_HOLD_OVER && !s->over)
        note(s, "over");
    s->over = s->hold.state == BWL_HOLD_OVER;
    assert_true(!s->over || s->wake_at == BWL_NEVER);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static inline bwl_random fresh(stage *s)
{
    return (bwl_random){ { (uint8_t)(s->random_bits >> 8), (uint8_t)(s->random_bits & 255),
                           ++s->turn } };
}

static inline void play_event(stage *s, bwl_event ev)
{
    bwl_effects fx = { 0 };

    ev.now     = s->now;
    ev.wall_ns = moment(s).wall_ns;
    ev.fresh   = fresh(s);
    bwl_hold_event(&s->hold, &ev, &fx);
    note_effects(s, &fx);
}

static inline uint32_t oldest_open_of(stage *s, unsigned node)
{
    for (unsigned i = 0; i < s->open_count; i++) {
        uint32_t tag = s->open[i];
        if (s->open_node[i] != node)
            continue;
        s->open_count--;
        memmove(s->open + i, s->open + i + 1, (s->open_count - i) * sizeof s->open[0]);
        memmove(s->open_node + i, s->open_node + i + 1, s->open_count - i);
        return tag;
    }
    note(s, "(no request is in flight)"); /* no story has this text: the comparison fails */
    return 0;
}

static inline uint32_t oldest_open(stage *s)
{
    return oldest_open_of(s, 0);
}

/* "yes 7": YES and 7. */
static inline bwl_answer read_answer(const char *text, uint64_t *ret_number)
{
    static const char *const names[] = { "?", "yes", "no", "retry", "refused" };

    *ret_number = 0;
    if (strcmp(text, "unsent") == 0)
        return BWL_NOT_SENT;
    if (strcmp(text, "no expiry") == 0) {
        *ret_number = REDIS_NO_EXPIRY;
        return BWL_YES;
    }
    for (unsigned i = BWL_YES; i <= BWL_REFUSED; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(text, names[i], length) == 0) {
            *ret_number = strtoull(text + length, NULL, 10);
            return (bwl_answer)i;
        }
    }
    fail_msg("\"%s\" is no reply", text);
    return 0;
}

static inline void acquires(stage *s, const char *how)
{
    bwl_effects fx            = { 0 };
    bwl_random  random        = fresh(s);
    bwl_ms      wait_deadline = s->now;

    if (strcmp(how, "for ever") == 0)
        wait_deadline = BWL_NEVER;
    else if (strncmp(how, "for ", 4) == 0)
        wait_deadline = s->now + strtoll(how + 4, NULL, 10);
    else
        assert_string_equal(how, "once");
    bwl_hold_acquire(&s->hold, &random, moment(s), wait_deadline, &fx);
    note_effects(s, &fx);
}

static inline void note_moment(stage *s, const char *what, bwl_ms at)
{
    if (at == BWL_NEVER)
        note(s, "%s never", what);
    else
        note(s, "%s %lld", what, (long long)(at - BEGINNING));
}

/* Returns the text after `begin`; NULL if the item begins otherwise. */
static inline const char *after(const char *item, const char *begin)
{
    return strncmp(item, begin, strlen(begin)) == 0 ? item + strlen(begin) : NULL;
}

/* Returns true for an input; all other items are actions of the machine. */
static inline bool is_input(const char *item)
{
    static const char *const all[] = {
        "acquires, ", "extends to ",   "yields, for ", "releases", "cancels",  "is out of time",
        "grants ",    "reads",         "deadlines",    "pushes ",  "random ",  "clock rings",
        "link ends",  "store revokes", "wakes at ",    "returns ", "outcome ", "closes",
        "drops ",     "downgrades",    "upgrades",
    };

    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (after(item, all[i]) != NULL)
            return true;
    return false;
}

/* Calls that read and change nothing. */
static inline bool caller_reads(stage *s, const char *item)
{
    bool is_exact = strcmp(item, "reads exact") == 0;

    if (strcmp(item, "deadlines") == 0) {
        note_moment(s, "due by", bwl_hold_result_deadline(&s->hold));
        note_moment(s, "unsent by", bwl_hold_send_deadline(&s->hold));
        return true;
    }
    if (!is_exact && strcmp(item, "reads") != 0)
        return false;
    bwl_ms left =
        is_exact ? bwl_hold_left_truly(&s->hold, s->now) : bwl_hold_left(&s->hold, s->now);
    if (left == BWL_NEVER)
        note(s, "%sno end", is_exact ? "exact " : "");
    else
        note(s, "%s%lld left", is_exact ? "exact " : "", (long long)left);
    if (!is_exact && s->hold.last_error != BWL_PENDING && bwl_hold_is_held(&s->hold))
        note(s, "error %s", scripted_kinds[s->hold.last_error]);
    return true;
}

/* Makes a call of the caller.  Returns false if the item is not one. */
static inline bool caller_does(stage *s, const char *item)
{
    bwl_effects fx      = { 0 };
    bwl_random  random  = fresh(s);
    const char *number  = NULL;
    bool        cancels = strcmp(item, "cancels") == 0;
    bool        changes = strcmp(item, "downgrades") == 0 || strcmp(item, "upgrades") == 0;

    if ((number = after(item, "acquires, ")) != NULL) {
        acquires(s, number);
        return true;
    }
    if (strcmp(item, "drops the rest") == 0) {
        bwl_hold_drop_rest(&s->hold);
        return true;
    }
    if (strcmp(item, "closes") == 0)
        bwl_hold_give_back(&s->hold, moment(s), &fx);
    else if (strcmp(item, "is out of time") == 0)
        bwl_hold_time_up(&s->hold, s->now, &fx);
    else if (!cancels && strcmp(item, "releases") != 0 && after(item, "extends to ") == NULL &&
             after(item, "yields, for ") == NULL && !changes)
        return false;
    else if (cancels ? !bwl_hold_is_acquiring(&s->hold) : !bwl_hold_is_held(&s->hold))
        note(s, "(the hold is in state %d)", (int)s->hold.state);
    else if (cancels)
        bwl_hold_cancel(&s->hold, s->now, &fx);
    else if ((number = after(item, "extends to ")) != NULL)
        bwl_hold_extend(&s->hold, s->now, strtoll(number, NULL, 10), &fx);
    else if (changes)
        bwl_hold_change(&s->hold, *item == 'd' ? BWL_DOWNGRADE : BWL_UPGRADE, &random, moment(s),
                        &fx);
    else if ((number = after(item, "yields, for ")) != NULL)
        bwl_hold_yield(&s->hold, &random, moment(s), s->now + strtoll(number, NULL, 10), &fx);
    else
        bwl_hold_release(&s->hold, moment(s), &fx);
    if (after(item, "extends to ") == NULL && !changes)
        assert_false(bwl_hold_is_held(&s->hold)); /* at once, not only at the next alarm */
    if (fx.wake_at != 0)
        note_effects(s, &fx);
    return true;
}

/* A value: its hash is its timestamp, plus one; "12 in other bytes" has another hash. */
static inline void shows(stage *s, const char *what)
{
    char           *rest  = NULL;
    bwl_redis_value value = { 0 };
    bwl_event       ev    = { .kind = BWL_REPLY, .tag = oldest_open(s), .answer = BWL_YES };

    ev.details    = &value;
    ev.number     = (uint64_t)(strtoll(what, &rest, 10) + stamp_zero(s));
    value.hash    = strcmp(rest, " in other bytes") == 0 ? ~(ev.number + 1) : ev.number + 1;
    value.is_mine = strcmp(rest, " mine") == 0;
    if (rest == what)
        ev = (bwl_event){ .kind = BWL_REPLY, .tag = ev.tag, .answer = BWL_FOREIGN_VALUE };
    play_event(s, ev);
}

/* "2 yes", "2 down": the reply of one of several servers. */
static inline void one_server_replies(stage *s, const char *what)
{
    char    *rest = NULL;
    uint8_t  node = (uint8_t)(strtoul(what, &rest, 10) - 1);
    uint64_t number;

    assert_true(node < s->nodes);
    if (strcmp(rest, " down") != 0) {
        bwl_answer answer = read_answer(rest + 1, &number);
        play_event(s, (bwl_event){ .kind   = BWL_REPLY,
                                   .node   = node,
                                   .answer = answer,
                                   .tag    = oldest_open_of(s, node) });
        return;
    }
    for (unsigned count = s->open_count; count > 0; count--)
        if (memchr(s->open_node, node, s->open_count) != NULL)
            play_event(
                s, (bwl_event){ .kind = BWL_DOWN, .node = node, .tag = oldest_open_of(s, node) });
}

/* "until 9000": the local group grants the lock, with fence 5; "is LOST": it does not, or no
 * longer. */
static inline bool read_waiter_answer(const char *text, bwl_event *ev, bwl_outcome *ret_outcome)
{
    bool is_granted = strncmp(text, "until ", 6) == 0;

    if (!is_granted && strncmp(text, "is ", 3) != 0)
        return false;
    ev->answer         = is_granted ? BWL_YES : BWL_NO;
    ev->details        = ret_outcome;
    ret_outcome->kind  = is_granted ? BWL_HELD : read_kind(text + 3);
    ret_outcome->until = is_granted ? BEGINNING + strtoll(text + 6, NULL, 10) : 0;
    ret_outcome->fence = is_granted ? 5 : 0;
    return true;
}

/* An item after an arrow. */
static inline void replies(stage *s, const char *item)
{
    bwl_event        ev           = { .kind = BWL_REPLY };
    bwl_queue_status queue_status = { 0 };
    bwl_outcome      outcome;
    const char      *value = after(item, "shows ");

    if (is_scripted(s->hold.protocol)) {
        script.outcome = read_outcome(item, s->now, BEGINNING);
        play_event(s, ev);
    } else if (isdigit((unsigned char)item[0]) && item[1] == ' ') {
        one_server_replies(s, item);
    } else if (value != NULL) {
        shows(s, value);
    } else if (strcmp(item, "cut") == 0) {
        for (unsigned count = s->open_count; count > 0; count--)
            play_event(s, (bwl_event){ .kind = BWL_DOWN, .tag = oldest_open(s) });
    } else {
        if (!read_queue_answer(item, &ev, &queue_status) &&
            !read_waiter_answer(item, &ev, &outcome))
            ev.answer = read_answer(item, &ev.number);
        ev.tag = oldest_open(s);
        play_event(s, ev);
    }
}

static inline void pushes(stage *s, const char *what)
{
    bwl_event   ev = { .kind = BWL_PUSH };
    bwl_outcome outcome;

    if (!read_waiter_answer(what, &ev, &outcome))
        ev.answer = read_answer(what, &ev.number);
    play_event(s, ev);
}

static inline void grants(stage *s, const char *fence)
{
    bwl_queue_status queue_status = { .server_us = story_server_us(fence) };

    play_event(s, (bwl_event){ .kind    = BWL_PUSH,
                               .answer  = BWL_YES,
                               .number  = strtoull(fence, NULL, 10),
                               .details = &queue_status });
}

static inline void revokes(stage *s)
{
    bwl_effects fx = { 0 };

    bwl_hold_revoke(&s->hold, s->now, &fx);
    note_effects(s, &fx);
}

/* An input that is not a call of the caller. */
static inline void store_does(stage *s, const char *item)
{
    const char *rest = NULL;

    if ((rest = after(item, "pushes ")) != NULL)
        pushes(s, rest);
    else if ((rest = after(item, "grants ")) != NULL)
        grants(s, rest);
    else if ((rest = after(item, "random ")) != NULL)
        s->random_bits = (uint16_t)strtoul(rest, NULL, 10);
    else if (strcmp(item, "clock rings") == 0)
        play_event(s, (bwl_event){ .kind = BWL_ALARM });
    else if (strcmp(item, "link ends") == 0)
        play_event(s, (bwl_event){ .kind = BWL_DOWN });
    else if (strcmp(item, "store revokes") == 0)
        revokes(s);
    else
        scripted_reads(item, s->now, BEGINNING);
}

static inline void alarms_before(stage *s, bwl_ms end)
{
    for (unsigned i = 0; s->wake_at < end; i++) {
        assert_true(i < ALARMS_MAX);
        if (s->wake_at > s->now)
            s->now = s->wake_at;
        play_event(s, (bwl_event){ .kind = BWL_ALARM });
    }
}

/* ---- playing, comparing ---------------------------------------------------------------------- */

static inline void carries_out(stage *s, const char *item, bool is_reply)
{
    write_item(s, is_reply ? " -> " : "; ", item);
    if (is_reply)
        replies(s, item);
    else if (!caller_reads(s, item) && !caller_does(s, item))
        store_does(s, item);
}

/* Returns the end of the first item of `rest`. */
static inline const char *item_end(const char *rest)
{
    const char *arrow = strstr(rest, " -> ");
    const char *next  = strstr(rest, "; ");

    if (arrow != NULL && (next == NULL || arrow < next))
        return arrow;
    return next != NULL ? next : rest + strlen(rest);
}

/* Plays the story, with the alarms up to its end. */
static inline void perform(stage *s, unsigned nodes, const bwl_protocol *protocol,
                           const bwl_terms *terms, const char *story)
{
    bwl_ms time     = BEGINNING;
    bool   is_reply = false;

    *s = (stage){ .nodes      = nodes,
                  .now        = time,
                  .written_at = time,
                  .wake_at    = BWL_NEVER,
                  .lease_ms   = terms->lease_ms };
    bwl_hold_init(&s->hold, protocol, nodes, terms);
    memset(s->hold.memory, 0xa5, sizeof s->hold.memory); /* a protocol must not rely on it */
    protocol->init(s->hold.memory, nodes);
    for (const char *rest = story; *rest != '\0';) {
        char        item[STORY_ITEM_MAX];
        const char *end = item_end(rest);
        if (*rest == '+') {
            char *after_time = NULL;
            time += strtoll(rest + 1, &after_time, 10);
            rest = after_time + 1;
        }
        assert_true(end >= rest && end - rest < STORY_ITEM_MAX);
        (void)snprintf(item, sizeof item, "%.*s", (int)(end - rest), rest);
        alarms_before(s, time);
        s->now = time;
        if (is_reply || is_input(item))
            carries_out(s, item, is_reply);
        else
            alarms_before(s, time + 1);
        is_reply = *end == ' ';
        rest     = *end == '\0' ? end : end + (is_reply ? 4 : 2);
    }
    alarms_before(s, s->now + 1);
}

typedef struct story {
    const char         *name;
    const bwl_protocol *protocol;
    const bwl_terms    *terms; /* NULL: those of the protocol's article, 10000 ms */
    const char         *text;
} story;

static inline void perform_row(stage *s, const story *row)
{
    const bwl_protocol_options options = { .rules = bwl_protocol_compat_rules(row->protocol) };
    bwl_terms article = TERMS(.lease_ms = 10000, .renews = true, .options = &options);
    unsigned  nodes   = row->protocol != &bwl_redlock             ? 1
                        : strncmp(row->name, "redlock5_", 9) == 0 ? 5
                        : strncmp(row->name, "redlock4_", 9) == 0 ? 4
                                                                  : 3;

    perform(s, nodes, row->protocol, row->terms == NULL ? &article : row->terms, row->text);
}

/* Prints both from the first difference on. */
static inline void compare(const char *expected, const char *written)
{
    size_t same = 0;

    while (expected[same] != '\0' && expected[same] == written[same])
        same++;
    if (expected[same] == written[same])
        return;
    print_error("after: %.*s\n", (int)(same < SHOWN_BEFORE ? same : SHOWN_BEFORE),
                expected + (same < SHOWN_BEFORE ? 0 : same - SHOWN_BEFORE));
    print_error("the story: %s\n", expected + same);
    fail_msg("the actual events: %s", written + same);
}

static inline void play_row(void **state)
{
    static stage s;
    const story *row = *state;

    perform_row(&s, row);
    compare(row->text, s.written);
}
