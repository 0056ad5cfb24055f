/*
 * many_choices.c -- what may happen next in a world with several servers, and who pays for it.
 */
#include "lab/world/many.h"

static void add(bwl_choices *list, bwl_many_kind kind, unsigned client, unsigned server)
{
    assert(list->count < BWL_CHOICES_MAX);
    list->list[list->count++] =
        (bwl_choice){ .kind = (uint8_t)kind, .client = (uint8_t)client, .which = (uint8_t)server };
}

static bool may(const bwl_many_world *w, bwl_many_budget budget)
{
    return w->left[budget] > 0;
}

/* Only where a server may stop: elsewhere LOSS says how often a line breaks. */
static bool is_late(const bwl_many_world *w, const bwl_many_line *line)
{
    const bwl_many_letter *oldest = &line->letters[0];

    return w->scenario->budget[BWL_MANY_STOP] > 0 && line->count > 0 &&
           oldest->kind == BWL_LETTER_QUESTION &&
           BWL_BEGINNING_MS + oldest->asked_ms + w->scenario->answer_ms <= w->now;
}

static bool is_alarm_due(const bwl_many_world *w, const bwl_many_client *c)
{
    return c->is_running && c->wake_at <= w->now;
}

bool bwl_many_is_urgent(const bwl_many_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        if (is_alarm_due(w, &w->clients[i]))
            return true;
        for (unsigned k = 0; k < w->scenario->servers; k++) {
            const bwl_many_line *line = &w->lines[i][k];
            bool is_served            = line->answered < line->count && !w->servers[k].is_stopped;
            if (is_served || line->answered > 0 || is_late(w, line))
                return true;
        }
    }
    return false;
}

static bwl_ms instant_of_server(const bwl_many_world *w, const bwl_many_server *server)
{
    int32_t pace = (int32_t)w->scenario->server_pace;
    bwl_ms  next = BWL_NEVER;

    if (server->owner != 0)
        next = w->now + (server->ends_in + pace - 1) / pace;
    if (server->young_for > 0)
        next = bwl_sooner(next, w->now + (server->young_for + pace - 1) / pace);
    return next;
}

bwl_ms bwl_many_next_instant(const bwl_many_world *w)
{
    const bwl_many_scenario *s    = w->scenario;
    bwl_ms                   next = BWL_NEVER;

    for (unsigned k = 0; k < s->servers; k++)
        next = bwl_sooner(next, instant_of_server(w, &w->servers[k]));
    for (unsigned i = 0; i < s->clients; i++) {
        const bwl_many_client *c = &w->clients[i];
        if (c->is_running && c->wake_at > w->now)
            next = bwl_sooner(next, c->wake_at);
        for (unsigned k = 0; k < s->servers; k++) {
            const bwl_many_line *line = &w->lines[i][k];
            bwl_ms late_at            = BWL_BEGINNING_MS + line->letters[0].asked_ms + s->answer_ms;
            if (s->budget[BWL_MANY_STOP] > 0 && line->count > 0 && line->answered == 0 &&
                late_at > w->now)
                next = bwl_sooner(next, late_at);
        }
    }
    return next;
}

bwl_many_budget bwl_many_pays(const bwl_many_world *w, bwl_choice choice)
{
    switch ((bwl_many_kind)choice.kind) {
    case BWL_MANY_PASS: return bwl_many_is_urgent(w) ? BWL_MANY_SLOW : BWL_MANY_NO_BUDGET;
    case BWL_MANY_DENY: return BWL_MANY_DENIAL;
    case BWL_MANY_BREAK: return BWL_MANY_LOSS;
    case BWL_MANY_FAIL: return BWL_MANY_CRASH;
    case BWL_MANY_COME_BACK: return BWL_MANY_RESTART;
    case BWL_MANY_STEP_CLOCK: return BWL_MANY_JUMP;
    case BWL_MANY_HALT: return BWL_MANY_STOP;
    case BWL_MANY_GIVE_UP: return BWL_MANY_CANCEL;
    case BWL_MANY_START:
    case BWL_MANY_RELEASE:
    case BWL_MANY_ALARM:
    case BWL_MANY_SERVE:
    case BWL_MANY_SERVE_LATE:
    case BWL_MANY_DELIVER:
    case BWL_MANY_TIME_OUT:
    case BWL_MANY_GO_ON: return BWL_MANY_NO_BUDGET;
    }
    bwl_unreachable("no such choice");
}

static void of_line(const bwl_many_world *w, unsigned i, unsigned k, bwl_choices *list)
{
    const bwl_many_line *line = &w->lines[i][k];

    if (line->answered < line->count && !w->servers[k].is_stopped) {
        add(list, BWL_MANY_SERVE, i, k);
        if (may(w, BWL_MANY_DENIAL))
            add(list, BWL_MANY_DENY, i, k);
    }
    if (line->answered > 0)
        add(list, BWL_MANY_DELIVER, i, k);
    if (is_late(w, line))
        add(list, BWL_MANY_TIME_OUT, i, k);
    if (line->count > 0 && line->letters[line->count - 1].kind != BWL_LETTER_CUT_OFF &&
        may(w, BWL_MANY_LOSS))
        add(list, BWL_MANY_BREAK, i, k);
    if (line->late_count > 0 && !w->servers[k].is_stopped)
        add(list, BWL_MANY_SERVE_LATE, i, k);
}

static void of_client(const bwl_many_world *w, unsigned i, bwl_choices *list)
{
    const bwl_many_client *c = &w->clients[i];

    if (c->is_gone)
        return;
    if (!c->is_running && c->rounds_left > 0)
        add(list, BWL_MANY_START, i, 0);
    if (is_alarm_due(w, c))
        add(list, BWL_MANY_ALARM, i, 0);
    if (c->is_working && bwl_hold_is_held(&c->hold))
        add(list, BWL_MANY_RELEASE, i, 0);
    if (c->is_running && bwl_hold_is_sought(&c->hold) && may(w, BWL_MANY_CANCEL))
        add(list, BWL_MANY_GIVE_UP, i, 0);
    if (c->is_running && may(w, BWL_MANY_CRASH))
        add(list, BWL_MANY_FAIL, i, 0);
}

static void of_server(const bwl_many_world *w, unsigned k, bwl_choices *list)
{
    const bwl_many_server *server = &w->servers[k];

    if (server->owner != 0 && may(w, BWL_MANY_RESTART))
        add(list, BWL_MANY_COME_BACK, 0, k);
    if (server->owner != 0 && may(w, BWL_MANY_JUMP))
        add(list, BWL_MANY_STEP_CLOCK, 0, k);
    if (server->is_stopped)
        add(list, BWL_MANY_GO_ON, 0, k);
    else if (may(w, BWL_MANY_STOP))
        add(list, BWL_MANY_HALT, 0, k);
}

void bwl_many_choices(const bwl_many_world *w, bwl_choices *ret_choices)
{
    const bwl_many_scenario *s = w->scenario;

    ret_choices->count = 0;
    for (unsigned i = 0; i < s->clients; i++) {
        of_client(w, i, ret_choices);
        for (unsigned k = 0; k < s->servers; k++)
            of_line(w, i, k, ret_choices);
    }
    for (unsigned k = 0; k < s->servers; k++)
        of_server(w, k, ret_choices);
    if (bwl_many_next_instant(w) != BWL_NEVER && (may(w, BWL_MANY_SLOW) || !bwl_many_is_urgent(w)))
        add(ret_choices, BWL_MANY_PASS, 0, 0);
}
