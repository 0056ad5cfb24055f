/*
 * choices.c -- what may happen next in a world, and which budget pays for it.
 */
#include "lab/world/waiting.h"

/* ---- the list -------------------------------------------------------------------------------- */

static void add_at(bwl_choices *choices, bwl_choice_kind kind, unsigned client, unsigned server,
                   unsigned which)
{
    bwl_choices_add(choices, kind, client, which);
    choices->list[choices->count - 1].server = server & 7u;
}

/* ... with the random bits that give the shortest pause, and with others. */
static void add_with_chance(const bwl_world *w, bwl_choices *choices, bwl_choice_kind kind,
                            unsigned client, unsigned server)
{
    enum { LONGER = 5 };

    add_at(choices, kind, client, server, 0);
    if (w->scenario->chances) {
        add_at(choices, kind, client, server, 0);
        choices->list[choices->count - 1].chance = LONGER;
    }
}

static void add_caller(const bwl_world *w, bwl_choices *choices, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    if (!c->is_running) {
        if (c->rounds_left > 0)
            bwl_choices_add(choices, BWL_CHOICE_START, client, 0);
        return;
    }
    if (c->wake_at <= c->clock.now)
        add_with_chance(w, choices, BWL_CHOICE_ALARM, client, 0);
    if (bwl_hold_is_held(&c->hold)) {
        bwl_choices_add(choices, BWL_CHOICE_RELEASE, client, 0);
        if (w->left[BWL_EXTEND_BY_CALLER] > 0)
            bwl_choices_add(choices, BWL_CHOICE_EXTEND, client, 0);
        if (w->left[BWL_YIELD] > 0 && w->scenario->wait_ms > 0)
            bwl_choices_add(choices, BWL_CHOICE_YIELD, client, 0);
    }
    if (c->hold.state == BWL_HOLD_DISOWNED)
        bwl_choices_add(choices, BWL_CHOICE_RELEASE, client, 0);
    if (c->caller.is_working && w->left[BWL_WRITE] > 0)
        bwl_choices_add(choices, BWL_CHOICE_WRITE, client, 0);
    if (bwl_hold_is_sought(&c->hold) && w->left[BWL_CANCEL] > 0)
        bwl_choices_add(choices, BWL_CHOICE_CANCEL, client, 0);
}

/* Room for the news that its connection has ended, which who stands in line is told, and for what
 * it asks then. */
static bool has_room_for_news(const bwl_world *w, unsigned client)
{
    enum { NEWS_AND_MORE = 3 };

    return !bwl_wait_is_kept(w) ||
           w->servers[BWL_ONLY].links[client].count + NEWS_AND_MORE <= BWL_LETTERS_MAX;
}

static bool all_have_room_for_news(const bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (!has_room_for_news(w, i))
            return false;
    return true;
}

/* Room for what a break makes late. */
static bool has_room_for_late(const bwl_world *w, unsigned client, unsigned k)
{
    const bwl_link *link = &w->servers[k].links[client];

    return link->late_count + link->count - link->answered <= BWL_LETTERS_MAX &&
           has_room_for_news(w, client);
}

/* Of one broken connection, only the first letter that is left can be next. */
static void add_late(bwl_choices *choices, const bwl_link *link, unsigned client, unsigned server)
{
    for (unsigned i = 0; i < link->late_count; i++)
        if (i == 0 || link->late[i].connection != link->late[i - 1].connection)
            add_at(choices, BWL_CHOICE_SERVE_LATE, client, server, i);
}

static void add_link(const bwl_world *w, bwl_choices *choices, unsigned client, unsigned k)
{
    const bwl_lab_client *c          = &w->clients[client];
    const bwl_link       *link       = &w->servers[k].links[client];
    bool                  is_stopped = w->servers[k].is_stopped;

    if (link->answered < link->count && !c->is_unaware && !is_stopped) {
        add_at(choices, BWL_CHOICE_SERVE, client, k, 0);
        if (w->left[BWL_DENIAL] > 0)
            add_at(choices, BWL_CHOICE_SERVE, client, k, BWL_LATER);
        if (w->left[BWL_REFUSAL] > 0)
            add_at(choices, BWL_CHOICE_SERVE, client, k, BWL_REFUSED);
    }
    if (!is_stopped)
        add_late(choices, link, client, k);
    if (link->answered > 0)
        add_with_chance(w, choices, BWL_CHOICE_DELIVER, client, k);
    if (bwl_world_is_overdue(w, link) && has_room_for_late(w, client, k))
        add_at(choices, BWL_CHOICE_TIME_OUT, client, k, 0);
}

