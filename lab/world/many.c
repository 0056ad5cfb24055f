/*
 * many.c -- the beginning of a world with several servers, and what a choice does to it.
 */
#include "lab/world/many.h"
#include "lab/base/token_number.h"

/* Of its own account, at one moment: give back what came too late, try once more, renew, heal. */
enum { ASKS_PER_SERVER_MAX = 4 };

void bwl_many_start(bwl_many_world *w, const bwl_many_scenario *s)
{
    assert(s->clients <= BWL_MANY_CLIENTS);
    assert(s->servers <= BWL_MANY_SERVERS);
    *w = (bwl_many_world){ .scenario = s, .now = BWL_BEGINNING_MS };
    for (unsigned i = 0; i < BWL_MANY_BUDGETS_COUNT; i++)
        w->left[i] = s->budget[i];
    for (unsigned i = 0; i < s->clients; i++) {
        w->clients[i].rounds_left = (uint8_t)s->rounds;
        w->clients[i].wake_at     = BWL_NEVER;
    }
}

/* ---- the callers ----------------------------------------------------------------------------- */

/* The end of an operation, or of a hold, which is told once. */
static void end_told(bwl_many_world *w, bwl_many_client *c, bwl_outcome_kind kind)
{
    bool is_fine = !c->is_told_end;

    if (kind == BWL_LOST)
        is_fine = is_fine && (c->is_working || c->releases);
    else if (kind == BWL_RELEASED)
        is_fine = is_fine && c->releases;
    else if (kind == BWL_CANCELLED)
        is_fine = is_fine && c->cancels;
    else
        is_fine = is_fine && !c->is_working;
    if (!is_fine)
        w->broken |= BWL_MANY_LAW_TOLD;
    c->is_told_end = true;
    c->is_working  = false;
    c->was_slow    = false;
}

static bool all_are_well(const bwl_many_world *w)
{
    for (unsigned k = 0; k < w->scenario->servers; k++)
        if (w->servers[k].was_faulty)
            return false;
    return !w->was_lossy && !w->was_kept;
}

static void heard(bwl_many_world *w, bwl_many_client *c, const bwl_outcome *out)
{
    if (out->kind == BWL_PENDING)
        return;
    if (out->kind == BWL_HELD) {
        if (c->is_working || c->releases || c->is_told_end || c->cancels)
            w->broken |= BWL_MANY_LAW_TOLD;
        w->got_lock   = true;
        c->is_working = true;
        return;
    }
    if (out->kind == BWL_LOST && c->is_working && all_are_well(w) && !w->scenario->never_renews)
        w->broken |= BWL_MANY_LAW_KEEPS;
    end_told(w, c, out->kind);
}

static void put(bwl_many_world *w, unsigned client, const bwl_ask *ask)
{
    bwl_many_client *c    = &w->clients[client];
    bwl_many_line   *line = &w->lines[client][ask->node];

    assert(ask->node < w->scenario->servers);
    if (++c->asked_now > ASKS_PER_SERVER_MAX * w->scenario->servers)
        w->broken |= BWL_MANY_LAW_PAUSES;
    assert(line->count < BWL_MANY_LETTERS);
    line->letters[line->count++] = (bwl_many_letter){
        .kind     = BWL_LETTER_QUESTION,
        .word     = ask->word,
        .heals    = ask->word == REDIS_SET_IF_ABSENT && bwl_hold_is_held(&c->hold),
        .token    = bwl_token_read(c->hold.claim.token),
        .tag      = (uint16_t)ask->tag,
        .round    = c->round,
        .asked_ms = (uint16_t)(w->now - BWL_BEGINNING_MS),
    };
}

/* Can this answer still do anything?  If not now, then never. */
static bool matters(const bwl_many_client *c, const bwl_many_letter *letter)
{
    const bwl_redlock_state *r = (const bwl_redlock_state *)(const void *)c->hold.memory;

    if (!c->is_running || letter->round != c->round || letter->tag != (uint16_t)r->round)
        return false;
    return !r->is_decided || r->verb == BWL_EXTEND;
}

