/*
 * draw.c -- see draw.h.
 *
 * The path is walked once more.  After each step, one row says what happened, and one more for each
 * question that a machine put because of it.
 */
#include "lab/draw.h"
#include "lab/token_number.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { LANE_WIDTH = 24, MARGIN = 11, ROW_MAX = 160, TEXT_MAX = 96 };

typedef struct picture {
    FILE            *out;
    const char      *prefix;
    const bwl_world *before;
    const bwl_world *w;
    bwl_ms           started;
    bwl_ms           last_shown;
    char             row[ROW_MAX + 1];
} picture;

typedef struct text {
    char of[TEXT_MAX];
} text;

__attribute__((format(printf, 1, 2))) static text say(const char *format, ...)
{
    text    said;
    va_list list;

    va_start(list, format);
    (void)vsnprintf(said.of, sizeof said.of, format, list); /* cut short if it must be */
    va_end(list);
    return said;
}

/* ---- words ----------------------------------------------------------------------------------- */

static char client_name(unsigned client)
{
    return (char)('A' + client);
}

static text token_name(uint16_t token)
{
    return say("%c%u", client_name(bwl_token_client(token)), bwl_token_serial(token));
}

static const char *word_name(unsigned word)
{
    switch ((bwl_redis_word)word) {
    case REDIS_SET_IF_ABSENT: return "SET";
    case REDIS_SET_IF_ABSENT_OR_MINE: return "SET-OR-MINE";
    case REDIS_EXTEND_IF_MINE: return "EXTEND";
    case REDIS_DELETE_IF_MINE: return "DELETE";
    case REDIS_SETNX: return "SETNX";
    case REDIS_READ: return "GET";
    case REDIS_SWAP: return "GETSET";
    case REDIS_DELETE: return "DEL";
    case REDIS_EXPIRE: return "EXPIRE";
    case REDIS_EXPIRE_NOW: return "EXPIRE 0";
    case REDIS_READ_EXPIRY: return "TTL";
    case REDIS_WATCH_READ: return "WATCH, GET";
    case REDIS_UNWATCH: return "UNWATCH";
    case REDIS_DELETE_WATCHED: return "MULTI, DEL, EXEC";
    case REDIS_TAKE_STAMP: return "TAKE-STAMP";
    case REDIS_DROP_STAMP: return "DROP-STAMP";
    }
    return "?";
}

static const char *answer_name(unsigned answer)
{
    switch ((bwl_answer)answer) {
    case BWL_YES: return "yes";
    case BWL_NO: return "no";
    case BWL_LATER: return "later";
    case BWL_REFUSED: return "refused";
    case BWL_UNSENT: return "unsent";
    case BWL_ALIEN: return "a stranger's";
    }
    return "?";
}

static const char *state_name(bwl_hold_state state)
{
    switch (state) {
    case BWL_HOLD_IDLE: return "idle";
    case BWL_HOLD_ACQUIRING: return "asks";
    case BWL_HOLD_ABANDONING: return "waits for an answer, cancelled";
    case BWL_HOLD_SETTLING: return "does not know, will ask again";
    case BWL_HOLD_DISCARDING: return "gives back what came too late";
    case BWL_HOLD_WAITING: return "waits";
    case BWL_HOLD_QUEUED: return "is queued";
    case BWL_HOLD_HELD: return "holds";
    case BWL_HOLD_RENEWING: return "renews";
    case BWL_HOLD_RELEASING: return "releases";
    case BWL_HOLD_LEAVING: return "leaves";
    case BWL_HOLD_OVER: return "is done";
    }
    return "?";
}

static text letter_name(const bwl_letter *letter)
{
    return say("%s %s", word_name(letter->word), token_name(letter->token).of);
}

