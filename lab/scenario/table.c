/*
 * table.c -- the table of scenarios, in three parts: what must hold, what a lease cannot give,
 * and planted faults.  See table.h.
 *
 * The lease is 30 ms: drift allowance 2, renewal after 10, pauses of 5, 10, 20 ... between
 * attempts. So all the deadlines of the machines lie close together, and every order of them comes
 * about.
 */
#include "lab/scenario/table.h"
#include "lab/scenario/tables.h"
#include "lab/model/queue.h"
#include "lab/mutant/token.h"
#include "protocol/token_lock.h"
#include <string.h>

enum { LEASE_MS = 30, ANSWER_MS = 15, WAIT_MS = 45, EXTEND_MS = 20, STEP_MS = 30, TRUE_PACE = 100 };

/* A world in which the server forgets or its clock is wrong: what still holds. */
enum {
    INVARIANTS_ONE_CLIENT = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_CREATES | BWL_INVARIANT_HAS_END |
                            BWL_INVARIANT_TOLD | BWL_INVARIANT_HEEDS_NO | BWL_INVARIANT_TAKEN_BACK |
                            BWL_INVARIANT_NOT_STUCK | BWL_INVARIANT_CLEAN_END,
};

static const bwl_scenario table[] = {
    /* ---- what must hold: every invariant, in every state ------------------------------------- */
    ROW("calm", "nothing goes wrong", .rounds = 2),
    ROW("slow", "messages and clients are late four times", .budget = { [BWL_SLOW] = 4 }),
    ROW("slow-twice", "two rounds, so that what is late from the first meets the second",
        .rounds = 2, .budget = { [BWL_SLOW] = 2 }),
    ROW("slow-at-will", "nothing is known about delays; nobody waits for the lock", .rounds = 2,
        .tries_once = true, .budget = { [BWL_SLOW] = BWL_ANY }),
    ROW("slow-at-will-waiting", "nothing is known about delays; leases are not renewed",
        .never_renews = true, .budget = { [BWL_SLOW] = BWL_ANY }),
    ROW("loss", "a connection breaks, and what was written may be carried out much later",
        .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }),
    ROW("loss-twice", "a question that settles another is lost as well",
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 2 }),
    ROW("loss-next-round", "what was lost in one round is carried out in the next", .rounds = 2,
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1 }),
    ROW("loss-slow-at-will", "a loss, and nothing is known about delays", .rounds = 2,
        .tries_once = true, .never_renews = true,
        .budget = { [BWL_SLOW] = BWL_ANY, [BWL_LOSS] = 1 }),
    ROW("crash", "a client dies at any moment, and begins anew", .rounds = 2,
        .budget = { [BWL_SLOW] = 1, [BWL_CRASH] = 1 }),
    ROW("crash-and-loss", "a client dies after a loss, or the other way round",
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_CRASH] = 1 }),
    ROW("denial", "the server says not now, or no permission, in place of any answer",
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_DENIAL] = 1, [BWL_REFUSAL] = 1 }),
    ROW("cancel", "a caller cancels at any moment",
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_CANCEL] = 1 }),
    ROW("extend", "a caller extends, to less than the lease",
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_EXTEND_BY_CALLER] = 1 }),
    ROW("extend-longer", "a caller extends twice, to twice the lease, and nothing else renews",
        .extend_ms = 60, .never_renews = true,
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_EXTEND_BY_CALLER] = 2 }),
    ROW("max-hold", "the longest time to hold is over, whatever the renewal says",
        .terms = { .max_hold_ms = 37 }, .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }),
    ROW("clock-fast", "the server's clock is fast by as much as the drift allowance allows",
        .clocks.server_pace = 106, .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }),
    ROW("clock-slow", "the server's clock is slow", .clocks.server_pace = 94,
        .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }),
    ROW("to-the-millisecond",
        "everything also happens just before each deadline, with pauses of two lengths",
        .fine = true, .chances = true, .budget = { [BWL_SLOW] = 2 }),
    ROW("three", "three clients", .clients = 3, .budget = { [BWL_SLOW] = 2 }),
    ROW("three-loss", "three clients, one of which loses its connection", .clients = 3,
        .tries_once = true, .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1 }),
    ROW("for-ever", "rounds without end: from every state on, somebody can still get the lock",
        .rounds = BWL_ANY, .wait_ms = BWL_NEVER, .invariants = BWL_INVARIANTS_USUAL,
        .budget = { [BWL_LOSS] = 1 }),
    ROW("for-ever-crash", "the same, with a client that dies", .rounds = BWL_ANY,
        .wait_ms = BWL_NEVER, .invariants = BWL_INVARIANTS_USUAL,
        .budget = { [BWL_SLOW] = 1, [BWL_CRASH] = 1 }),
    ROW("server-forgets",
        "a server restarts empty: nobody does harm, as far as one client can know",
        .invariants = INVARIANTS_ONE_CLIENT,
        .budget     = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_RESTART] = 1 }),
    ROW("server-clock-back", "the server's clock is set back: waiting takes longer, nothing else",
        .clocks.jump_ms = -30,
        .invariants =
            BWL_INVARIANTS_USUAL & ~(unsigned)(BWL_INVARIANT_HAS_END | BWL_INVARIANTS_BACKWARDS),
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_JUMP] = 1 }),
    ROW("everything", "three clients, three rounds, and everything goes wrong twice", .clients = 3,
        .rounds = 3, .fine = true, .chances = true, .is_vast = true,
        .budget = { [BWL_SLOW]             = BWL_ANY,
                    [BWL_LOSS]             = 3,
                    [BWL_CRASH]            = 2,
                    [BWL_DENIAL]           = 2,
                    [BWL_REFUSAL]          = 1,
                    [BWL_CANCEL]           = 2,
                    [BWL_EXTEND_BY_CALLER] = 2,
                    [BWL_RATE]             = 2 }),

    /* ---- what a lease without a fence cannot give -------------------------------------------- */
    ROW("limit-pause", "a holder that is stopped for longer than its lease goes on working",
        .budget = { [BWL_SLOW] = 4 }, BREAKS_ONLY(NO_OVERLAP, 9)),
    ROW("limit-server-forgets", "a server restarts empty", .budget = { [BWL_RESTART] = 1 },
        BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-server-clock-on", "the server's clock is set on by a lease", .clocks.jump_ms = 30,
        .budget = { [BWL_JUMP] = 1 }, BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-clock-too-fast", "the server's clock is faster than the drift allowance allows",
        .clocks.server_pace = 120, .never_renews = true, .fine = true, .budget = { [BWL_SLOW] = 2 },
        BREAKS_ONLY(ONE_HOLDER, 7)),

    /* ---- planted in the server, the client's engine, the randomness -------------------------- */
    ROW("planted-delete-blind", "the server deletes without comparing",
        .mutations = BWL_MUTATION_DELETE_BLIND, .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 },
        BREAKS_ONLY(OWN_KEY, 8)),
    ROW("planted-delete-blind-two", "the same, until two clients work that were never slow",
        .mutations = BWL_MUTATION_DELETE_BLIND, .clients = 3,
        .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }, BREAKS_ONLY(ONE_WORKER, 12)),
    ROW("planted-extend-blind", "the server extends whatever is there",
        .mutations  = BWL_MUTATION_EXTEND_BLIND,
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_ONE_HOLDER,
        .budget     = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }, BREAKS(OWN_KEY, 12)),
    ROW("planted-extend-creates", "an extension that comes too late sets the key again",
        .mutations = BWL_MUTATION_EXTEND_CREATES, .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 },
        BREAKS_ONLY(CREATES, 8)),
    ROW("planted-extend-shortens", "an extension may bring the end nearer",
        .mutations = BWL_MUTATION_EXTEND_SHORTENS, .never_renews = true,
        .budget = { [BWL_EXTEND_BY_CALLER] = 1, [BWL_SLOW] = 1 }, BREAKS_ONLY(ONE_HOLDER, 9)),
    ROW("planted-set-lasts", "the server sets the key without an end",
        .mutations = BWL_MUTATION_SET_LASTS, BREAKS_ONLY(HAS_END, 3)),
    ROW("planted-set-lasts-for-ever", "the same, until nobody can get the lock any more",
        .mutations = BWL_MUTATION_SET_LASTS, .rounds = BWL_ANY, .tries_once = true,
        .never_renews = true, .budget = { [BWL_CRASH] = 1 }, BREAKS_ONLY(LIVE, 3)),
    ROW("planted-set-overwrites", "the server sets the key whoever has it",
        .mutations = BWL_MUTATION_SET_OVERWRITES, BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("planted-one-token",
        "all attempts of a client have the same token: a late release is as good as a new one",
        .mutations = BWL_MUTATION_ONE_TOKEN, .rounds = 2, .budget = { [BWL_LOSS] = 1 },
        BREAKS_ONLY(ONE_HOLDER, 17)),
    ROW("planted-resends",
        "a new connection repeats by itself what had no answer, and is told no by our own key",
        .mutations = BWL_MUTATION_RESENDS, .budget = { [BWL_LOSS] = 1 },
        BREAKS_ONLY(TAKEN_BACK, 7)),
    ROW("planted-keeps-unread",
        "a connection goes on after a reply was not awaited: each answer is one too early",
        .mutations = BWL_MUTATION_KEEPS_UNREAD, .rounds = 2,
        .budget = { [BWL_LOSS] = 1, [BWL_SLOW] = 1 }, BREAKS_ONLY(ONE_HOLDER, 12)),

    /* ---- planted in the protocol ------------------------------------------------------------- */
    ROW("mutant-from-answer", "the lease is counted from the answer",
        .protocol = &bwl_mutant_from_answer, .budget = { [BWL_SLOW] = 2 },
        BREAKS_ONLY(ONE_HOLDER, 8)),
    ROW("mutant-from-answer-honest", "the same, seen as soon as the client believes too much",
        .protocol = &bwl_mutant_from_answer, .budget = { [BWL_SLOW] = 1 }, BREAKS_ONLY(HONEST, 4)),
    ROW("mutant-no-drift", "no drift allowance, and the server's clock is fast",
        .protocol = &bwl_mutant_no_drift, .clocks.server_pace = 106, .never_renews = true,
        .fine = true, .budget = { [BWL_SLOW] = 2 }, BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("mutant-from-settling",
        "an acquire that was settled counts its lease from the second question",
        .protocol = &bwl_mutant_from_settling, .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 },
        BREAKS_ONLY(ONE_HOLDER, 13)),
    ROW("mutant-no-is-yes", "settling, no is taken to mean that it was us",
        .protocol = &bwl_mutant_no_is_yes, .budget = { [BWL_LOSS] = 1 },
        BREAKS_ONLY(ONE_HOLDER, 10)),
    ROW("mutant-down-is-no", "an acquire without an answer is taken for a no",
        .protocol = &bwl_mutant_down_is_no, .budget = { [BWL_LOSS] = 1 },
        BREAKS_ONLY(TAKEN_BACK, 6)),
    ROW("mutant-down-is-yes", "an acquire without an answer is taken for a yes",
        .protocol = &bwl_mutant_down_is_yes, .budget = { [BWL_LOSS] = 1 },
        BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("mutant-down-extends", "an extension without an answer is taken for a yes",
        .protocol = &bwl_mutant_down_extends, .budget = { [BWL_LOSS] = 1, [BWL_SLOW] = 1 },
        BREAKS_ONLY(ONE_HOLDER, 12)),
    ROW("mutant-down-loses", "an extension without an answer is taken for a no",
        .protocol = &bwl_mutant_down_loses, .budget = { [BWL_LOSS] = 1 }, BREAKS_ONLY(KEEPS, 7)),
    ROW("mutant-down-releases", "a release without an answer is taken for done",
        .protocol = &bwl_mutant_down_releases, .budget = { [BWL_LOSS] = 1 }, BREAKS_ONLY(TOLD, 6)),
    ROW("mutant-deaf-to-loss", "an extension that is answered no is taken for a yes",
        .protocol = &bwl_mutant_deaf_to_loss, .budget = { [BWL_RESTART] = 1 },
        BREAKS_ONLY(HEEDS_NO, 8)),
    ROW("mutant-any-answer", "whatever answer comes is taken for that of the last question",
        .protocol   = &bwl_mutant_any_answer,
        .invariants = BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS,
        .budget     = { [BWL_LOSS] = 1, [BWL_SLOW] = 1 }, BREAKS(TOLD, 8)),
    ROW("mutant-silent", "a broken connection is not noticed: the client waits for ever",
        .protocol = &bwl_mutant_silent, .budget = { [BWL_LOSS] = 1 }, BREAKS_ONLY(NOT_STUCK, 3)),
};

static const bwl_scenario_table of_token = { table, sizeof table / sizeof table[0] };

static const bwl_scenario_table *const tables[] = {
    &of_token,
    &bwl_scenarios_of_queue,
    &bwl_scenarios_of_yield,
    &bwl_scenarios_of_synced,
    &bwl_scenarios_of_redisson,
    &bwl_scenarios_of_symfony,
    &bwl_scenarios_of_world,
    &bwl_scenarios_of_clocks,
    &bwl_scenarios_of_protocols,
    &bwl_scenarios_of_getset,
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

/* The slowest clock, in whole per cent, with which a lease is not over in the store before its
 * holder thinks so.  Who is pushed to counts from before it, for as long as it waited: then it is
 * one per cent, whatever the lease. */
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