static void add_links(const bwl_world *w, bwl_choices *choices, unsigned client)
{
    if (w->clients[client].is_unaware && w->servers[BWL_ONLY].links[client].answered == 0)
        bwl_choices_add(choices, BWL_CHOICE_LEARN, client, 0);
    for (unsigned k = 0; k < w->scenario->servers; k++)
        add_link(w, choices, client, k);
    if (bwl_wait_is_kept(w))
        bwl_wait_add_choices(w, choices, client);
}

static bool is_on_the_wire(const bwl_letter *letter)
{
    return letter->kind == BWL_LETTER_QUESTION ||
           (letter->kind == BWL_LETTER_ANSWER && letter->answer != BWL_UNSENT);
}

static void add_link_faults(const bwl_world *w, bwl_choices *choices, unsigned client, unsigned k)
{
    const bwl_link *link      = &w->servers[k].links[client];
    unsigned        questions = (unsigned)link->count - link->answered;
    bool            keeps     = (w->scenario->twists & BWL_TWIST_KEEPS_UNREAD) != 0;
    bool            is_open   = bwl_wait_listens(w, client);
    bool            awaits    = false;

    for (unsigned i = 0; i < link->count; i++) {
        is_open = is_open || is_on_the_wire(&link->letters[i]);
        awaits  = awaits || !link->letters[i].is_settled;
    }
    if (keeps && awaits)
        add_at(choices, BWL_CHOICE_STOP_WAITING, client, k, 0);
    if (keeps || !is_open || w->clients[client].is_unaware || !has_room_for_late(w, client, k))
        return;
    for (unsigned unsent = 0; unsent <= questions; unsent++)
        add_at(choices, BWL_CHOICE_BREAK, client, k, unsent);
}

static void add_client_faults(const bwl_world *w, bwl_choices *choices, unsigned client)
{
    const bwl_lab_client *c        = &w->clients[client];
    bool                  has_room = true;

    for (unsigned k = 0; k < w->scenario->servers; k++) {
        has_room = has_room && has_room_for_late(w, client, k);
        if (w->left[BWL_LOSS] > 0)
            add_link_faults(w, choices, client, k);
    }
    if (w->left[BWL_CRASH] > 0 && c->is_running && has_room)
        bwl_choices_add(choices, BWL_CHOICE_CRASH, client, 0);
    if (w->left[BWL_WALL] > 0)
        bwl_choices_add(choices, BWL_CHOICE_STEP_WALL, client, 0);
    if (w->left[BWL_RATE] > 0 && c->clock.pace == BWL_PACE_TRUE)
        bwl_choices_add(choices, BWL_CHOICE_RATE, client, 0);
}

/* Where there are several, a restart matters only of one that has a key. */
static void add_server_faults(const bwl_world *w, bwl_choices *choices, unsigned k)
{
    const bwl_server *server   = &w->servers[k];
    bool              is_there = bwl_model_owner(&server->redis) != 0;

    if (w->left[BWL_RESTART] > 0 && (is_there || w->scenario->servers == 1) &&
        all_have_room_for_news(w))
        add_at(choices, BWL_CHOICE_RESTART, 0, k, 0);
    if (w->left[BWL_JUMP] > 0 && is_there)
        add_at(choices, BWL_CHOICE_JUMP, 0, k, 0);
    if (server->is_stopped)
        add_at(choices, BWL_CHOICE_GO_ON, 0, k, 0);
    else if (w->left[BWL_STOP] > 0)
        add_at(choices, BWL_CHOICE_HALT, 0, k, 0);
}

static void add_only_server_faults(const bwl_world *w, bwl_choices *choices)
{
    const bwl_model_redis *redis    = &w->servers[BWL_ONLY].redis;
    bool                   is_there = bwl_model_owner(redis) != 0;
    bool                   can_end  = all_have_room_for_news(w);
    bool                   is_saved = w->saved.keys[BWL_MODEL_LOCK].kind != BWL_KIND_NONE ||
                    w->saved.keys[BWL_MODEL_COUNT].kind != BWL_KIND_NONE;

    if (w->left[BWL_RESTORE] > 0 && is_there && !is_saved && !w->scenario->server.keeps_all)
        bwl_choices_add(choices, BWL_CHOICE_SAVE, 0, 0);
    if (w->left[BWL_RESTORE] > 0 && (is_saved || w->scenario->server.keeps_all) && can_end)
        bwl_choices_add(choices, BWL_CHOICE_RESTORE, 0, 0);
    if (w->left[BWL_FAILOVER] > 0 && can_end)
        bwl_choices_add(choices, BWL_CHOICE_FAILOVER, 0, 0);
    for (unsigned key = 0; w->left[BWL_EVICTION] > 0 && key < BWL_MODEL_KEYS; key++)
        if ((w->scenario->server.evicts & 1u << key) != 0 &&
            redis->data.keys[key].kind != BWL_KIND_NONE)
            bwl_choices_add(choices, BWL_CHOICE_EVICT, 0, key);
    if (w->left[BWL_STRANGER] > 0)
        bwl_choices_add(choices, BWL_CHOICE_STRANGER, 0, 0);
    if (bwl_wait_is_kept(w))
        bwl_wait_add_of_server(w, choices);
}