static void drop_first(bwl_many_line *line)
{
    line->count--;
    line->answered--;
    for (unsigned i = 0; i < line->count; i++)
        line->letters[i] = line->letters[i + 1];
    line->letters[line->count] = (bwl_many_letter){ 0 };
}

/* Answers that do nothing are not worth a step. */
static void tidy(bwl_many_world *w, unsigned client)
{
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        bwl_many_line *line = &w->lines[client][k];
        while (line->answered > 0 && !matters(&w->clients[client], &line->letters[0]))
            drop_first(line);
    }
}

static void after(bwl_many_world *w, unsigned client, const bwl_effects *fx)
{
    bwl_many_client *c = &w->clients[client];

    for (unsigned i = 0; i < fx->asks_count; i++)
        put(w, client, &fx->asks[i]);
    if (fx->wake_at != 0)
        c->wake_at = fx->wake_at;
    heard(w, c, &fx->outcome);
    if (c->hold.state == BWL_HOLD_OVER) {
        if (!c->is_told_end)
            w->broken |= BWL_MANY_LAW_TOLD;
        c->is_running = false;
        c->is_working = false;
        c->wake_at    = BWL_NEVER;
    }
}

/* New bytes, if the last ones were used. */
static bwl_random fresh(bwl_many_world *w, unsigned client)
{
    bwl_many_client *c    = &w->clients[client];
    uint16_t         last = bwl_token_read(c->hold.claim.token);

    if (last != 0 && bwl_token_serial(last) > c->tokens)
        c->tokens = (uint16_t)bwl_token_serial(last);
    return bwl_token_random(bwl_token_number(client, c->tokens + 1u), 0);
}

static void event(bwl_many_world *w, unsigned client, bwl_event ev)
{
    bwl_effects fx = { 0 };

    ev.now   = w->now;
    ev.fresh = fresh(w, client);
    bwl_hold_event(&w->clients[client].hold, &ev, &fx);
    after(w, client, &fx);
}

static void start(bwl_many_world *w, unsigned client)
{
    const bwl_many_scenario *s      = w->scenario;
    bwl_many_client         *c      = &w->clients[client];
    bwl_random               random = fresh(w, client);
    bwl_effects              fx     = { 0 };
    bwl_terms                terms  = { .lease_ms    = s->lease_ms,
                                        .max_hold_ms = BWL_NEVER,
                                        .answer_ms   = s->answer_ms,
                                        .renews      = !s->never_renews,
                                        .drift_ppm   = s->drift_ppm };

    c->rounds_left--;
    c->round++;
    c->is_running  = true;
    c->is_working  = false;
    c->was_slow    = false;
    c->is_told_end = false;
    c->releases    = false;
    c->cancels     = false;
    c->asked_now   = 0;
    bwl_hold_init(&c->hold, s->protocol, s->servers, &terms);
    bwl_hold_acquire(&c->hold, &random, (bwl_moment){ .now = w->now },
                     bwl_later(w->now, s->wait_ms), &fx);
    after(w, client, &fx);
}

static void release(bwl_many_world *w, unsigned client)
{
    bwl_many_client *c  = &w->clients[client];
    bwl_effects      fx = { 0 };

    c->asked_now  = 0;
    c->releases   = true;
    c->is_working = false;
    c->was_slow   = false;
    bwl_hold_release(&c->hold, (bwl_moment){ .now = w->now }, &fx);
    after(w, client, &fx);
}

static void give_up(bwl_many_world *w, unsigned client)
{
    bwl_effects fx = { 0 };

    w->clients[client].asked_now = 0;
    w->clients[client].cancels   = true;
    bwl_hold_cancel(&w->clients[client].hold, w->now, &fx);
    after(w, client, &fx);
}

/* ---- the servers ----------------------------------------------------------------------------- */

static bool carry_out_extend(bwl_many_server *server, const bwl_many_letter *letter, int32_t lease)
{
    if (server->owner != letter->token)
        return false;
    if (server->ends_in < lease)
        server->ends_in = lease;
    return true;
}

