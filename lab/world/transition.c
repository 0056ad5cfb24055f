/*
 * transition.c -- the transitions that are possible in a world, and the budget that pays for each.
 */
#include "lab/world/inside.h"

static void add_at(bwl_transitions *transitions, bwl_transition_kind kind, unsigned client,
                   unsigned server, unsigned which)
{
    bwl_transitions_add(transitions, kind, client, which);
    transitions->list[transitions->count - 1].server = server & 7u;
}

/* Adds it with the random bits of the shortest pause, and with others. */
static void add_with_chance(const bwl_world *w, bwl_transitions *transitions,
                            bwl_transition_kind kind, unsigned client, unsigned server)
{
    enum { LONGER = 5 };

    add_at(transitions, kind, client, server, 0);
    if (w->scenario->chances) {
        add_at(transitions, kind, client, server, 0);
        transitions->list[transitions->count - 1].chance = LONGER;
    }
}

static bool may_change(const bwl_lab_client *c, bwl_change kind)
{
    const bwl_share *share = &c->hold.request.share;

    return c->hold.protocol->changes && !c->caller.extends && share->limit == 0 &&
           !bwl_hold_has_mode(&c->hold, kind) &&
           (c->hold.change.kind == 0 || c->hold.change.kind == kind);
}

static void add_caller(const bwl_world *w, bwl_transitions *transitions, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    if (!c->is_running) {
        if (c->rounds_left > 0)
            bwl_transitions_add(transitions, BWL_TRANSITION_START, client, 0);
        return;
    }
    if (c->wake_at <= c->clock.now)
        add_with_chance(w, transitions, BWL_TRANSITION_ALARM, client, 0);
    if (bwl_hold_is_held(&c->hold)) {
        bwl_transitions_add(transitions, BWL_TRANSITION_RELEASE, client, 0);
        if (w->left[BWL_DOWNGRADE_BY_CALLER] > 0 && may_change(c, BWL_DOWNGRADE))
            bwl_transitions_add(transitions, BWL_TRANSITION_DOWNGRADE, client, 0);
        if (w->left[BWL_UPGRADE_BY_CALLER] > 0 && may_change(c, BWL_UPGRADE))
            bwl_transitions_add(transitions, BWL_TRANSITION_UPGRADE, client, 0);
        if (w->left[BWL_EXTEND_BY_CALLER] > 0 && c->hold.protocol->extends &&
            !c->hold.change.is_awaited)
            bwl_transitions_add(transitions, BWL_TRANSITION_EXTEND, client, 0);
        if (w->left[BWL_YIELD] > 0 && w->scenario->wait_ms > 0)
            bwl_transitions_add(transitions, BWL_TRANSITION_YIELD, client, 0);
    }
    if (c->hold.state == BWL_HOLD_REVOKED)
        bwl_transitions_add(transitions, BWL_TRANSITION_RELEASE, client, 0);
    if (c->caller.is_working && w->left[BWL_WRITE] > 0)
        bwl_transitions_add(transitions, BWL_TRANSITION_WRITE, client, 0);
    if (bwl_hold_is_acquiring(&c->hold) && w->left[BWL_CANCEL] > 0)
        bwl_transitions_add(transitions, BWL_TRANSITION_CANCEL, client, 0);
}

/* Room for the CUT_OFF message that a waiter gets, and for its next commands. */
static bool has_room_for_news(const bwl_world *w, unsigned client)
{
    enum { NEWS_AND_MORE = 3 };

    return !bwl_wait_is_kept(w) ||
           w->servers[BWL_ONLY].links[client].count + NEWS_AND_MORE <= BWL_MESSAGES_MAX;
}

static bool all_have_room_for_news(const bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (!has_room_for_news(w, i))
            return false;
    return true;
}

/* Room for the messages that a break makes late. */
static bool has_room_for_late(const bwl_world *w, unsigned client, unsigned k)
{
    const bwl_link *link = &w->servers[k].links[client];

    return link->late_count + link->count - link->answered <= BWL_MESSAGES_MAX &&
           has_room_for_news(w, client);
}

static bool is_in_time(const bwl_world *w, const bwl_message *message)
{
    bwl_ms delay_ms = w->scenario->clocks.delay_ms;

    return delay_ms == 0 || w->now <= BWL_BEGINNING_MS + message->asked_ms + delay_ms;
}

/* Only the first late message of each broken connection can be next. */
static void add_late(const bwl_world *w, bwl_transitions *transitions, const bwl_link *link,
                     unsigned client, unsigned server)
{
    for (unsigned i = 0; i < link->late_count; i++)
        if ((i == 0 || link->late[i].connection != link->late[i - 1].connection) &&
            is_in_time(w, &link->late[i]))
            add_at(transitions, BWL_TRANSITION_SERVE_LATE, client, server, i);
}

