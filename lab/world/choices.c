/*
 * choices.c -- what may happen next in a world.
 *
 * Time moves from one instant of interest to the next: when a timer is due, when a belief ends,
 * when the key vanishes, when a deadline that a machine will look at has come.  Between two of
 * them the machines cannot tell one moment from another, save by what they add to it; a scenario
 * that is `fine` also stops one millisecond before each.
 */
#include "lab/world/client_clock.h"
#include "lab/model/words.h"
#include "lab/world/waiting.h"

/* ---- time ------------------------------------------------------------------------------------ */

static bwl_ms after_now(bwl_ms at, bwl_ms now)
{
    return at > now ? at : BWL_NEVER;
}

/* By its own clock. */
static bwl_ms next_of_client(const bwl_lab_client *c)
{
    const bwl_hold *h   = &c->hold;
    bwl_ms          now = c->now;
    bwl_ms          at  = after_now(c->wake_at, now);

    if (!c->is_running)
        return BWL_NEVER;
    if (bwl_hold_is_held(h))
        return bwl_sooner(at, after_now(h->until, now));
    if (bwl_hold_is_sought(h)) {
        at = bwl_sooner(at, after_now(h->attempt_ends_at, now));
        at = bwl_sooner(at, after_now(h->give_up_at, now));
    }
    return bwl_sooner(at, after_now(h->answer_by, now));
}

/* When the stamp in the key lies in the past for a client, and when it lies there by a whole unit:
 * there are protocols that mind the difference. */
static bwl_ms next_of_stamp(const bwl_world *w, unsigned client)
{
    const bwl_rules *rules   = w->scenario->terms.rules;
    int64_t          wall_ns = bwl_world_wall_ns(w, client);
    bwl_ms           now     = w->clients[client].now;
    bwl_ms           at      = BWL_NEVER;
    int64_t          stamp;

    if (wall_ns == 0 || rules->unit_ns == 0 || bwl_model_owner(&w->redis) == 0)
        return BWL_NEVER;
    stamp = bwl_model_stamp_of(rules, bwl_model_lock(&w->redis)->value);
    for (unsigned more = 0; more < 2; more++) {
        int64_t by_ns = (stamp + more) * rules->unit_ns - wall_ns;
        if (by_ns > 0)
            at = bwl_sooner(at, now + (by_ns + 999999) / 1000000);
    }
    return at;
}

bwl_ms bwl_world_next_instant(const bwl_world *w)
{
    int64_t pace = w->scenario->server_pace;
    bwl_ms  at   = BWL_NEVER;

    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c    = &w->clients[i];
        bwl_ms                then = bwl_sooner(next_of_stamp(w, i), next_of_client(c));
        if (then != BWL_NEVER)
            at = bwl_sooner(at, w->now + bwl_client_clock_reads_in(c, then));
    }
    if (bwl_model_owner(&w->redis) != 0 && !bwl_model_lock(&w->redis)->lasts)
        at = bwl_sooner(at, w->now + (bwl_model_left(&w->redis) + pace - 1) / pace);
    for (unsigned key = BWL_MODEL_QUEUE; w->scenario->keep_ms != 0 && key <= BWL_MODEL_BEATS;
         key++) {
        const bwl_model_key *k = &w->redis.data.keys[key];
        if (k->kind != BWL_KIND_NONE && !k->lasts)
            at = bwl_sooner(at, w->now + (k->ends_at - w->redis.now + pace - 1) / pace);
    }
    return at;
}

bool bwl_world_is_urgent(const bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c = &w->clients[i];
        if (c->letters_count > 0 || c->is_unaware || (c->is_running && c->wake_at <= c->now))
            return true;
    }
    return false;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void add(bwl_choices *choices, bwl_choice_kind kind, unsigned client, unsigned which)
{
    assert(choices->count < BWL_CHOICES_MAX);
    choices->list[choices->count++] = (bwl_choice){
        .kind   = (uint8_t)kind,
        .client = (uint8_t)client,
        .which  = (uint8_t)which,
    };
}