static bwl_answer carry_out(bwl_many_world *w, unsigned k, const bwl_many_letter *letter)
{
    bwl_many_server *server = &w->servers[k];
    uint16_t         was    = server->owner;
    int32_t          lease  = (int32_t)w->scenario->lease_ms * BWL_MANY_PER_MS;
    bool             yes    = was == letter->token;

    switch ((bwl_redis_word)letter->word) {
    case REDIS_SET_IF_ABSENT:
    case REDIS_SET_IF_ABSENT_OR_MINE:
        if (was == 0 && server->young_for > 0 && w->scenario->young_wait && !letter->heals)
            return BWL_LATER;
        yes = was == 0 || (yes && letter->word == REDIS_SET_IF_ABSENT_OR_MINE);
        if (was == 0) {
            server->owner   = letter->token;
            server->ends_in = lease;
        }
        break;
    case REDIS_SWAP: /* planted: whoever has it */
        yes             = true;
        server->owner   = letter->token;
        server->ends_in = lease;
        break;
    case REDIS_EXTEND_IF_MINE: yes = carry_out_extend(server, letter, lease); break;
    default:
        assert(letter->word == REDIS_DELETE_IF_MINE);
        if (yes)
            server->owner = 0;
        break;
    }
    if (was != 0 && was != letter->token && server->owner != was)
        w->broken |= BWL_MANY_LAW_OWN_KEY;
    return yes ? BWL_YES : BWL_NO;
}

static void serve(bwl_many_world *w, unsigned client, unsigned k, bool denies)
{
    bwl_many_line   *line   = &w->lines[client][k];
    bwl_many_letter *letter = &line->letters[line->answered++];

    letter->answer = (uint8_t)(denies ? BWL_LATER : carry_out(w, k, letter));
    letter->kind   = BWL_LETTER_ANSWER;
    if (denies)
        w->servers[k].was_faulty = true;
}

static void serve_late(bwl_many_world *w, unsigned client, unsigned k)
{
    bwl_many_line *line = &w->lines[client][k];

    (void)carry_out(w, k, &line->late[0]); /* nobody hears the answer */
    line->late_count--;
    for (unsigned i = 0; i < line->late_count; i++)
        line->late[i] = line->late[i + 1];
    line->late[line->late_count] = (bwl_many_letter){ 0 };
}

static void deliver(bwl_many_world *w, unsigned client, unsigned k)
{
    bwl_many_line   *line   = &w->lines[client][k];
    bwl_many_letter  letter = line->letters[0];
    bwl_many_client *c      = &w->clients[client];

    drop_first(line);
    if (!c->is_running || letter.round != c->round)
        return;
    event(w, client,
          (bwl_event){ .kind   = letter.kind == BWL_LETTER_ANSWER ? BWL_REPLY : BWL_DOWN,
                       .node   = (uint8_t)k,
                       .tag    = letter.tag,
                       .answer = (bwl_answer)letter.answer });
}

/* What was not carried out may be, later; the client hears of every question that there will be no
 * answer. */
static void break_line(bwl_many_world *w, unsigned client, unsigned k)
{
    bwl_many_line *line = &w->lines[client][k];

    w->was_lossy = true;
    for (unsigned i = line->answered; i < line->count; i++)
        if (line->late_count < BWL_MANY_LATE)
            line->late[line->late_count++] = line->letters[i];
    for (unsigned i = 0; i < line->count; i++)
        line->letters[i].kind = BWL_LETTER_CUT_OFF;
    line->answered = line->count;
}