static void add_link(const bwl_world *w, bwl_transitions *transitions, unsigned client, unsigned k)
{
    const bwl_lab_client *c          = &w->clients[client];
    const bwl_link       *link       = &w->servers[k].links[client];
    bool                  is_stopped = w->servers[k].is_stopped;

    if (link->answered < link->count && !c->is_unaware && !is_stopped) {
        add_at(transitions, BWL_TRANSITION_SERVE, client, k, 0);
        if (w->left[BWL_DENIAL] > 0)
            add_at(transitions, BWL_TRANSITION_SERVE, client, k, BWL_RETRYABLE);
        if (w->left[BWL_REFUSAL] > 0)
            add_at(transitions, BWL_TRANSITION_SERVE, client, k, BWL_REFUSED);
    }
    if (!is_stopped)
        add_late(w, transitions, link, client, k);
    if (link->answered > 0)
        add_with_chance(w, transitions, BWL_TRANSITION_DELIVER, client, k);
    if (bwl_world_is_overdue(w, link) && has_room_for_late(w, client, k))
        add_at(transitions, BWL_TRANSITION_TIME_OUT, client, k, 0);
}

static void add_links(const bwl_world *w, bwl_transitions *transitions, unsigned client)
{
    if (w->clients[client].is_unaware && w->servers[BWL_ONLY].links[client].answered == 0)
        bwl_transitions_add(transitions, BWL_TRANSITION_LEARN, client, 0);
    for (unsigned k = 0; k < w->scenario->servers; k++)
        add_link(w, transitions, client, k);
    if (bwl_wait_is_kept(w))
        bwl_wait_add_transitions(w, transitions, client);
}

static void add_link_faults(const bwl_world *w, bwl_transitions *transitions, unsigned client,
                            unsigned k)
{
    const bwl_link *link      = &w->servers[k].links[client];
    unsigned        questions = (unsigned)link->count - link->answered;
    bool            keeps     = (w->scenario->mutations & BWL_MUTATION_KEEPS_UNREAD) != 0;
    bool            is_open   = bwl_wait_is_kept(w) && w->clients[client].is_running &&
                   w->waiting.waiters[client].is_connected;
    bool awaits = false;

    for (unsigned i = 0; i < link->count; i++) {
        const bwl_message *message = &link->messages[i];
        is_open                    = is_open || message->kind == BWL_MESSAGE_REQUEST ||
                  (message->kind == BWL_MESSAGE_ANSWER && message->answer != BWL_NOT_SENT);
        awaits = awaits || !message->has_result;
    }
    if (keeps && awaits)
        add_at(transitions, BWL_TRANSITION_STOP_WAITING, client, k, 0);
    if (keeps || !is_open || w->clients[client].is_unaware || !has_room_for_late(w, client, k))
        return;
    for (unsigned unsent = 0; unsent <= questions; unsent++)
        add_at(transitions, BWL_TRANSITION_BREAK, client, k, unsent);
}

static void add_client_faults(const bwl_world *w, bwl_transitions *transitions, unsigned client)
{
    const bwl_lab_client *c        = &w->clients[client];
    bool                  has_room = true;

    for (unsigned k = 0; k < w->scenario->servers; k++) {
        has_room = has_room && has_room_for_late(w, client, k);
        if (w->left[BWL_LOSS] > 0)
            add_link_faults(w, transitions, client, k);
    }
    if (w->left[BWL_CRASH] > 0 && c->is_running && has_room)
        bwl_transitions_add(transitions, BWL_TRANSITION_CRASH, client, 0);
    if (w->left[BWL_WALL] > 0)
        bwl_transitions_add(transitions, BWL_TRANSITION_STEP_WALL, client, 0);
    if (w->left[BWL_RATE] > 0 && c->clock.pace == BWL_PACE_TRUE)
        bwl_transitions_add(transitions, BWL_TRANSITION_RATE, client, 0);
}

/* With several servers, only the restart of one with a key matters. */
static void add_server_faults(const bwl_world *w, bwl_transitions *transitions, unsigned k)
{
    const bwl_server *server   = &w->servers[k];
    bool              is_there = bwl_model_owner(&server->redis) != 0;

    if (w->left[BWL_RESTART] > 0 && (is_there || w->scenario->servers == 1) &&
        all_have_room_for_news(w))
        add_at(transitions, BWL_TRANSITION_RESTART, 0, k, 0);
    if (w->left[BWL_JUMP] > 0 && is_there)
        add_at(transitions, BWL_TRANSITION_JUMP, 0, k, 0);
    if (server->is_stopped)
        add_at(transitions, BWL_TRANSITION_GO_ON, 0, k, 0);
    else if (w->left[BWL_STOP] > 0)
        add_at(transitions, BWL_TRANSITION_HALT, 0, k, 0);
}

