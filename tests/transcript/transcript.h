/*
 * transcript.h -- timed golden transcripts of a hold on a protocol: a story, played and compared.
 *
 * A story is a text, one line per thing that happens, each with its time in milliseconds:
 *
 *      [    0] caller acquires, for 1000
 *      [    0] asks SET_IF_ABSENT as A for 30000
 *      [    3] server says yes
 *      [    3] HELD until 29698
 *
 * Lines of the caller, the server, the link and of chance are what the world does: they are carried
 * out.  All other lines are what the hold must do upon that.  Time passes as the story says, and
 * whenever the hold wished for an alarm it gets one at exactly that time; at the same time as a
 * line of the world, after it.  All that was done is written down in the same words, and the two
 * texts must agree line by line.
 *
 *      caller   acquires, once | acquires, for N | acquires, for ever | extends to N | releases |
 *               yields, for N | cancels | is out of time | gives back (what it has lost) |
 *               looks | looks truly | asks when (it is told at the latest)
 *      server   says yes|no|later|refused [N] (to the oldest open question; N: a number with it) |
 *               pushes yes|no [N]
 *      store    disowns (it can vouch no longer for what it gave)
 *      link     cuts (every open question) | sends nothing (the oldest never left)
 *      chance   N (the bits that choose a pause, from here on; 0 at first: the shortest pause)
 *
 *      server   shows N [mine] (a value with that stamp) | a stranger's | says no expiry
 *
 * Stamps are counted from the time of day at 0, in the unit of the rules: "asks SETNX of 10001".
 *
 * Of locks with a queue, see queue_story.h; of the lock machine alone, scripted.h.  Of the threads
 * of one client: server says turn N (until then), is KIND.
 *
 * Of locks on several servers (three; five where the name begins with "redlock5_"): "asks all X",
 * "asks 2 X"; server 2 says yes, server 2 goes away (which cuts what it was asked), each about the
 * oldest open question of that server.
 *
 * Tokens are called A, B, C ... in the order in which they come up.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include "compare_story.h"
#include "queue_story.h"
#include "scripted.h"

#include "core/compat_rules.h"
#include "lock/machine.h"
#include "protocol/protocol.h"
#include "protocol/store/local.h"
#include "protocol/store/redis.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    BEGINNING      = 1000000, /* what the hold's clock shows when the story's shows 0 */
    STORY_LINE_MAX = 100,
    WRITTEN_MAX    = 32768,
    OPEN_MAX       = 64,
    TOKENS_MAX     = 26,
    ALARMS_MAX     = 1000, /* more than that at one time, and time stands still */
};

#define BEGINNING_WALL_NS (INT64_C(1700000000) * 1000000000) /* and the time of day */

static const bwl_terms usual_terms = {
    .lease_ms = 30000, .max_hold_ms = BWL_NEVER, .answer_ms = 5000, .renews = true
};

static const bwl_terms without_renewal = { .lease_ms    = 30000,
                                           .max_hold_ms = BWL_NEVER,
                                           .answer_ms   = 5000 };

static const bwl_terms ending_after_45_s = {
    .lease_ms = 30000, .max_hold_ms = 45000, .answer_ms = 5000, .renews = true
};

typedef struct stage {
    bwl_hold hold;
    bwl_ms   now;
    bwl_ms   wake_at;
    bool     over;
    uint16_t chance;
    uint8_t  turn;
    unsigned nodes;
    uint32_t open[OPEN_MAX]; /* tags of questions without an answer, oldest first */
    uint8_t  open_node[OPEN_MAX];
    unsigned open_count;
    char     tokens[TOKENS_MAX][BWL_TOKEN_MAX + 1];
    unsigned tokens_count;
    char     written[WRITTEN_MAX];
    size_t   size;
} stage;

/* ---- writing down ---------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static inline void note(stage *s, const char *format, ...)
{
    char    text[STORY_LINE_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_true(s->size + STORY_LINE_MAX + 10 < WRITTEN_MAX);
    s->size += (size_t)snprintf(s->written + s->size, WRITTEN_MAX - s->size, "[%5lld] %s\n",
                                (long long)(s->now - BEGINNING), text);
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

static inline bwl_moment moment(const stage *s)
{
    int64_t wall_ns = BEGINNING_WALL_NS + (s->now - BEGINNING) * 1000000;

    return (bwl_moment){ .now = s->now, .wall_ns = s->hold.protocol->uses_wall ? wall_ns : 0 };
}

/* The stamp at the beginning. */
static inline int64_t stamp_zero(const stage *s)
{
    const bwl_compat_rules *rules = s->hold.request.rules;

    return rules != NULL && rules->unit_ns != 0 ? BEGINNING_WALL_NS / rules->unit_ns : 0;
}

