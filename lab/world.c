/*
 * world.c -- the beginning of a world, and what a choice does to it.  See world.h.
 */
#include "lab/world.h"
#include "lab/client.h"
#include "lab/connection.h"
#include "lab/model_words.h"
#include "lab/token_number.h"

enum { BEGINNING_MS = 1000000 }; /* far from 0, so that no moment is confused with "never set" */

void bwl_world_start(bwl_world *w, const bwl_scenario *s)
{
    assert(s->clients >= 2);
    assert(s->clients <= BWL_CLIENTS_MAX);
    *w = (bwl_world){ .scenario = s, .now = BEGINNING_MS };
    bwl_model_redis_start(&w->redis, BEGINNING_MS);
    for (unsigned i = 0; i < BWL_BUDGETS_COUNT; i++)
        w->left[i] = s->budget[i];
    for (unsigned i = 0; i < s->clients; i++) {
        w->clients[i].rounds_left = (uint8_t)s->rounds;
        w->clients[i].wake_at     = BWL_NEVER;
    }
}

/* ---- the server ------------------------------------------------------------------------------ */

static void note_removed(bwl_world *w, uint16_t token)
{
    unsigned client = bwl_token_client(token);

    if (w->clients[client].is_running && bwl_world_token_of(w, client) == token)
        w->clients[client].is_removed = true;
}

/* Carries the letter out, and looks whether it did what no question may do. */
static bwl_answer serve(bwl_world *w, const bwl_letter *letter)
{
    uint16_t           was_of   = bwl_model_owner(&w->redis);
    int64_t            was_left = bwl_model_left(&w->redis);
    bwl_model_question question = {
        .word     = (bwl_redis_word)letter->word,
        .client   = (uint8_t)bwl_token_client(letter->token),
        .token    = letter->token,
        .lease_ms = letter->lease_ms,
    };
    bwl_answer answer      = bwl_model_redis_serve(&w->redis, &question, w->scenario->twists);
    uint16_t   is_of       = bwl_model_owner(&w->redis);
    bool       has_changed = was_of != is_of || was_left != bwl_model_left(&w->redis);
    bool       is_acquire =
        letter->word == REDIS_SET_IF_ABSENT || letter->word == REDIS_SET_IF_ABSENT_OR_MINE;

    if (has_changed && was_of != 0 && was_of != letter->token)
        w->broken |= BWL_LAW_OWN_KEY;
    if (was_of == 0 && is_of != 0 && !is_acquire)
        w->broken |= BWL_LAW_CREATES;
    if (was_of != is_of)
        w->key_excused = w->key_late = false;
    if (letter->word == REDIS_DELETE_IF_MINE && answer == BWL_YES && was_of == letter->token)
        note_removed(w, letter->token);
    return answer;
}

static void serve_next(bwl_world *w, unsigned client, unsigned instead)
{
    bwl_lab_client *c      = &w->clients[client];
    bwl_letter     *letter = &c->letters[c->answered];

    assert(c->answered < c->letters_count);
    letter->answer = (uint8_t)(instead != 0 ? instead : serve(w, letter));
    letter->kind   = BWL_LETTER_ANSWER;
    c->answered++;
}

static void serve_late(bwl_world *w, unsigned client, unsigned i)
{
    bwl_letter letter = bwl_connection_take_late(w, client, i);
    uint16_t   was_of = bwl_model_owner(&w->redis);

    (void)serve(w, &letter); /* nobody is there to hear the answer */
    if (was_of != bwl_model_owner(&w->redis) && bwl_model_owner(&w->redis) != 0)
        w->key_excused = w->key_late = true;
}