static void add_only_server_faults(const bwl_world *w, bwl_transitions *transitions)
{
    const bwl_model_redis *redis    = &w->servers[BWL_ONLY].redis;
    bool                   is_there = bwl_model_owner(redis) != 0;
    bool                   can_end  = all_have_room_for_news(w);
    bool                   is_saved = w->saved.keys[BWL_MODEL_LOCK].kind != BWL_KIND_NONE ||
                    w->saved.keys[BWL_MODEL_COUNT].kind != BWL_KIND_NONE;

    if (w->left[BWL_RESTORE] > 0 && is_there && !is_saved && !w->scenario->server.keeps_all)
        bwl_transitions_add(transitions, BWL_TRANSITION_SAVE, 0, 0);
    if (w->left[BWL_RESTORE] > 0 && (is_saved || w->scenario->server.keeps_all) && can_end)
        bwl_transitions_add(transitions, BWL_TRANSITION_RESTORE, 0, 0);
    if (w->left[BWL_FAILOVER] > 0 && can_end)
        bwl_transitions_add(transitions, BWL_TRANSITION_FAILOVER, 0, 0);
    for (unsigned key = 0; w->left[BWL_EVICTION] > 0 && key < BWL_MODEL_KEYS; key++)
        if ((w->scenario->server.evicts & 1u << key) != 0 &&
            redis->data.keys[key].kind != BWL_KIND_NONE)
            bwl_transitions_add(transitions, BWL_TRANSITION_EVICT, 0, key);
    if (w->left[BWL_FOREIGN_LOCK] > 0)
        bwl_transitions_add(transitions, BWL_TRANSITION_FOREIGN_LOCK, 0, 0);
    if (bwl_wait_is_kept(w))
        bwl_wait_add_of_server(w, transitions);
}

static void add_time(const bwl_world *w, bwl_transitions *transitions)
{
    bwl_ms at = bwl_world_next_instant(w);

    if (at == BWL_NEVER || bwl_world_delay_ends(w) <= w->now ||
        (bwl_world_is_urgent(w) && w->left[BWL_SLOW] == 0))
        return;
    bwl_transitions_add(transitions, BWL_TRANSITION_PASS, 0, 0);
    if (w->scenario->fine && at > w->now + 1)
        bwl_transitions_add(transitions, BWL_TRANSITION_PASS, 0, 1);
}

void bwl_world_transitions(const bwl_world *w, bwl_transitions *ret_transitions)
{
    ret_transitions->count = 0;
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        add_caller(w, ret_transitions, i);
        add_links(w, ret_transitions, i);
    }
    add_time(w, ret_transitions);
    for (unsigned i = 0; i < w->scenario->clients; i++)
        add_client_faults(w, ret_transitions, i);
    for (unsigned k = 0; k < w->scenario->servers; k++)
        add_server_faults(w, ret_transitions, k);
    add_only_server_faults(w, ret_transitions);
}

typedef struct transition_row {
    const char *name;
    const char *words;
    bwl_budget  budget;
    bwl_actor   actor;
} transition_row;

static const transition_row rows[BWL_TRANSITIONS_END] = {
#define X(name, text, budget, actor, words) \
    [BWL_TRANSITION_##name] = { text, words, BWL_##budget, BWL_ACTOR_##actor },
    BWL_TRANSITIONS(X)
#undef X
};

static const transition_row *row_of(unsigned kind)
{
    assert(kind > 0);
    assert(kind < BWL_TRANSITIONS_END);
    return &rows[kind];
}

const char *bwl_transition_name(unsigned kind)
{
    return row_of(kind)->name;
}

const char *bwl_transition_sentence(unsigned kind)
{
    return row_of(kind)->words;
}

unsigned bwl_transition_named(const char *name)
{
    for (unsigned i = 1; i < BWL_TRANSITIONS_END; i++)
        if (strcmp(name, rows[i].name) == 0)
            return i;
    return 0;
}

bwl_actor bwl_transition_actor(bwl_transition transition)
{
    return row_of(transition.kind)->actor;
}

bwl_budget bwl_transition_budget(const bwl_world *w, bwl_transition transition)
{
    bwl_budget budget = row_of(transition.kind)->budget;

    if (transition.kind == BWL_TRANSITION_PASS)
        return bwl_world_is_urgent(w) ? BWL_SLOW : BWL_BUDGET_NONE;
    if (transition.kind != BWL_TRANSITION_SERVE || transition.which == 0)
        return budget;
    if (transition.which == BWL_WHICH_NOSCRIPT)
        return BWL_NOSCRIPT;
    return transition.which == BWL_RETRYABLE ? BWL_DENIAL : BWL_REFUSAL;
}

bool bwl_transition_is_fault(const bwl_world *w, bwl_transition transition)
{
    return bwl_transition_budget(w, transition) != BWL_BUDGET_NONE;
}