static void crash(bwl_many_world *w, unsigned client)
{
    bwl_many_client *c = &w->clients[client];

    for (unsigned k = 0; k < w->scenario->servers; k++) {
        bwl_many_line *line = &w->lines[client][k];
        break_line(w, client, k);
        for (unsigned i = 0; i < line->count; i++)
            line->letters[i] = (bwl_many_letter){ 0 };
        line->count = line->answered = 0;
    }
    c->is_running = c->is_working = c->was_slow = false;
    c->is_gone                                  = true;
    c->wake_at                                  = BWL_NEVER;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void server_passes(bwl_many_server *server, bwl_ms hundredths)
{
    if (server->owner != 0 && server->ends_in <= hundredths)
        server->owner = 0;
    server->ends_in = server->owner != 0 ? server->ends_in - (int32_t)hundredths : 0;
    server->young_for =
        server->young_for > hundredths ? server->young_for - (int32_t)hundredths : 0;
}

static void pass(bwl_many_world *w)
{
    bwl_ms by = bwl_many_next_instant(w) - w->now;

    assert(by > 0);
    w->was_kept = w->was_kept || bwl_many_is_urgent(w);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        bwl_many_client *c = &w->clients[i];
        c->asked_now       = 0;
        if (c->is_working && c->wake_at <= w->now && !bwl_many_believes(w, i))
            c->was_slow = true; /* its alarm was due, and nobody looked */
    }
    w->now += by;
    for (unsigned k = 0; k < w->scenario->servers; k++)
        server_passes(&w->servers[k], by * w->scenario->server_pace);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* What it was asked and has not carried out, nobody will; what it has answered is lost. */
static void cut_lines(bwl_many_world *w, unsigned k)
{
    for (unsigned client = 0; client < w->scenario->clients; client++) {
        bwl_many_line *line = &w->lines[client][k];
        for (unsigned i = 0; i < line->count; i++)
            line->letters[i].kind = BWL_LETTER_CUT_OFF;
        line->answered = line->count;
        for (unsigned i = 0; i < BWL_MANY_LATE; i++)
            line->late[i] = (bwl_many_letter){ 0 };
        line->late_count = 0;
    }
}

static void of_server(bwl_many_world *w, bwl_many_kind kind, unsigned k)
{
    bwl_many_server *server = &w->servers[k];

    server->was_faulty = true;
    if (kind == BWL_MANY_COME_BACK) {
        cut_lines(w, k);
        server->owner   = 0;
        server->ends_in = 0;
        server->young_for =
            w->scenario->young_wait ? (int32_t)w->scenario->lease_ms * BWL_MANY_PER_MS : 0;
    } else if (kind == BWL_MANY_STEP_CLOCK) {
        server_passes(server, w->scenario->jump_ms * BWL_MANY_PER_MS);
    } else {
        server->is_stopped = kind == BWL_MANY_HALT;
    }
}

void bwl_many_perform(bwl_many_world *w, bwl_choice choice)
{
    bwl_many_budget budget = bwl_many_pays(w, choice);
    bwl_many_kind   kind   = (bwl_many_kind)choice.kind;

    w->broken   = 0;
    w->got_lock = false;
    assert(budget == BWL_MANY_NO_BUDGET || w->left[budget] > 0);
    if (budget != BWL_MANY_NO_BUDGET)
        w->left[budget]--;
    switch (kind) {
    case BWL_MANY_START: start(w, choice.client); break;
    case BWL_MANY_RELEASE: release(w, choice.client); break;
    case BWL_MANY_GIVE_UP: give_up(w, choice.client); break;
    case BWL_MANY_ALARM: event(w, choice.client, (bwl_event){ .kind = BWL_ALARM }); break;
    case BWL_MANY_SERVE: serve(w, choice.client, choice.which, false); break;
    case BWL_MANY_DENY: serve(w, choice.client, choice.which, true); break;
    case BWL_MANY_SERVE_LATE: serve_late(w, choice.client, choice.which); break;
    case BWL_MANY_DELIVER: deliver(w, choice.client, choice.which); break;
    case BWL_MANY_PASS: pass(w); break;
    case BWL_MANY_BREAK:
    case BWL_MANY_TIME_OUT: break_line(w, choice.client, choice.which); break;
    case BWL_MANY_FAIL: crash(w, choice.client); break;
    case BWL_MANY_COME_BACK:
    case BWL_MANY_STEP_CLOCK:
    case BWL_MANY_HALT:
    case BWL_MANY_GO_ON: of_server(w, kind, choice.which); break;
    }
    for (unsigned i = 0; i < w->scenario->clients; i++)
        tidy(w, i);
}