static void add_time(const bwl_world *w, bwl_choices *choices)
{
    bwl_ms at = bwl_world_next_instant(w);

    if (at == BWL_NEVER || (bwl_world_is_urgent(w) && w->left[BWL_SLOW] == 0))
        return;
    bwl_choices_add(choices, BWL_CHOICE_PASS, 0, 0);
    if (w->scenario->fine && at > w->now + 1)
        bwl_choices_add(choices, BWL_CHOICE_PASS, 0, 1);
}

void bwl_world_choices(const bwl_world *w, bwl_choices *ret_choices)
{
    ret_choices->count = 0;
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        add_caller(w, ret_choices, i);
        add_links(w, ret_choices, i);
    }
    add_time(w, ret_choices);
    for (unsigned i = 0; i < w->scenario->clients; i++)
        add_client_faults(w, ret_choices, i);
    for (unsigned k = 0; k < w->scenario->servers; k++)
        add_server_faults(w, ret_choices, k);
    add_only_server_faults(w, ret_choices);
}

/* ---- who pays -------------------------------------------------------------------------------- */

bwl_budget bwl_choice_budget(const bwl_world *w, bwl_choice choice)
{
    switch ((bwl_choice_kind)choice.kind) {
    case BWL_CHOICE_SERVE:
        if (choice.which == 0)
            return BWL_BUDGET_NONE;
        if (choice.which == BWL_WHICH_NOSCRIPT)
            return BWL_NOSCRIPT;
        return choice.which == BWL_LATER ? BWL_DENIAL : BWL_REFUSAL;
    case BWL_CHOICE_PASS: return bwl_world_is_urgent(w) ? BWL_SLOW : BWL_BUDGET_NONE;
    case BWL_CHOICE_EXTEND: return BWL_EXTEND_BY_CALLER;
    case BWL_CHOICE_CANCEL: return BWL_CANCEL;
    case BWL_CHOICE_BREAK:
    case BWL_CHOICE_STOP_WAITING: return BWL_LOSS;
    case BWL_CHOICE_CRASH: return BWL_CRASH;
    case BWL_CHOICE_RESTART: return BWL_RESTART;
    case BWL_CHOICE_JUMP: return BWL_JUMP;
    case BWL_CHOICE_RESTORE: return BWL_RESTORE;
    case BWL_CHOICE_FAILOVER: return BWL_FAILOVER;
    case BWL_CHOICE_EVICT: return BWL_EVICTION;
    case BWL_CHOICE_STRANGER: return BWL_STRANGER;
    case BWL_CHOICE_STEP_WALL: return BWL_WALL;
    case BWL_CHOICE_WRITE: return BWL_WRITE;
    case BWL_CHOICE_RATE: return BWL_RATE;
    case BWL_CHOICE_LOSE_PUSH: return BWL_LOST_PUSH;
    case BWL_CHOICE_BORROW: return BWL_BORROWER;
    case BWL_CHOICE_SILENCE: return BWL_SILENCE;
    case BWL_CHOICE_YIELD: return BWL_YIELD;
    case BWL_CHOICE_HALT: return BWL_STOP;
    case BWL_CHOICE_GO_ON:
    case BWL_CHOICE_TIME_OUT:
    case BWL_CHOICE_CLOSE:
    case BWL_CHOICE_GIVE_BACK:
    case BWL_CHOICE_SERVE_LATE:
    case BWL_CHOICE_DELIVER:
    case BWL_CHOICE_ALARM:
    case BWL_CHOICE_START:
    case BWL_CHOICE_RELEASE:
    case BWL_CHOICE_LEARN:
    case BWL_CHOICE_SAVE: return BWL_BUDGET_NONE;
    }
    bwl_unreachable("no such choice");
}

bool bwl_choice_is_fault(const bwl_world *w, bwl_choice choice)
{
    return bwl_choice_budget(w, choice) != BWL_BUDGET_NONE;
}