static void restart(bwl_world *w)
{
    bwl_model_redis_restart_empty(&w->redis);
    for (unsigned i = 0; i < w->scenario->clients; i++)
        bwl_connection_server_gone(w, i);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void pass(bwl_world *w, bwl_ms before_ms)
{
    bwl_ms by = bwl_world_next_instant(w) - before_ms - w->now;

    bool is_urgent = bwl_world_is_urgent(w);

    assert(by > 0);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        bwl_lab_client *c = &w->clients[i];
        c->asked_now      = 0;
        c->was_kept       = c->was_kept || is_urgent;
        if (c->is_working && c->wake_at <= w->now && bwl_world_believes(w, i) == 0)
            c->was_slow = true; /* its alarm was due, and nobody looked */
    }
    w->now += by;
    bwl_model_redis_pass(&w->redis, by * w->scenario->server_pace);
}

/* ---- one step -------------------------------------------------------------------------------- */

static bwl_budget paid_from(const bwl_world *w, bwl_choice choice)
{
    switch ((bwl_choice_kind)choice.kind) {
    case BWL_CHOICE_SERVE:
        if (choice.which == 0)
            return 0;
        return choice.which == BWL_LATER ? BWL_DENIAL : BWL_REFUSAL;
    case BWL_CHOICE_PASS: return bwl_world_is_urgent(w) ? BWL_SLOW : 0;
    case BWL_CHOICE_EXTEND: return BWL_EXTEND_BY_CALLER;
    case BWL_CHOICE_CANCEL: return BWL_CANCEL;
    case BWL_CHOICE_BREAK:
    case BWL_CHOICE_STOP_WAITING: return BWL_LOSS;
    case BWL_CHOICE_CRASH: return BWL_CRASH;
    case BWL_CHOICE_RESTART: return BWL_RESTART;
    case BWL_CHOICE_JUMP: return BWL_JUMP;
    case BWL_CHOICE_SERVE_LATE:
    case BWL_CHOICE_DELIVER:
    case BWL_CHOICE_ALARM:
    case BWL_CHOICE_START:
    case BWL_CHOICE_RELEASE: return 0;
    }
    bwl_unreachable("no such choice");
}

static void pay(bwl_world *w, bwl_budget budget)
{
    if (budget == 0 || w->left[budget] == BWL_ANY)
        return;
    assert(w->left[budget] > 0);
    w->left[budget]--;
}

static void carry_out(bwl_world *w, bwl_choice choice)
{
    unsigned client = choice.client;

    switch ((bwl_choice_kind)choice.kind) {
    case BWL_CHOICE_SERVE: serve_next(w, client, choice.which); break;
    case BWL_CHOICE_SERVE_LATE: serve_late(w, client, choice.which); break;
    case BWL_CHOICE_DELIVER: bwl_connection_deliver(w, client, choice.chance); break;
    case BWL_CHOICE_ALARM: bwl_sim_client_alarm(w, client, choice.chance); break;
    case BWL_CHOICE_START: bwl_sim_client_start(w, client, choice.chance); break;
    case BWL_CHOICE_RELEASE: bwl_sim_client_release(w, client); break;
    case BWL_CHOICE_EXTEND: bwl_sim_client_extend(w, client); break;
    case BWL_CHOICE_CANCEL: bwl_sim_client_cancel(w, client); break;
    case BWL_CHOICE_PASS: pass(w, choice.which); break;
    case BWL_CHOICE_BREAK: bwl_connection_break(w, client, choice.which); break;
    case BWL_CHOICE_STOP_WAITING: bwl_connection_stop_waiting(w, client); break;
    case BWL_CHOICE_CRASH: bwl_sim_client_crash(w, client); break;
    case BWL_CHOICE_RESTART: restart(w); break;
    case BWL_CHOICE_JUMP:
        bwl_model_redis_pass(&w->redis, w->scenario->jump_ms * BWL_MODEL_PER_MS);
        break;
    }
}

void bwl_world_perform(bwl_world *w, bwl_choice choice)
{
    w->broken   = 0;
    w->got_lock = false;
    pay(w, paid_from(w, choice));
    carry_out(w, choice);
}

uint16_t bwl_world_token_of(const bwl_world *w, unsigned client)
{
    return bwl_token_read(w->clients[client].hold.claim.token);
}