/* The words of other people's locks. */
static inline void note_foreign_ask(stage *s, const bwl_send *send)
{
    static const char *const words[] = {
        "SETNX",          "READ",           "SWAP",           "DELETE",     "EXPIRE",
        "EXPIRE_NOW",     "READ_EXPIRY",    "FIND_NO_EXPIRY", "WATCH_READ", "UNWATCH",
        "DELETE_WATCHED", "TAKE_TIMESTAMP", "DROP_TIMESTAMP",
    };

    assert_in_range(send->command, REDIS_SETNX, REDIS_DROP_TIMESTAMP);
    if (send->timestamp != 0)
        note(s, "asks %s of %lld", words[send->command - REDIS_SETNX],
             (long long)(send->timestamp - stamp_zero(s)));
    else
        note(s, "asks %s", words[send->command - REDIS_SETNX]);
}

static inline void note_ask(stage *s, const bwl_send *send, bool is_to_all)
{
    unsigned                 command = send->command;
    char                     whom[8] = "";
    static const char *const local[] = { "?", "JOIN", "JOIN_OR_LEAVE", "TRY", "LEAVE" };
    static const char *const redis[] = { "?", "SET_IF_ABSENT", "SET_IF_ABSENT_OR_MINE",
                                         "EXTEND_IF_MINE", "DELETE_IF_MINE" };

    if (command >= REDIS_QUEUE_TAKE && command <= REDIS_QUEUE_REQUEUE) {
        char text[STORY_LINE_MAX];
        char token = send->uses_previous_token ? letter_of(s, s->hold.request.previous_token)
                                               : token_letter(s);
        queue_ask_text(text, sizeof text, send, token, s->hold.request.lease_ms);
        note(s, "%s", text);
        return;
    }
    if (s->hold.protocol == &bwl_local_waiter_protocol) {
        static const char *const seat[] = { "?", "ENQUEUE", "EXTEND", "LEAVE" };
        note(s, "asks %s", seat[command]);
        return;
    }
    if (command >= REDIS_HASH_TAKE && command <= REDIS_ZSET_RELEASE) {
        static const char *const kind[] = { "TAKE", "EXTEND", "RELEASE" };
        assert_int_equal(send->timestamp, 0);
        note(s, "asks %s_%s as %c for %lld", command < REDIS_ZSET_TAKE ? "HASH" : "ZSET",
             kind[(command - REDIS_HASH_TAKE) % 3], token_letter(s),
             (long long)s->hold.request.lease_ms);
        return;
    }
    if (command == REDIS_REPLICATED) {
        note(s, "asks REPLICATED by %lld in %lld", (long long)send->timestamp,
             (long long)send->provisional_ttl_ms);
        return;
    }
    if (s->hold.protocol != &bwl_ticket && command > REDIS_DELETE_IF_MINE) {
        note_foreign_ask(s, send);
        return;
    }
    if (is_scripted(s->hold.protocol)) {
        char text[STORY_LINE_MAX];
        char token = token_letter(s);
        char previous_token =
            script.cmd.yields ? letter_of(s, s->hold.request.previous_token) : '?';
        scripted_ask_text(text, sizeof text, token, previous_token, s->hold.request.lease_ms);
        note(s, "%s", text);
        return;
    }
    assert_in_range(command, 1, 4);
    if (is_to_all)
        (void)snprintf(whom, sizeof whom, "all ");
    else if (s->nodes > 1)
        (void)snprintf(whom, sizeof whom, "%u ", send->node + 1u);
    if (s->hold.protocol == &bwl_ticket)
        note(s, "asks %s", local[command]);
    else if (command == REDIS_DELETE_IF_MINE)
        note(s, "asks %s%s as %c", whom, redis[command], token_letter(s));
    else
        note(s, "asks %s%s as %c for %lld", whom, redis[command], token_letter(s),
             (long long)s->hold.request.lease_ms);
}

