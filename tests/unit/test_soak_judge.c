/*
 * test_soak_judge.c -- the judge of the soak: which overlaps of two holders follow from a fault of
 * the servers, and which are reported.
 *
 * Each row has the log of the faults and the journal of one lock, with a lease of a second. Times
 * are in milliseconds. Each excuse has a twin that differs in one value and is reported.
 */
#include "tests/soak/soak.h"

#include "tests/lib/suite.h"

enum { A = 1u << 0, B = 1u << 1, C = 1u << 2, REPLICA_OF_A = 1u << 3 };

enum { LEASE_MS = 1000, ACTIONS = 2, VISITS = 3 };

typedef struct fault {
    soak_kind kind; /* 0: none */
    int64_t   from, to, gone;
    uint32_t  old_servers, new_servers;
} fault;

typedef struct visit {
    uint32_t servers; /* 0: none */
    int64_t  from, sure, until;
    uint64_t fence;
} visit;

typedef struct row {
    const char *name;
    fault       faults[ACTIONS];
    visit       visits[VISITS];
    unsigned    overlaps, changed, forgotten, given_up, excused, backward;
} row;

#define CHANGE(KIND, FROM, TO, OLD, NEW)                                                       \
    {                                                                                          \
        .kind = (KIND), .from = (FROM), .to = (TO), .old_servers = (OLD), .new_servers = (NEW) \
    }
#define SPLIT                      CHANGE(SOAK_PRIMARY_AWAY, 1000, 5000, A, ~(uint32_t)A)
#define MOVED                      CHANGE(SOAK_PRIMARY_STOPPED, 1000, 5000, A, REPLICA_OF_A)
#define SWITCH(FROM, TO, OLD, NEW) CHANGE(SOAK_SWITCH, FROM, TO, OLD, NEW)
#define RESTART(KIND)              CHANGE(KIND, 1000, 1500, 0, 0)
#define KILLED                                                                                 \
    {                                                                                          \
        .kind = SOAK_PRIMARY_KILLED, .from = 1000, .to = 5000, .gone = 1100, .old_servers = A, \
        .new_servers = ~(uint32_t)A                                                            \
    }

#define FENCED(SERVERS, FROM, SURE, UNTIL, FENCE)                                                \
    {                                                                                            \
        .servers = (SERVERS), .from = (FROM), .sure = (SURE), .until = (UNTIL), .fence = (FENCE) \
    }
#define HOLD(SERVERS, FROM, SURE, UNTIL) FENCED(SERVERS, FROM, SURE, UNTIL, 0)