/* ... with the random bits that give the shortest pause, and with others. */
static void add_with_chance(const bwl_world *w, bwl_choices *choices, bwl_choice_kind kind,
                            unsigned client)
{
    enum { LONGER = 5 };

    add(choices, kind, client, 0);
    if (w->scenario->chances) {
        add(choices, kind, client, 0);
        choices->list[choices->count - 1].chance = LONGER;
    }
}

static void add_caller(const bwl_world *w, bwl_choices *choices, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    if (!c->is_running) {
        if (c->rounds_left > 0)
            add(choices, BWL_CHOICE_START, client, 0);
        return;
    }
    if (c->wake_at <= c->now)
        add_with_chance(w, choices, BWL_CHOICE_ALARM, client);
    if (bwl_hold_is_held(&c->hold)) {
        add(choices, BWL_CHOICE_RELEASE, client, 0);
        if (w->left[BWL_EXTEND_BY_CALLER] > 0)
            add(choices, BWL_CHOICE_EXTEND, client, 0);
        if (w->left[BWL_YIELD] > 0 && w->scenario->wait_ms > 0)
            add(choices, BWL_CHOICE_YIELD, client, 0);
    }
    if (c->hold.state == BWL_HOLD_DISOWNED)
        add(choices, BWL_CHOICE_RELEASE, client, 0);
    if (c->is_working && w->left[BWL_WRITE] > 0)
        add(choices, BWL_CHOICE_WRITE, client, 0);
    if (bwl_hold_is_sought(&c->hold) && w->left[BWL_CANCEL] > 0)
        add(choices, BWL_CHOICE_CANCEL, client, 0);
}

/* Of one broken connection, only the first letter that is left can be next. */
static void add_late(bwl_choices *choices, const bwl_lab_client *c, unsigned client)
{
    for (unsigned i = 0; i < c->late_count; i++)
        if (i == 0 || c->late[i].connection != c->late[i - 1].connection)
            add(choices, BWL_CHOICE_SERVE_LATE, client, i);
}

static void add_server(const bwl_world *w, bwl_choices *choices, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    if (c->is_unaware && c->answered == 0)
        add(choices, BWL_CHOICE_LEARN, client, 0);
    if (c->answered < c->letters_count && !c->is_unaware) {
        add(choices, BWL_CHOICE_SERVE, client, 0);
        if (w->left[BWL_DENIAL] > 0)
            add(choices, BWL_CHOICE_SERVE, client, BWL_LATER);
        if (w->left[BWL_REFUSAL] > 0)
            add(choices, BWL_CHOICE_SERVE, client, BWL_REFUSED);
    }
    add_late(choices, c, client);
    if (c->answered > 0)
        add_with_chance(w, choices, BWL_CHOICE_DELIVER, client);
    if (bwl_wait_is_kept(w))
        bwl_wait_add_choices(w, choices, client);
}

static bool is_on_the_wire(const bwl_letter *letter)
{
    return letter->kind == BWL_LETTER_QUESTION ||
           (letter->kind == BWL_LETTER_ANSWER && letter->answer != BWL_UNSENT);
}

/* Room for the news that its connection has ended, which who stands in line is told, and for what
 * it asks then. */
static bool has_room_for_news(const bwl_world *w, unsigned client)
{
    enum { NEWS_AND_MORE = 3 };

    return !bwl_wait_is_kept(w) ||
           w->clients[client].letters_count + NEWS_AND_MORE <= BWL_LETTERS_MAX;
}

static bool all_have_room_for_news(const bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (!has_room_for_news(w, i))
            return false;
    return true;
}

