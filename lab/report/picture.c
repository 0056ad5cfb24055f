/*
 * picture.c -- replays a schedule and records its rows.  See picture.h.
 */
#include "lab/report/picture.h"
#include "lab/base/lang.h"
#include "lab/base/memory.h"
#include "lab/report/clocks.h"
#include "lab/report/names.h"
#include <inttypes.h>
#include <stdlib.h>

typedef struct walk {
    bwl_picture     *picture;
    const bwl_world *before;
    const bwl_world *w;
    bwl_ms           started;
    unsigned         step;
    int              push_row[BWL_CLIENTS_MAX]; /* the row of the push to it */
    bwl_clock_past   past[BWL_CLIENTS_MAX];
} walk;

_Static_assert(BWL_CLIENTS_MAX <= (unsigned)BWL_LANES_MAX, "a lane for each client");

static bwl_lane lane_of(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    if (bwl_world_believes(w, client) > 0)
        return BWL_LANE_BELIEVES;
    if (c->caller.is_working)
        return BWL_LANE_OVERTIME;
    return c->is_running ? BWL_LANE_BUSY : BWL_LANE_IDLE;
}

static bwl_row *add(walk *k, bwl_row_kind kind, unsigned client)
{
    bwl_picture *p   = k->picture;
    bwl_row     *row = bwl_picture_add(p, (bwl_row){
                                              .kind   = kind,
                                              .step   = k->step,
                                              .client = client,
                                              .at     = k->w->now - k->started,
                                              .from   = BWL_NO_ROW,
                                      });

    for (unsigned i = 0; i < p->clients; i++)
        row->lanes[i] = lane_of(k->w, i);
    return row;
}