static const row rows[] = {
    { "one_holder_after_the_other", .visits = { HOLD(A, 1, 2, 10), HOLD(A, 10, 11, 20) } },
    { "two_holders_without_a_fault", .visits = { HOLD(A, 1, 2, 11), HOLD(A, 10, 11, 20) },
      .overlaps = 1 },

    /* A stopped client uses the old server after another one has the lock from the new server. */
    { "old_server_grants_late",
      { SPLIT },
      { HOLD(B, 2000, 8000, 9000), HOLD(A, 3000, 3010, 4000) },
      .changed = 1 },
    { "new_server_grants_late",
      { SPLIT },
      { HOLD(B, 2000, 8000, 9000), HOLD(B, 3000, 3010, 4000) },
      .overlaps = 1 },
    { "old_server_grants_twice",
      { SPLIT },
      { HOLD(A, 2000, 2900, 4000), HOLD(A, 3000, 3010, 4000) },
      .overlaps = 1 },
    { "old_server_granted_first",
      { SPLIT },
      { HOLD(A, 500, 600, 3000), HOLD(B, 2000, 2010, 3000) },
      .changed = 1 },
    { "old_server_granted_before_the_split",
      { SPLIT },
      { HOLD(A, 500, 600, 3000), HOLD(B, 900, 910, 950) },
      .overlaps = 1 },
    { "hold_of_the_old_server_ends_in_time",
      { SPLIT },
      { HOLD(A, 4900, 5500, 6000), HOLD(B, 5000, 8000, 9000) },
      .changed = 1 },
    { "hold_of_the_old_server_ends_too_late",
      { SPLIT },
      { HOLD(A, 4900, 5500, 6001), HOLD(B, 5000, 8000, 9000) },
      .overlaps = 1 },
    { "hold_of_the_killed_server_ends_in_time",
      { KILLED },
      { HOLD(A, 900, 1000, 2100), HOLD(B, 2000, 8000, 9000) },
      .changed = 1 },
    { "hold_of_the_killed_server_ends_too_late",
      { KILLED },
      { HOLD(A, 900, 1000, 2101), HOLD(B, 2000, 8000, 9000) },
      .overlaps = 1 },
    { "client_changed_its_server",
      { SPLIT },
      { HOLD(A | B, 2000, 2500, 3000), HOLD(B, 2200, 8000, 9000) },
      .changed = 1 },

    /* The old server grants twice, next to a longer hold of the new one. */
    { "old_server_has_two_holders",
      { SPLIT },
      { HOLD(B, 2000, 8000, 9000), HOLD(A, 3000, 3010, 3500), HOLD(A, 3400, 3410, 4400) },
      .changed  = 1,
      .overlaps = 1 },
    { "old_server_has_one_holder_after_the_other",
      { SPLIT },
      { HOLD(B, 2000, 8000, 9000), HOLD(A, 3000, 3010, 3500), HOLD(A, 3500, 3510, 4400) },
      .changed = 2 },

    /* The old server takes over again. */
    { "server_grants_in_both_its_times",
      { SWITCH(1000, 3000, A, B), SWITCH(3100, 5000, B, A) },
      { HOLD(A, 2500, 2510, 4000), HOLD(A, 3500, 3510, 4500) },
      .changed = 1 },
    { "server_grants_twice_before_its_second_time",
      { SWITCH(1000, 3000, A, B), SWITCH(3100, 5000, B, A) },
      { HOLD(A, 2500, 2510, 4000), HOLD(A, 3050, 3510, 4500) },
      .overlaps = 1 },

    /* In a cluster, a client is connected to several servers. */
    { "replica_in_a_cluster_grants",
      { MOVED },
      { HOLD(A | B | C, 900, 1000, 2100), HOLD(B | C | REPLICA_OF_A, 2000, 8000, 9000) },
      .changed = 1 },
    { "primary_in_a_cluster_grants_twice",
      { MOVED },
      { HOLD(A | B | C, 900, 1000, 2100), HOLD(A | B | C, 2000, 8000, 9000) },
      .overlaps = 1 },

    { "fence_of_the_old_server_is_lower",
      { SPLIT },
      { FENCED(B, 2000, 2010, 2100, 20), FENCED(A, 3000, 3010, 4000, 10) },
      .excused = 1 },
    { "fence_is_lower_without_a_fault",
      .visits   = { FENCED(B, 2000, 2010, 2100, 20), FENCED(A, 3000, 3010, 4000, 10) },
      .backward = 1 },
    { "fence_does_not_excuse_an_overlap",
      { SPLIT },
      { FENCED(B, 2000, 2010, 3100, 20), FENCED(B, 3000, 3010, 4000, 10) },
      .overlaps = 1 },

    { "server_restarted_without_the_lock",
      { RESTART(SOAK_RESTART_EMPTY) },
      { HOLD(A, 900, 1800, 1900), HOLD(A, 1600, 1610, 1700) },
      .forgotten = 1 },
    { "server_restarted_with_the_lock",
      { RESTART(SOAK_RESTART_KEPT) },
      { HOLD(A, 900, 1550, 1900), HOLD(A, 1600, 1610, 1700) },
      .given_up = 1 },
    { "holder_was_sure_after_the_restart",
      { RESTART(SOAK_RESTART_KEPT) },
      { HOLD(A, 900, 1650, 1900), HOLD(A, 1600, 1610, 1700) },
      .overlaps = 1 },
};

static soak_run run;

static int make_journal(void **state)
{
    char path[SOAK_PATH_MAX];

    run.journal           = soak_journal_new(path);
    run.journal->locks[0] = (soak_lock){ "red", "token", LEASE_MS };
    return 0;
}

static void write_logs(const row *r)
{
    run.actions_count = 0;
    atomic_store(&run.journal->visits_count, 0);
    for (size_t i = 0; i < ACTIONS && r->faults[i].kind != 0; i++) {
        const fault *f                   = &r->faults[i];
        run.actions[run.actions_count++] = (soak_action){ .kind        = f->kind,
                                                          .member      = SOAK_ALL_MEMBERS,
                                                          .from_us     = f->from * 1000,
                                                          .to_us       = f->to * 1000,
                                                          .gone_us     = f->gone * 1000,
                                                          .old_servers = f->old_servers,
                                                          .new_servers = f->new_servers };
    }
    for (size_t i = 0; i < VISITS && r->visits[i].servers != 0; i++) {
        const visit *v = &r->visits[i];
        run.journal->visits[atomic_fetch_add(&run.journal->visits_count, 1)] =
            (soak_visit){ .part       = SOAK_LIBRARY,
                          .member     = (unsigned)i,
                          .fence      = v->fence,
                          .entered_us = v->from * 1000,
                          .from_us    = v->from * 1000,
                          .sure_us    = v->sure * 1000,
                          .until_us   = v->until * 1000,
                          .servers    = v->servers };
    }
}

static void judges(void **state)
{
    const row   *r = *state;
    soak_verdict verdicts[SOAK_LOCKS];

    write_logs(r);
    soak_judge(&run, verdicts);
    assert_int_equal(verdicts[0].overlaps, r->overlaps);
    assert_int_equal(verdicts[0].changed, r->changed);
    assert_int_equal(verdicts[0].forgotten, r->forgotten);
    assert_int_equal(verdicts[0].given_up, r->given_up);
    assert_int_equal(verdicts[0].excused, r->excused);
    assert_int_equal(verdicts[0].backward, r->backward);
}

AROUND(make_journal, NULL)

ROWS(rows, judges)