static text key_text(const bwl_model_redis *r)
{
    if (r->owner == 0)
        return say("no key");
    if (r->lasts)
        return say("key %s, for ever", token_name(r->owner).of);
    return say("key %s for %" PRId64 " ms", token_name(r->owner).of, r->left / BWL_MODEL_PER_MS);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static unsigned lane(unsigned i)
{
    return MARGIN + i * LANE_WIDTH;
}

static unsigned server_lane(const picture *p)
{
    return lane(p->w->scenario->clients);
}

static void write_at(picture *p, unsigned column, const char *what)
{
    size_t size = strlen(what);

    if (column >= ROW_MAX)
        return;
    if (size > ROW_MAX - column)
        size = ROW_MAX - column;
    memcpy(p->row + column, what, size);
}

static void begin_row(picture *p)
{
    unsigned clients = p->w->scenario->clients;

    memset(p->row, ' ', ROW_MAX);
    p->row[ROW_MAX] = '\0';
    for (unsigned i = 0; i < clients; i++) {
        const bwl_lab_client *c        = &p->w->clients[i];
        bool                  believes = bwl_world_believes(p->w, i) > 0;
        const char *mark = believes ? "#" : c->is_working ? "!" : c->is_running ? "|" : ":";
        write_at(p, lane(i), mark);
    }
    write_at(p, lane(clients), "|");
    if (p->w->now != p->last_shown)
        write_at(p, 0, say("%6" PRId64, p->w->now - p->started).of);
    p->last_shown = p->w->now;
}

static void end_row(picture *p)
{
    size_t size = ROW_MAX;

    while (size > 0 && p->row[size - 1] == ' ')
        size--;
    p->row[size] = '\0';
    (void)fprintf(p->out, "%s%s\n", p->prefix, p->row);
}

/* An arrow between a client's lane and the server's, with its text in the middle of the first
 * gap. */
static void arrow(picture *p, unsigned client, bool to_server, const char *label)
{
    unsigned from = lane(client) + 1;
    unsigned to   = server_lane(p) - 1;
    size_t   size = strlen(label);

    for (unsigned i = from; i <= to; i++)
        if (p->row[i] == ' ')
            p->row[i] = '-';
    if (to_server)
        p->row[to] = '>';
    else
        p->row[from] = '<';
    if (size + 4 < LANE_WIDTH) {
        unsigned column    = from + (unsigned)(LANE_WIDTH - 1 - size) / 2;
        p->row[column - 1] = ' ';
        write_at(p, column, label);
        p->row[column + size] = ' ';
    }
}

static void note(picture *p, const char *what)
{
    write_at(p, server_lane(p) + 2, what);
}

static void at_lane(picture *p, unsigned client, const char *what)
{
    write_at(p, lane(client) + 2, what);
}

/* What the client has come to, when a step changed it. */
static void note_change(picture *p, unsigned client)
{
    const bwl_lab_client *was  = &p->before->clients[client];
    const bwl_lab_client *is   = &p->w->clients[client];
    bwl_ms                left = bwl_world_believes(p->w, client);
    char                  name = client_name(client);

    if (left > 0 && bwl_world_believes(p->before, client) == 0)
        note(p, say("  <== %c HOLDS, for %" PRId64 " ms", name, left).of);
    else if (left > 0 && is->hold.until != was->hold.until)
        note(p, say("  %c holds for %" PRId64 " ms more", name, left).of);
    else if (was->is_working && !is->is_working)
        note(p, say("  %c works no longer", name).of);
    else if (was->is_running && is->hold.state != was->hold.state)
        note(p, say("  %c %s", name, state_name(is->hold.state)).of);
}

/* The questions that were not there before. */
static void questions(picture *p, unsigned client, unsigned already)
{
    const bwl_lab_client *c = &p->w->clients[client];

    for (unsigned i = already; i < c->letters_count; i++) {
        begin_row(p);
        arrow(p, client, true, letter_name(&c->letters[i]).of);
        end_row(p);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void draw_served(picture *p, bwl_choice choice, bool is_late)
{
    const bwl_lab_client *was    = &p->before->clients[choice.client];
    const bwl_lab_client *is     = &p->w->clients[choice.client];
    const bwl_letter     *letter = is_late ? &was->late[choice.which] : &is->letters[was->answered];

    begin_row(p);
    if (is_late)
        note(p, say("LATE %s; %s", letter_name(letter).of, key_text(&p->w->redis).of).of);
    else
        note(p, say("%s: %s; %s", letter_name(letter).of, answer_name(letter->answer),
                    key_text(&p->w->redis).of)
                    .of);
    end_row(p);
}

static void draw_delivered(picture *p, bwl_choice choice)
{
    const bwl_lab_client *was    = &p->before->clients[choice.client];
    const bwl_letter     *letter = &was->letters[0];

    begin_row(p);
    if (letter->kind == BWL_LETTER_CUT_OFF)
        at_lane(p, choice.client, say("X %s: no answer", letter_name(letter).of).of);
    else if (letter->answer == BWL_UNSENT)
        at_lane(p, choice.client, say("X %s: not sent", letter_name(letter).of).of);
    else
        arrow(p, choice.client, false, answer_name(letter->answer));
    note_change(p, choice.client);
    end_row(p);
    questions(p, choice.client, was->letters_count - 1u);
}

static void draw_local(picture *p, unsigned client, const char *what)
{
    begin_row(p);
    at_lane(p, client, what);
    note_change(p, client);
    end_row(p);
    questions(p, client, p->before->clients[client].letters_count);
}

static void draw_passed(picture *p)
{
    bool has_vanished = p->before->redis.owner != 0 && p->w->redis.owner == 0;

    begin_row(p);
    for (unsigned i = MARGIN - 3; i < server_lane(p); i++)
        if (p->row[i] == ' ')
            p->row[i] = '.';
    note(p, say("%" PRId64 " ms pass%s", p->w->now - p->before->now,
                has_vanished ? "; the key vanishes" : "")
                .of);
    end_row(p);
}

static void draw_server_row(picture *p, const char *what)
{
    begin_row(p);
    note(p, say("%s; %s", what, key_text(&p->w->redis).of).of);
    end_row(p);
}

static void draw_step(picture *p, bwl_choice choice)
{
    unsigned client = choice.client;

    switch ((bwl_choice_kind)choice.kind) {
    case BWL_CHOICE_SERVE: draw_served(p, choice, false); break;
    case BWL_CHOICE_SERVE_LATE: draw_served(p, choice, true); break;
    case BWL_CHOICE_DELIVER: draw_delivered(p, choice); break;
    case BWL_CHOICE_ALARM: draw_local(p, client, "alarm"); break;
    case BWL_CHOICE_START: draw_local(p, client, "acquire"); break;
    case BWL_CHOICE_RELEASE: draw_local(p, client, "release"); break;
    case BWL_CHOICE_EXTEND: draw_local(p, client, "extend"); break;
    case BWL_CHOICE_CANCEL: draw_local(p, client, "cancel"); break;
    case BWL_CHOICE_PASS: draw_passed(p); break;
    case BWL_CHOICE_BREAK: draw_local(p, client, "connection breaks"); break;
    case BWL_CHOICE_STOP_WAITING: draw_local(p, client, "waits no longer"); break;
    case BWL_CHOICE_CRASH: draw_local(p, client, "CRASHES"); break;
    case BWL_CHOICE_RESTART: draw_server_row(p, "RESTARTS, empty"); break;
    case BWL_CHOICE_JUMP: draw_server_row(p, "its CLOCK STEPS"); break;
    }
}

static void draw_head(picture *p)
{
    memset(p->row, ' ', ROW_MAX);
    write_at(p, 4, "ms");
    for (unsigned i = 0; i < p->w->scenario->clients; i++)
        write_at(p, lane(i), (char[]){ client_name(i), '\0' });
    write_at(p, server_lane(p), "redis");
    end_row(p);
}

void bwl_draw(FILE *out, const char *prefix, const bwl_scenario *s, const bwl_finding *found)
{
    bwl_world before;
    bwl_world w;
    picture   p = { .out = out, .prefix = prefix, .before = &before, .w = &w };

    assert(found->verdict == BWL_BROKEN);
    bwl_world_start(&w, s);
    p.started    = w.now;
    p.last_shown = w.now - 1;
    draw_head(&p);
    for (unsigned i = 0; i < found->path_count; i++) {
        before = w;
        bwl_world_perform(&w, found->path[i]);
        draw_step(&p, found->path[i]);
    }
    (void)fprintf(out, "%s=> broken in %u steps: %s: %s.\n", prefix, found->path_count,
                  bwl_law_label(found->broken), bwl_law_sentence(found->broken));
}