static void add_connection_faults(const bwl_world *w, bwl_choices *choices, unsigned client)
{
    const bwl_lab_client *c         = &w->clients[client];
    unsigned              questions = (unsigned)c->letters_count - c->answered;
    bool has_room = c->late_count + questions <= BWL_LETTERS_MAX && has_room_for_news(w, client);
    bool keeps    = (w->scenario->twists & BWL_TWIST_KEEPS_UNREAD) != 0;
    bool is_open  = bwl_wait_listens(w, client);
    bool awaits   = false;

    for (unsigned i = 0; i < c->letters_count; i++) {
        is_open = is_open || is_on_the_wire(&c->letters[i]);
        awaits  = awaits || !c->letters[i].is_settled;
    }
    if (w->left[BWL_LOSS] > 0 && keeps && awaits)
        add(choices, BWL_CHOICE_STOP_WAITING, client, 0);
    for (unsigned unsent = 0; w->left[BWL_LOSS] > 0 && !keeps && unsent <= questions; unsent++)
        if (is_open && has_room && !c->is_unaware)
            add(choices, BWL_CHOICE_BREAK, client, unsent);
    if (w->left[BWL_CRASH] > 0 && c->is_running && has_room)
        add(choices, BWL_CHOICE_CRASH, client, 0);
    if (w->left[BWL_WALL] > 0)
        add(choices, BWL_CHOICE_STEP_WALL, client, 0);
    if (w->left[BWL_RATE] > 0 && c->pace == BWL_PACE_TRUE)
        add(choices, BWL_CHOICE_RATE, client, 0);
}

static void add_server_faults(const bwl_world *w, bwl_choices *choices)
{
    bool is_there = bwl_model_owner(&w->redis) != 0;
    bool can_end  = all_have_room_for_news(w);
    bool is_saved = w->saved.keys[BWL_MODEL_LOCK].kind != BWL_KIND_NONE ||
                    w->saved.keys[BWL_MODEL_COUNT].kind != BWL_KIND_NONE;

    if (w->left[BWL_RESTART] > 0 && can_end)
        add(choices, BWL_CHOICE_RESTART, 0, 0);
    if (w->left[BWL_JUMP] > 0 && is_there)
        add(choices, BWL_CHOICE_JUMP, 0, 0);
    if (w->left[BWL_RESTORE] > 0 && is_there && !is_saved && !w->scenario->keeps_all)
        add(choices, BWL_CHOICE_SAVE, 0, 0);
    if (w->left[BWL_RESTORE] > 0 && (is_saved || w->scenario->keeps_all) && can_end)
        add(choices, BWL_CHOICE_RESTORE, 0, 0);
    if (w->left[BWL_FAILOVER] > 0 && can_end)
        add(choices, BWL_CHOICE_FAILOVER, 0, 0);
    for (unsigned key = 0; w->left[BWL_EVICTION] > 0 && key < BWL_MODEL_KEYS; key++)
        if ((w->scenario->evicts & 1u << key) != 0 && w->redis.data.keys[key].kind != BWL_KIND_NONE)
            add(choices, BWL_CHOICE_EVICT, 0, key);
    if (w->left[BWL_STRANGER] > 0)
        add(choices, BWL_CHOICE_STRANGER, 0, 0);
    if (bwl_wait_is_kept(w))
        bwl_wait_add_of_server(w, choices);
}

static void add_time(const bwl_world *w, bwl_choices *choices)
{
    bwl_ms at = bwl_world_next_instant(w);

    if (at == BWL_NEVER || (bwl_world_is_urgent(w) && w->left[BWL_SLOW] == 0))
        return;
    add(choices, BWL_CHOICE_PASS, 0, 0);
    if (w->scenario->fine && at > w->now + 1)
        add(choices, BWL_CHOICE_PASS, 0, 1);
}

void bwl_world_choices(const bwl_world *w, bwl_choices *ret_choices)
{
    ret_choices->count = 0;
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        add_caller(w, ret_choices, i);
        add_server(w, ret_choices, i);
    }
    add_time(w, ret_choices);
    for (unsigned i = 0; i < w->scenario->clients; i++)
        add_connection_faults(w, ret_choices, i);
    add_server_faults(w, ret_choices);
}

bool bwl_choice_is_fault(const bwl_world *w, bwl_choice choice)
{
    return bwl_choice_budget(w, choice) != BWL_BUDGET_NONE;
}
