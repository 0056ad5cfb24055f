/*
 * world.c -- the beginning of a world, and what a choice does to it.  See world.h.
 */
#include "lab/world.h"
#include "lab/client.h"
#include "lab/connection.h"
#include "lab/ghost.h"
#include "lab/server_fault.h"
#include "lab/token_number.h"

enum { BEGINNING_MS = 1000000 }; /* far from 0, so that no moment is confused with "never set" */

void bwl_world_start(bwl_world *w, const bwl_scenario *s)
{
    assert(s->clients >= 2);
    assert(s->clients <= BWL_CLIENTS_MAX);
    *w = (bwl_world){ .scenario = s, .now = BEGINNING_MS };
    for (unsigned i = 0; i < BWL_BUDGETS_COUNT; i++)
        w->left[i] = s->budget[i];
    for (unsigned i = 0; i < s->clients; i++) {
        w->clients[i].rounds_left = (uint8_t)s->rounds;
        w->clients[i].wake_at     = BWL_NEVER;
        w->clients[i].skew_ms     = s->skew_ms[i];
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
static bwl_answer serve(bwl_world *w, unsigned client, const bwl_letter *letter)
{
    bwl_model_redis    before   = w->redis;
    bwl_model_question question = {
        .word     = (bwl_redis_word)letter->word,
        .token    = letter->token,
        .lease_ms = letter->lease_ms,
    };
    bwl_answer answer      = bwl_model_redis_serve(&w->redis, &question, w->scenario->twists);
    bool       has_changed = before.owner != w->redis.owner || before.left != w->redis.left ||
                       before.lasts != w->redis.lasts;
    bool is_acquire =
        letter->word == REDIS_SET_IF_ABSENT || letter->word == REDIS_SET_IF_ABSENT_OR_MINE;

    if (has_changed && before.owner == BWL_TOKEN_OF_STRANGER)
        w->broken |= BWL_LAW_FOREIGN;
    else if (has_changed && before.owner != 0 && before.owner != letter->token)
        w->broken |= BWL_LAW_OWN_KEY;
    if (has_changed && w->left[BWL_FAILOVER] > 0)
        w->previous = before;
    if (before.owner == 0 && w->redis.owner != 0 && !is_acquire)
        w->broken |= BWL_LAW_CREATES;
    if (before.owner != w->redis.owner)
        w->key_excused = w->key_late = false;
    if (letter->word == REDIS_DELETE_IF_MINE && answer == BWL_YES && before.owner == letter->token)
        note_removed(w, letter->token);
    bwl_ghost_served(w, client, letter, &before);
    return answer;
}

static void serve_next(bwl_world *w, unsigned client, unsigned instead)
{
    bwl_lab_client *c      = &w->clients[client];
    bwl_letter     *letter = &c->letters[c->answered];

    assert(c->answered < c->letters_count);
    letter->answer = (uint8_t)(instead != 0 ? instead : serve(w, client, letter));
    letter->kind   = BWL_LETTER_ANSWER;
    c->answered++;
}

static void serve_late(bwl_world *w, unsigned client, unsigned i)
{
    bwl_letter      letter = bwl_connection_take_late(w, client, i);
    bwl_model_redis before = w->redis;

    (void)serve(w, client, &letter); /* nobody is there to hear the answer */
    if (before.owner != w->redis.owner && w->redis.owner != 0)
        w->key_excused = w->key_late = true;
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
    bwl_server_passes(w, by * w->scenario->server_pace);
}

/* ---- one step -------------------------------------------------------------------------------- */

bwl_budget bwl_choice_budget(const bwl_world *w, bwl_choice choice)
{
    switch ((bwl_choice_kind)choice.kind) {
    case BWL_CHOICE_SERVE:
        if (choice.which == 0)
            return BWL_BUDGET_NONE;
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
    case BWL_CHOICE_SERVE_LATE:
    case BWL_CHOICE_DELIVER:
    case BWL_CHOICE_ALARM:
    case BWL_CHOICE_START:
    case BWL_CHOICE_RELEASE:
    case BWL_CHOICE_SAVE: return BWL_BUDGET_NONE;
    }
    bwl_unreachable("no such choice");
}

static void pay(bwl_world *w, bwl_budget budget)
{
    if (budget == BWL_BUDGET_NONE || w->left[budget] == BWL_ANY)
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
    case BWL_CHOICE_RESTART: bwl_server_comes_back(w, &(bwl_model_redis){ 0 }); break;
    case BWL_CHOICE_JUMP: bwl_server_passes(w, w->scenario->jump_ms * BWL_MODEL_PER_MS); break;
    case BWL_CHOICE_SAVE: bwl_server_saves(w); break;
    case BWL_CHOICE_RESTORE: bwl_server_restores(w); break;
    case BWL_CHOICE_FAILOVER: bwl_server_fails_over(w); break;
    case BWL_CHOICE_EVICT: bwl_server_evicts(w); break;
    case BWL_CHOICE_STRANGER: bwl_server_meets_stranger(w); break;
    case BWL_CHOICE_STEP_WALL: w->clients[client].skew_ms += w->scenario->wall_ms; break;
    case BWL_CHOICE_WRITE: bwl_ghost_write(w, client); break;
    }
}

void bwl_world_perform(bwl_world *w, bwl_choice choice)
{
    w->broken   = 0;
    w->got_lock = false;
    pay(w, bwl_choice_budget(w, choice));
    carry_out(w, choice);
}

uint16_t bwl_world_token_of(const bwl_world *w, unsigned client)
{
    return bwl_token_read(w->clients[client].hold.claim.token);
}