static inline void note_outcome(stage *s, const bwl_outcome *out)
{
    static const char *const names[] = {
        "",        "HELD",          "QUEUED",      "BUSY", "FULL",
        "NOT_NOW", "STORE_REFUSED", "UNREACHABLE", "LOST", "RELEASED",
        "UNKNOWN", "TIMED_OUT",     "CANCELLED",
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

/* Do the questions from `first` on ask every server the same? */
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

/* Everything that one step of the hold brought about. */
static inline void note_effects(stage *s, const bwl_effects *fx)
{
    for (unsigned i = 0; i < fx->send_count; i++) {
        bool is_to_all = is_run_to_all(s, fx, i - i % s->nodes);
        assert_true(s->open_count < OPEN_MAX);
        s->open_node[s->open_count] = fx->sends[i].node;
        s->open[s->open_count++]    = fx->sends[i].tag;
        if (!is_to_all || i % s->nodes == 0)
            note_ask(s, &fx->sends[i], is_to_all);
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

/* ---- what the world does --------------------------------------------------------------------- */

static inline bwl_random fresh(stage *s)
{
    return (bwl_random){ { (uint8_t)(s->chance >> 8), (uint8_t)(s->chance & 255), ++s->turn } };
}

static inline void happens(stage *s, bwl_event ev)
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
    note(s, "(no question is open)"); /* which no story says: the comparison shows it */
    return 0;
}

static inline uint32_t oldest_open(stage *s)
{
    return oldest_open_of(s, 0);
}

/* "yes 7" -> YES and 7; 0 if it is no answer. */
static inline bwl_answer read_answer(const char *text, uint64_t *ret_number)
{
    static const char *const words[] = { "?", "yes", "no", "later", "refused" };

    *ret_number = 0;
    if (strcmp(text, "unsent") == 0)
        return BWL_NOT_SENT;
    if (strcmp(text, "no expiry") == 0) {
        *ret_number = REDIS_NO_EXPIRY;
        return BWL_YES;
    }
    for (unsigned i = BWL_YES; i <= BWL_REFUSED; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(text, words[i], length) == 0) {
            *ret_number = strtoull(text + length, NULL, 10);
            return (bwl_answer)i;
        }
    }
    fail_msg("\"%s\" is no answer", text);
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

static inline void yields(stage *s, bwl_ms wait_ms, bwl_effects *ret_fx)
{
    bwl_random random = fresh(s);

    bwl_hold_yield(&s->hold, &random, moment(s), s->now + wait_ms, ret_fx);
}

static inline void note_moment(stage *s, const char *what, bwl_ms at)
{
    if (at == BWL_NEVER)
        note(s, "%s never", what);
    else
        note(s, "%s %lld", what, (long long)(at - BEGINNING));
}

static inline void caller_does(stage *s, const char *what)
{
    bwl_effects fx = { 0 };

    if (strncmp(what, "acquires, ", 10) == 0) {
        acquires(s, what + 10);
    } else if (strcmp(what, "looks") == 0) {
        bwl_ms left = bwl_hold_left(&s->hold, s->now);
        note(s, left == BWL_NEVER ? "no end" : "%lld left", (long long)left);
        if (s->hold.last_error != BWL_PENDING && bwl_hold_is_held(&s->hold))
            note(s, "trouble %s", scripted_kinds[s->hold.last_error]);
    } else if (strcmp(what, "looks truly") == 0) {
        bwl_ms left = bwl_hold_left_truly(&s->hold, s->now);
        note(s, left == BWL_NEVER ? "truly no end" : "truly %lld left", (long long)left);
    } else if (strcmp(what, "asks when") == 0) {
        note_moment(s, "told by", bwl_hold_result_deadline(&s->hold));
        note_moment(s, "unsent by", bwl_hold_send_deadline(&s->hold));
    } else {
        if (strcmp(what, "gives back") == 0)
            bwl_hold_give_back(&s->hold, moment(s), &fx);
        else if (strcmp(what, "is out of time") == 0)
            bwl_hold_time_up(&s->hold, s->now, &fx);
        else if (strcmp(what, "cancels") == 0 ? !bwl_hold_is_acquiring(&s->hold)
                                              : !bwl_hold_is_held(&s->hold))
            note(s, "(the hold is in state %d)", (int)s->hold.state);
        else if (strncmp(what, "extends to ", 11) == 0)
            bwl_hold_extend(&s->hold, s->now, strtoll(what + 11, NULL, 10), &fx);
        else if (strncmp(what, "yields, for ", 12) == 0)
            yields(s, strtoll(what + 12, NULL, 10), &fx);
        else if (strcmp(what, "releases") == 0)
            bwl_hold_release(&s->hold, moment(s), &fx);
        else if (strcmp(what, "cancels") == 0)
            bwl_hold_cancel(&s->hold, s->now, &fx);
        else
            fail_msg("the caller cannot do \"%s\"", what);
        if (strncmp(what, "extends", 7) != 0)
            assert_false(bwl_hold_is_held(&s->hold)); /* at once, and not at the next alarm */
        if (fx.wake_at != 0)
            note_effects(s, &fx);
    }
}

/* A value: its print is its stamp, plus one; "12 in other bytes" has another one. */
static inline void shows(stage *s, const char *what)
{
    char     *rest = NULL;
    bwl_event ev   = { .kind = BWL_REPLY, .tag = oldest_open(s), .answer = BWL_YES };

    ev.number     = (uint64_t)(strtoll(what, &rest, 10) + stamp_zero(s));
    ev.value_hash = ev.number + 1;
    ev.is_mine    = strcmp(rest, " mine") == 0;
    if (strcmp(rest, " in other bytes") == 0)
        ev.value_hash = ~ev.value_hash;
    if (rest == what)
        ev = (bwl_event){ .kind = BWL_REPLY, .tag = ev.tag, .answer = BWL_FOREIGN_VALUE };
    happens(s, ev);
}

/* "2 says yes", "2 goes away": one of several servers. */
static inline void server_does(stage *s, const char *what)
{
    char    *rest = NULL;
    uint8_t  node = (uint8_t)(strtoul(what, &rest, 10) - 1);
    uint64_t number;

    assert_true(node < s->nodes);
    if (strcmp(rest, " goes away") != 0) {
        assert_int_equal(strncmp(rest, " says ", 6), 0);
        bwl_answer answer = read_answer(rest + 6, &number);
        happens(s, (bwl_event){ .kind   = BWL_REPLY,
                                .node   = node,
                                .answer = answer,
                                .tag    = oldest_open_of(s, node) });
        return;
    }
    for (unsigned count = s->open_count; count > 0; count--)
        if (memchr(s->open_node, node, s->open_count) != NULL)
            happens(s,
                    (bwl_event){ .kind = BWL_DOWN, .node = node, .tag = oldest_open_of(s, node) });
}

/* "turn 9000": the local group gives the lock, with fence 5; "is LOST": it does not, or not any
 * more. */
static inline bool read_waiter_answer(const char *text, bwl_event *ev)
{
    if (strncmp(text, "turn ", 5) == 0) {
        ev->answer = BWL_YES;
        ev->number = 5;
        ev->until  = BEGINNING + strtoll(text + 5, NULL, 10);
    } else if (strncmp(text, "is ", 3) == 0) {
        ev->answer = BWL_NO;
        ev->number = read_kind(text + 3);
    } else {
        return false;
    }
    return true;
}

/* True if the line is of the world, which is then carried out. */
static inline bool world_does(stage *s, const char *line)
{
    bwl_event        ev           = { 0 };
    bwl_queue_status queue_status = { 0 };

    if (strncmp(line, "caller ", 7) == 0) {
        note(s, "%s", line);
        caller_does(s, line + 7);
    } else if (strncmp(line, "server ", 7) == 0 && isdigit((unsigned char)line[7])) {
        note(s, "%s", line);
        server_does(s, line + 7);
    } else if (strncmp(line, "server says ", 12) == 0) {
        note(s, "%s", line);
        ev.kind = BWL_REPLY;
        if (!read_queue_answer(line + 12, &ev, &queue_status) &&
            !read_waiter_answer(line + 12, &ev))
            ev.answer = read_answer(line + 12, &ev.number);
        ev.tag = oldest_open(s);
        happens(s, ev);
    } else if (strncmp(line, "server shows ", 13) == 0) {
        note(s, "%s", line);
        shows(s, line + 13);
    } else if (strncmp(line, "server pushes ", 14) == 0) {
        note(s, "%s", line);
        ev.kind = BWL_PUSH;
        if (!read_waiter_answer(line + 14, &ev))
            ev.answer = read_answer(line + 14, &ev.number);
        happens(s, ev);
    } else if (strncmp(line, "server gives ", 13) == 0) {
        note(s, "%s", line);
        queue_status.server_us = story_server_us(line);
        happens(s, (bwl_event){ .kind         = BWL_PUSH,
                                .answer       = BWL_YES,
                                .number       = strtoull(line + 13, NULL, 10),
                                .queue_status = &queue_status });
    } else if (strcmp(line, "clock rings") == 0) {
        note(s, "%s", line);
        happens(s, (bwl_event){ .kind = BWL_ALARM });
    } else if (strncmp(line, "protocol ", 9) == 0) {
        note(s, "%s", line);
        if (scripted_reads(line + 9, s->now, BEGINNING, &ev))
            happens(s, ev);
    } else if (strcmp(line, "link ends") == 0) {
        note(s, "%s", line);
        happens(s, (bwl_event){ .kind = BWL_DOWN });
    } else if (strcmp(line, "store disowns") == 0) {
        bwl_effects fx = { 0 };
        note(s, "%s", line);
        bwl_hold_revoke(&s->hold, s->now, &fx);
        note_effects(s, &fx);
    } else if (strcmp(line, "link sends nothing") == 0) {
        note(s, "%s", line);
        happens(s, (bwl_event){ .kind = BWL_REPLY, .answer = BWL_NOT_SENT, .tag = oldest_open(s) });
    } else if (strcmp(line, "link cuts") == 0) {
        note(s, "%s", line);
        for (unsigned count = s->open_count; count > 0; count--)
            happens(s, (bwl_event){ .kind = BWL_DOWN, .tag = oldest_open(s) });
    } else if (strncmp(line, "chance ", 7) == 0) {
        note(s, "%s", line);
        s->chance = (uint16_t)strtoul(line + 7, NULL, 10);
    } else {
        return false;
    }
    return true;
}

static inline void alarms_before(stage *s, bwl_ms end)
{
    for (unsigned i = 0; s->wake_at < end; i++) {
        assert_true(i < ALARMS_MAX);
        if (s->wake_at > s->now)
            s->now = s->wake_at;
        happens(s, (bwl_event){ .kind = BWL_ALARM });
    }
}

/* ---- playing, comparing ---------------------------------------------------------------------- */

/* Carries out the lines of the world, and what the clock brings up to the last line. */
static inline void perform(stage *s, unsigned nodes, const bwl_protocol *protocol,
                           const bwl_terms *terms, const char *story)
{
    *s = (stage){ .nodes = nodes, .now = BEGINNING, .wake_at = BWL_NEVER };
    bwl_hold_init(&s->hold, protocol, nodes, terms);
    memset(s->hold.memory, 0xa5, sizeof s->hold.memory); /* which a protocol must not rely on */
    protocol->init(s->hold.memory, nodes);
    for (const char *at = story; *at != '\0';) {
        char  line[STORY_LINE_MAX] = "";
        char *rest                 = NULL;
        assert_true(line_length(at) < STORY_LINE_MAX);
        memcpy(line, at, line_length(at));
        assert_int_equal(line[0], '[');
        bwl_ms time = BEGINNING + strtoll(line + 1, &rest, 10);
        assert_true(strncmp(rest, "] ", 2) == 0);
        assert_true(time >= s->now);
        alarms_before(s, time);
        s->now = time;
        if (!world_does(s, rest + 2))
            alarms_before(s, time + 1);
        at += line_length(at);
        at += *at == '\n';
    }
    alarms_before(s, s->now + 1);
}

typedef struct story {
    const char         *name;
    const bwl_protocol *protocol;
    const bwl_terms    *terms; /* NULL: those of the protocol's article, 10000 ms */
    const char         *text;
} story;

enum { STORIES_MAX = 160 };

static inline void perform_row(stage *s, const story *row)
{
    bwl_terms article = { .lease_ms    = 10000,
                          .max_hold_ms = BWL_NEVER,
                          .answer_ms   = 5000,
                          .renews      = true,
                          .rules       = bwl_protocol_compat_rules(row->protocol) };

    unsigned nodes = row->protocol != &bwl_redlock             ? 1
                     : strncmp(row->name, "redlock5_", 9) == 0 ? 5
                     : strncmp(row->name, "redlock4_", 9) == 0 ? 4
                                                               : 3;

    perform(s, nodes, row->protocol, row->terms == NULL ? &article : row->terms, row->text);
}

/* Fails at the first line that is not as the story says. */
static inline void play_row(void **state)
{
    static stage s;
    const story *row = *state;

    perform_row(&s, row);
    compare(row->text, s.written);
}

/* Adds a test for each row. */
static inline size_t add_stories(struct CMUnitTest *tests, const story *stories, size_t count)
{
    assert_in_range(count, 1, STORIES_MAX);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){ stories[i].name, play_row, NULL, NULL,
                                        (void *)(uintptr_t)&stories[i] };
    return count;
}

static inline int play_all(const story *stories, size_t count)
{
    struct CMUnitTest tests[STORIES_MAX];

    return _cmocka_run_group_tests("stories", tests, add_stories(tests, stories, count), NULL,
                                   NULL);
}

#define PLAY_ALL(stories) play_all(stories, sizeof(stories) / sizeof(stories)[0])

#endif
