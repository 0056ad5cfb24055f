/*
 * table.c -- the table of scenarios, in three parts: invariants that hold, the limits of a lease,
 * and planted faults.  See table.h.
 *
 * The lease is 30 ms: drift allowance 2, renewal after 10, pauses of 5, 10, 20 ... between
 * attempts.  So all deadlines of the machines are close together, and every order of them occurs.
 */
#include "lab/scenario/table.h"
#include "lab/scenario/tables.h"
#include "lab/model/queue.h"
#include "lab/mutant/mutant.h"
#include "protocol/token_lock.h"
#include <string.h>

enum { LEASE_MS = 30, ANSWER_MS = 15, WAIT_MS = 45, EXTEND_MS = 20, STEP_MS = 30, TRUE_PACE = 100 };

const bwl_compat_rules bwl_lab_rules_literal   = { .value = BWL_VALUE_LITERAL, .literal = "1" };
const bwl_compat_rules bwl_lab_rules_literal_s = { .value            = BWL_VALUE_LITERAL,
                                                   .literal          = "1",
                                                   .lease_in_seconds = true };
const bwl_compat_rules bwl_lab_rules_token     = { .value = BWL_VALUE_TOKEN };
const bwl_compat_rules bwl_lab_rules_token_s   = { .value            = BWL_VALUE_TOKEN,
                                                   .lease_in_seconds = true };