/* True if the step gives it the lock. */
static bool gets_lock(const walk *k, unsigned client)
{
    return bwl_world_believes(k->w, client) > 0 && bwl_world_believes(k->before, client) == 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bwl_text change_of(const walk *k, unsigned client)
{
    const bwl_lab_client *was  = &k->before->clients[client];
    const bwl_lab_client *is   = &k->w->clients[client];
    bwl_ms                left = bwl_world_believes(k->w, client);
    char                  name = bwl_client_name(client);

    if (left == BWL_NEVER && gets_lock(k, client))
        return bwl_say("%c HOLDS, without an end", name);
    if (gets_lock(k, client))
        return bwl_say("%c HOLDS, for %" PRId64 " ms", name, left);
    if (left > 0 && left != BWL_NEVER && is->hold.until != was->hold.until)
        return bwl_say("%c holds for %" PRId64 " ms more", name, left);
    if (was->caller.is_working && !is->caller.is_working)
        return bwl_say("%c works no longer", name);
    if (was->is_running && is->hold.state != was->hold.state)
        return bwl_say("%c %s", name, bwl_hold_state_name(is->hold.state));
    return bwl_say("%s", "");
}

/* ---- the rows of a message ------------------------------------------------------------------- */

static const bwl_link *link_of(const bwl_world *w, bwl_transition transition)
{
    return &w->servers[transition.server].links[transition.client];
}

static bool is_about(const bwl_row *row, bwl_transition transition, const bwl_message *message)
{
    return row->client == transition.client && row->server == transition.server &&
           row->tag == message->tag && row->round == message->round;
}

/* The last row with its request; or with its execution. */
static int row_of(const bwl_picture *p, bwl_transition transition, const bwl_message *message,
                  bool is_executed)
{
    for (size_t i = p->rows_count; i-- > 0;) {
        const bwl_row *row        = &p->rows[i];
        bool           is_ask     = row->kind == BWL_ROW_ASK;
        bool           has_effect = is_ask && row->effect.of[0] != '\0';
        if ((is_executed ? has_effect || row->kind == BWL_ROW_SERVED : is_ask) &&
            is_about(row, transition, message))
            return (int)i;
    }
    return BWL_NO_ROW;
}

static void mark(bwl_row *row, unsigned server, const bwl_message *message)
{
    row->server = server;
    row->tag    = message->tag;
    row->round  = message->round;
}

/* Adds the server's number if there are several: "2: ". */
static bwl_text at_server(const bwl_world *w, unsigned server, bwl_text what)
{
    return w->scenario->servers == 1 ? what : bwl_say("%u: %s", server + 1, what.of);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static unsigned already(const walk *k, unsigned client, unsigned server, unsigned gone)
{
    unsigned before = k->before->servers[server].links[client].count - gone;
    unsigned count  = k->w->servers[server].links[client].count;

    return before < count ? before : count;
}

static bool asks_more(const walk *k, unsigned client)
{
    for (unsigned i = 0; i < k->w->scenario->servers; i++) {
        const bwl_link *link = &k->w->servers[i].links[client];
        if (link->count > already(k, client, i, 0) &&
            link->messages[link->count - 1].kind == BWL_MESSAGE_REQUEST)
            return true;
    }
    return false;
}

/* Adds the new requests to all servers.  The first one shares a row with its cause. */
static void add_questions(walk *k, bwl_transition transition, unsigned gone, bwl_text cause)
{
    for (unsigned server = 0; server < k->w->scenario->servers; server++) {
        const bwl_link *link = &k->w->servers[server].links[transition.client];
        unsigned        first =
            already(k, transition.client, server, server == transition.server ? gone : 0);
        for (unsigned i = first; i < link->count; i++) {
            if (link->messages[i].kind != BWL_MESSAGE_REQUEST)
                continue; /* a CUT_OFF message */
            bwl_row *row = add(k, BWL_ROW_ASK, transition.client);
            mark(row, server, &link->messages[i]);
            if (link->messages[i].command == REDIS_SETNX)
                k->past[transition.client].started_ns = bwl_world_wall_ns(k->w, transition.client);
            row->what  = at_server(k->w, server, bwl_message_name(k->w, &link->messages[i]));
            row->cause = cause;
            cause      = bwl_say("%s", "");
        }
    }
}

static void add_local(walk *k, bwl_transition transition, bwl_text what, bool is_bad)
{
    unsigned client = transition.client;
    bwl_text note   = change_of(k, client);
    bool     tells  = bwl_world_believes(k->before, client) != bwl_world_believes(k->w, client);
    bwl_row *row;

    if (asks_more(k, client) && !is_bad && !tells) {
        add_questions(k, transition, 0, what);
        return;
    }
    row          = add(k, BWL_ROW_CLIENT, client);
    row->what    = what;
    row->note    = note;
    row->is_held = gets_lock(k, client);
    row->is_bad  = is_bad;
    if (transition.kind == BWL_TRANSITION_STEP_WALL)
        row->clock = bwl_clock_step_words(k->w, client);
    add_questions(k, transition, 0, bwl_say("%s", ""));
}

static unsigned pushes_of(const bwl_world *w, unsigned client)
{
    const bwl_link *link  = &w->servers[BWL_ONLY].links[client];
    unsigned        count = 0;

    for (unsigned i = 0; i < link->count; i++)
        count += link->messages[i].kind == BWL_MESSAGE_PUSH;
    return count;
}

static bwl_text push_to(walk *k, int row)
{
    bwl_text who = bwl_say("%s", "");

    for (unsigned i = 0; i < k->picture->clients; i++)
        if (pushes_of(k->w, i) > pushes_of(k->before, i)) {
            k->push_row[i] = row;
            who            = bwl_say(", %c is notified", bwl_client_name(i));
        }
    return who;
}

static void add_pushed(walk *k, bwl_transition transition)
{
    bwl_row *row = add(k, BWL_ROW_ANSWER, transition.client);

    row->what    = bwl_say("push");
    row->from    = k->push_row[transition.client];
    row->note    = change_of(k, transition.client);
    row->is_held = gets_lock(k, transition.client);
    add_questions(k, transition, 1, bwl_say("%s", ""));
}

static void add_served(walk *k, bwl_transition transition)
{
    const bwl_link    *was     = link_of(k->before, transition);
    const bwl_message *before  = &was->messages[was->answered];
    const bwl_message *message = &link_of(k->w, transition)->messages[was->answered];
    bwl_picture       *p       = k->picture;
    int                asked   = row_of(p, transition, before, false);
    bool               is_heard =
        link_of(k->w, transition)->answered > was->answered; /* or makes no difference */
    bwl_text effect = bwl_key_name(k->w);
    bwl_row *row;

    if (is_heard)
        effect = bwl_say("%s; %s", bwl_reply_name(k->w, message).of, effect.of);
    if (asked != BWL_NO_ROW && (size_t)asked + 1 == p->rows_count && transition.which == 0 &&
        p->rows[asked].effect.of[0] == '\0') {
        p->rows[asked].effect = bwl_say("%s%s", effect.of, push_to(k, asked).of);
        return;
    }
    row         = add(k, BWL_ROW_SERVED, transition.client);
    row->from   = asked;
    row->what   = at_server(k->w, transition.server, bwl_message_name(k->w, before));
    row->effect = bwl_say("%s%s", effect.of, push_to(k, (int)p->rows_count - 1).of);
    row->is_bad = transition.which != 0;
    mark(row, transition.server, before);
}

static void add_served_late(walk *k, bwl_transition transition)
{
    const bwl_message *message = &link_of(k->before, transition)->late[transition.which];
    bwl_row           *row     = add(k, BWL_ROW_SERVED, transition.client);

    row->from = row_of(k->picture, transition, message, false);
    row->what = at_server(k->w, transition.server, bwl_message_name(k->w, message));
    row->effect =
        bwl_say("%s%s", bwl_key_name(k->w).of, push_to(k, (int)k->picture->rows_count - 1).of);
    row->is_late = true;
    mark(row, transition.server, message);
}

static void add_delivered(walk *k, bwl_transition transition, bwl_text what)
{
    const bwl_message *message = &link_of(k->before, transition)->messages[0];
    bool     is_answer = message->kind == BWL_MESSAGE_ANSWER && message->answer != BWL_NOT_SENT;
    int      served    = row_of(k->picture, transition, message, true);
    bwl_row *row       = add(k, is_answer ? BWL_ROW_ANSWER : BWL_ROW_CLIENT, transition.client);
    bwl_text answer    = bwl_reply_name(k->w, message);

    row->what    = at_server(k->w, transition.server, is_answer ? answer : what);
    row->from    = served;
    row->is_bad  = !is_answer;
    row->note    = change_of(k, transition.client);
    row->clock   = bwl_clock_decision_words(k->before, transition.client, message,
                                            &k->past[transition.client]);
    row->is_held = gets_lock(k, transition.client);
    if (message->command == REDIS_READ)
        k->past[transition.client].shown = message->answer == BWL_YES ? message->timestamp : 0;
    mark(row, transition.server, message);
    add_questions(k, transition, 1, bwl_say("%s", ""));
}

static void add_passed(walk *k, bwl_text what)
{
    bwl_row *row         = add(k, BWL_ROW_TIME, 0);
    bool     is_vanished = false;

    for (unsigned i = 0; i < k->w->scenario->servers; i++)
        is_vanished = is_vanished || (bwl_model_owner(&k->before->servers[i].redis) != 0 &&
                                      bwl_model_owner(&k->w->servers[i].redis) == 0);
    row->what = what;
    if (is_vanished)
        row->effect =
            k->w->scenario->servers == 1 ? bwl_say("the key vanishes") : bwl_key_name(k->w);
    row->is_bad = bwl_world_is_urgent(k->before);
}

static void add_server(walk *k, bwl_transition transition, bwl_text what, bool is_bad)
{
    bwl_row *row = add(k, BWL_ROW_SERVER, 0);

    row->what   = at_server(k->w, transition.server, what);
    row->effect = bwl_key_name(k->w);
    row->is_bad = is_bad;
    if (transition.kind == BWL_TRANSITION_JUMP)
        row->clock = at_server(k->w, transition.server,
                               bwl_server_clock_step_words(k->w, transition.server));
}

static void add_other(walk *k, bwl_transition transition, bwl_text what)
{
    if (transition.kind == BWL_TRANSITION_SERVE)
        add_served(k, transition);
    else if (transition.kind == BWL_TRANSITION_SERVE_LATE)
        add_served_late(k, transition);
    else if (transition.kind == BWL_TRANSITION_PASS)
        add_passed(k, what);
    else if (link_of(k->before, transition)->messages[0].kind == BWL_MESSAGE_PUSH)
        add_pushed(k, transition);
    else
        add_delivered(k, transition, what);
}

static void add_step(walk *k, bwl_transition transition)
{
    bwl_text what = bwl_transition_words(k->before, transition);

    switch (bwl_transition_actor(transition)) {
    case BWL_ACTOR_OTHER: add_other(k, transition, what); break;
    case BWL_ACTOR_CLIENT: add_local(k, transition, what, false); break;
    case BWL_ACTOR_CLIENT_FAULT: add_local(k, transition, what, true); break;
    case BWL_ACTOR_SERVER: add_server(k, transition, what, false); break;
    case BWL_ACTOR_SERVER_FAULT: add_server(k, transition, what, true); break;
    }
}

/* "broken in 7 steps: one holder: two clients believe ..." */
static bwl_text moral_of(unsigned steps, unsigned broken)
{
    return bwl_say("broken in %u steps: %s: %s.", steps, bwl_invariant_words(broken).of,
                   bwl_invariant_sentence(broken));
}

bwl_picture bwl_picture_of(const bwl_scenario *s, const bwl_transition *path, unsigned count,
                           unsigned broken)
{
    bwl_picture p = {
        .title   = s->name,
        .server  = s->servers == 1 ? "redis" : bwl_tr("servers"),
        .clients = s->clients,
        .moral   = broken != 0 ? moral_of(count, broken) : bwl_say("%s", ""),
    };
    bwl_world before;
    bwl_world w;
    walk      k = { .picture = &p, .before = &before, .w = &w };

    bwl_world_start(&w, s);
    k.started = w.now;
    for (unsigned i = 0; i < s->clients; i++)
        p.clocks[i] = bwl_clock_words(&w, i);
    p.clocks[s->clients] = bwl_server_clock_words(s);
    for (unsigned i = 0; i < count; i++) {
        before = w;
        k.step = i + 1;
        bwl_world_perform(&w, path[i]);
        add_step(&k, path[i]);
    }
    return p;
}

void bwl_draw(FILE *out, const char *prefix, const bwl_scenario *s, const bwl_finding *found)
{
    bwl_picture picture;

    assert(found->verdict == BWL_BROKEN);
    picture = bwl_picture_of(s, found->path, found->path_count, found->broken);
    bwl_draw_picture(out, prefix, &picture);
    bwl_picture_free(&picture);
}