static const bwl_scenario table[] = {
    /* ---- what must hold: every invariant, in every state ------------------------------------- */
    ROW("calm", "nothing goes wrong", .rounds = 2),
    ROW("slow", "messages and clients are late four times", SLOW(4)),
    ROW("slow-twice", "two rounds: late messages of the first arrive in the second", .rounds = 2,
        SLOW(2)),
    ROW("slow-at-will", "delays have no limit; no client waits for the lock", .rounds = 2,
        .tries_once = true, SLOW(BWL_ANY)),
    ROW("slow-at-will-waiting", "delays have no limit; leases are not renewed",
        .never_renews = true, SLOW(BWL_ANY)),
    ROW("loss", "a connection breaks, and its requests may be executed much later", SLOW(2),
        LOSS(1)),
    ROW("loss-twice", "the request that resolves a lost one is lost too", SLOW(1), LOSS(2)),
    ROW("loss-next-round", "a request that was lost in one round is executed in the next",
        .rounds = 2, SLOW(1), LOSS(1)),
    ROW("loss-slow-at-will", "a loss, and delays have no limit", .rounds = 2, .tries_once = true,
        .never_renews = true, SLOW(BWL_ANY), LOSS(1)),
    ROW("crash", "a client dies at any moment, and restarts", .rounds = 2, SLOW(1), CRASH(1)),
    ROW("crash-and-loss", "a client dies after a loss, or the reverse", SLOW(1), LOSS(1), CRASH(1)),
    ROW("denial", "the server returns a temporary error, or no permission, in place of any reply",
        SLOW(1), LOSS(1), DENIAL(1), REFUSAL(1)),
    ROW("cancel", "a caller cancels at any moment", SLOW(1), LOSS(1), CANCEL(1)),
    ROW("extend", "a caller extends, to less than the lease", SLOW(1), LOSS(1),
        EXTEND_BY_CALLER(1)),
    ROW("extend-longer", "a caller extends twice, to twice the lease, and nothing else renews",
        .extend_ms = 60, .never_renews = true, SLOW(1), LOSS(1), EXTEND_BY_CALLER(2)),
    ROW("max-hold", "the maximum hold ends, although renewals succeed",
        .terms = { .max_hold_ms = 37 }, SLOW(2), LOSS(1)),
    ROW("clock-fast", "the server's clock is as fast as the drift allowance covers",
        .clocks.server_pace = 106, SLOW(2), LOSS(1)),
    ROW("clock-slow", "the server's clock is slow", .clocks.server_pace = 94, SLOW(2), LOSS(1)),
    ROW("to-the-millisecond",
        "everything also happens just before each deadline, with pauses of two lengths",
        .fine = true, .chances = true, SLOW(2)),
    ROW("three", "three clients", .clients = 3, SLOW(2)),
    ROW("three-loss", "three clients, one of which loses its connection", .clients = 3,
        .tries_once = true, SLOW(1), LOSS(1)),
    ROW("for-ever", "endless rounds: from every state some client can still get the lock", ENDLESS,
        .invariants = BWL_INVARIANTS_USUAL, LOSS(1)),
    ROW("for-ever-crash", "the same, with a client that dies", ENDLESS,
        .invariants = BWL_INVARIANTS_USUAL, SLOW(1), CRASH(1)),
    ROW("server-forgets", "a server restarts empty: no client does harm by what it can know",
        .invariants = INVARIANTS_ONE_CLIENT, SLOW(1), LOSS(1), RESTART(1)),
    ROW("server-clock-back", "the server's clock is set back: waiting takes longer, nothing else",
        .clocks.jump_ms = -30,
        .invariants =
            BWL_INVARIANTS_USUAL & ~(unsigned)(BWL_INVARIANT_HAS_END | BWL_INVARIANTS_BACKWARDS),
        SLOW(1), LOSS(1), JUMP(1)),
    ROW("everything", "three clients, three rounds, and everything goes wrong twice", .clients = 3,
        .rounds = 3, .fine = true, .chances = true, .is_vast = true, SLOW(BWL_ANY), LOSS(3),
        CRASH(2), DENIAL(2), REFUSAL(1), CANCEL(2), EXTEND_BY_CALLER(2), RATE(2)),

    /* ---- the limits of a lease without a fence ----------------------------------------------- */
    ROW("limit-pause", "a holder that is stopped for longer than its lease continues to work",
        SLOW(4), BREAKS_ONLY(NO_OVERLAP, 9)),
    ROW("limit-server-forgets", "a server restarts empty", RESTART(1), BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-server-clock-on", "the server's clock is set on by a lease", .clocks.jump_ms = 30,
        JUMP(1), BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-clock-too-fast", "the server's clock is faster than the drift allowance covers",
        .clocks.server_pace = 120, .never_renews = true, .fine = true, SLOW(2),
        BREAKS_ONLY(ONE_HOLDER, 7)),

    /* ---- planted in the server, the client's engine, the randomness -------------------------- */
    ROW("planted-delete-blind", "the server deletes without comparing", PLANTED(DELETE_BLIND),
        SLOW(2), LOSS(1), BREAKS_ONLY(OWN_KEY, 8)),
    ROW("planted-delete-blind-two", "the same, until two clients work that were never slow",
        PLANTED(DELETE_BLIND), .clients = 3, SLOW(2), LOSS(1), BREAKS_ONLY(ONE_WORKER, 12)),
    ROW("planted-extend-blind", "the server extends without comparing", PLANTED(EXTEND_BLIND),
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_ONE_HOLDER, SLOW(2), LOSS(1),
        BREAKS(OWN_KEY, 12)),
    ROW("planted-extend-creates", "an extension that comes too late sets the key again",
        PLANTED(EXTEND_CREATES), SLOW(2), LOSS(1), BREAKS_ONLY(CREATES, 8)),
    ROW("planted-extend-shortens", "an extension may shorten the lease", PLANTED(EXTEND_SHORTENS),
        .never_renews = true, EXTEND_BY_CALLER(1), SLOW(1), BREAKS_ONLY(ONE_HOLDER, 9)),
    ROW("planted-set-lasts", "the server sets the key without an expiry", PLANTED(SET_LASTS),
        BREAKS_ONLY(HAS_END, 3)),
    ROW("planted-set-lasts-for-ever", "the same, until no client can get the lock any more",
        PLANTED(SET_LASTS), FOR_EVER, .never_renews = true, CRASH(1), BREAKS_ONLY(LIVE, 3)),
    ROW("planted-set-overwrites", "the server overwrites the key of any holder",
        PLANTED(SET_OVERWRITES), BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("planted-one-token",
        "all attempts of a client have the same token: a late release is as good as a new one",
        PLANTED(ONE_TOKEN), .rounds = 2, LOSS(1), BREAKS_ONLY(ONE_HOLDER, 17)),
    ROW("planted-resends",
        "a new connection repeats requests without a reply, and finds the client's own key",
        PLANTED(RESENDS), LOSS(1), BREAKS_ONLY(TAKEN_BACK, 7)),
    ROW("planted-keeps-unread",
        "a connection is used after an unread reply: each reply belongs to the request before",
        PLANTED(KEEPS_UNREAD), .rounds = 2, LOSS(1), SLOW(1), BREAKS_ONLY(ONE_HOLDER, 12)),

    /* ---- planted in the protocol ------------------------------------------------------------- */
    ROW("mutant-from-answer", "the lease is counted from the answer", OF(mutant_from_answer),
        SLOW(2), BREAKS_ONLY(ONE_HOLDER, 8)),
    ROW("mutant-from-answer-honest", "the same, seen as soon as the client relies on too much time",
        OF(mutant_from_answer), SLOW(1), BREAKS_ONLY(HONEST, 4)),
    ROW("mutant-no-drift", "no drift allowance, and the server's clock is fast",
        OF(mutant_no_drift), .clocks.server_pace = 106, .never_renews = true, .fine = true, SLOW(2),
        BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("mutant-from-resolving", "a resolved acquire counts its lease from the second request",
        OF(mutant_from_resolving), SLOW(2), LOSS(1), BREAKS_ONLY(ONE_HOLDER, 13)),
    ROW("mutant-no-is-yes", "while resolving, a no counts as our own key", OF(mutant_no_is_yes),
        LOSS(1), BREAKS_ONLY(ONE_HOLDER, 10)),
    ROW("mutant-down-is-no", "an acquire without a reply counts as no", OF(mutant_down_is_no),
        LOSS(1), BREAKS_ONLY(TAKEN_BACK, 6)),
    ROW("mutant-down-is-yes", "an acquire without a reply counts as yes", OF(mutant_down_is_yes),
        LOSS(1), BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("mutant-down-extends", "an extension without a reply counts as yes",
        OF(mutant_down_extends), LOSS(1), SLOW(1), BREAKS_ONLY(ONE_HOLDER, 12)),
    ROW("mutant-down-loses", "an extension without a reply counts as no", OF(mutant_down_loses),
        LOSS(1), BREAKS_ONLY(KEEPS, 7)),
    ROW("mutant-down-releases", "a release without a reply counts as done",
        OF(mutant_down_releases), LOSS(1), BREAKS_ONLY(REPORTED, 6)),
    ROW("mutant-deaf-to-loss", "a no to an extension counts as yes", OF(mutant_deaf_to_loss),
        RESTART(1), BREAKS_ONLY(HEEDS_NO, 8)),
    ROW("mutant-any-answer", "any reply counts as that of the last request", OF(mutant_any_answer),
        .invariants = BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS, LOSS(1), SLOW(1),
        BREAKS(REPORTED, 8)),
    ROW("mutant-silent", "a broken connection is not noticed: the client waits for ever",
        OF(mutant_silent), LOSS(1), BREAKS_ONLY(NOT_STUCK, 3)),
};

static const bwl_scenario_table of_token = { table, sizeof table / sizeof table[0] };

static const bwl_scenario_table *const tables[] = {
    &of_token,
    &bwl_scenarios_of_queue,
    &bwl_scenarios_of_share,
    &bwl_scenarios_of_frameworks,
    &bwl_scenarios_of_world,
    &bwl_scenarios_of_articles,
};

enum { TABLES_COUNT = sizeof tables / sizeof tables[0] };

size_t bwl_scenarios_count(void)
{
    size_t count = 0;

    for (size_t i = 0; i < TABLES_COUNT; i++)
        count += tables[i]->count;
    return count;
}

static const bwl_scenario *row(size_t i)
{
    for (size_t t = 0; t < TABLES_COUNT; t++) {
        if (i < tables[t]->count)
            return &tables[t]->list[i];
        i -= tables[t]->count;
    }
    bwl_unreachable("there are not so many scenarios");
}

static bwl_ms usually(bwl_ms value, bwl_ms usual)
{
    return value != 0 ? value : usual;
}

/* The slowest clock, in whole per cent, with which a lease does not expire in the store before its
 * holder thinks so.  A waiter counts a pushed grant from before the push, back over its whole wait:
 * then the clock may be one per cent slow, whatever the lease. */
static unsigned slowest_allowed(const bwl_scenario *s)
{
    enum { ONE_LESS = TRUE_PACE - 1 };
    bwl_ms lease_ms   = s->terms.lease_ms;
    bwl_ms counted_ms = lease_ms - bwl_drift_ms(lease_ms);

    if (s->protocol->uses_push)
        return ONE_LESS;
    return (unsigned)((counted_ms * TRUE_PACE + lease_ms - 1) / lease_ms);
}

bwl_scenario bwl_scenario_complete(bwl_scenario s)
{
    s.protocol           = s.protocol != NULL ? s.protocol : &bwl_token;
    s.terms.lease_ms     = usually(s.terms.lease_ms, LEASE_MS);
    s.terms.max_hold_ms  = usually(s.terms.max_hold_ms, BWL_NEVER);
    s.terms.answer_ms    = usually(s.terms.answer_ms, ANSWER_MS);
    s.terms.renews       = !s.never_renews && s.protocol->extends;
    s.wait_ms            = s.tries_once ? 0 : usually(s.wait_ms, WAIT_MS);
    s.extend_ms          = usually(s.extend_ms, EXTEND_MS);
    s.clocks.wall_ms     = usually(s.clocks.wall_ms, STEP_MS);
    s.clocks.server_pace = s.clocks.server_pace != 0 ? s.clocks.server_pace : TRUE_PACE;
    s.clocks.rate_pace   = s.clocks.rate_pace != 0 ? s.clocks.rate_pace : slowest_allowed(&s);
    for (unsigned i = 0; i < BWL_CLIENTS_MAX; i++) {
        s.clocks.pace_of[i] = s.clocks.pace_of[i] != 0 ? s.clocks.pace_of[i] : TRUE_PACE;
        s.lease_of_ms[i]    = usually(s.lease_of_ms[i], s.terms.lease_ms);
    }
    s.queue.serve_max = s.queue.serve_max != 0 ? s.queue.serve_max : BWL_MODEL_SERVE_MAX;
    s.server.evicts   = s.server.evicts != 0 ? s.server.evicts : 1u << BWL_MODEL_LOCK;
    s.servers         = s.servers != 0 ? s.servers : 1;
    s.clients         = s.clients != 0 ? s.clients : 2;
    s.rounds          = s.rounds != 0 ? s.rounds : 1;
    if (s.invariants == 0)
        s.invariants = BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS;
    return s;
}

bwl_scenario bwl_scenario_at(size_t i)
{
    assert(i < bwl_scenarios_count());
    return bwl_scenario_complete(*row(i));
}

bool bwl_scenario_find(const char *name, size_t *ret_i)
{
    for (size_t i = 0; i < bwl_scenarios_count(); i++)
        if (strcmp(row(i)->name, name) == 0) {
            *ret_i = i;
            return true;
        }
    return false;
}
