/*
 * test_soak_judge.c -- the judge of the soak: which overlaps of two holders follow from a fault of
 * the server, and which are reported.
 *
 * Each row has the log of the faults and the journal of one lock, with a lease of a second. Times
 * are in milliseconds. Each excuse has a twin that differs in one value and is reported.
 */
#include "tests/soak/soak.h"

#include "tests/lib/suite.h"

enum { LEASE_MS = 1000, VISITS = 2 };

typedef struct visit {
    int64_t  from, sure, until; /* 0: none */
    uint64_t fence;
} visit;

typedef struct row {
    const char *name;
    soak_kind   restart; /* from 1000 to 1500; 0: none */
    visit       visits[VISITS];
    unsigned    overlaps, forgotten, given_up, backward;
} row;

static const row rows[] = {
    { "one_holder_after_the_other", .visits = { { 1, 2, 10, 0 }, { 10, 11, 20, 0 } } },
    { "two_holders_without_a_fault", 0, { { 1, 2, 11, 0 }, { 10, 11, 20, 0 } }, .overlaps = 1 },
    { "fence_is_lower_without_a_fault",
      0,
      { { 2000, 2010, 2100, 20 }, { 3000, 3010, 4000, 10 } },
      .backward = 1 },
    { "fence_does_not_excuse_an_overlap",
      0,
      { { 2000, 2010, 3100, 20 }, { 3000, 3010, 4000, 10 } },
      .overlaps = 1 },
    { "server_restarted_without_the_lock",
      SOAK_RESTART_EMPTY,
      { { 900, 1800, 1900, 0 }, { 1600, 1610, 1700, 0 } },
      .forgotten = 1 },
    { "server_restarted_with_the_lock",
      SOAK_RESTART_KEPT,
      { { 900, 1550, 1900, 0 }, { 1600, 1610, 1700, 0 } },
      .given_up = 1 },
    { "holder_was_sure_after_the_restart",
      SOAK_RESTART_KEPT,
      { { 900, 1650, 1900, 0 }, { 1600, 1610, 1700, 0 } },
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
    run.actions_count = r->restart != 0;
    run.actions[0]    = (soak_action){
           .kind = r->restart, .member = SOAK_ALL_MEMBERS, .from_us = 1000000, .to_us = 1500000
    };
    atomic_store(&run.journal->visits_count, VISITS);
    for (unsigned i = 0; i < VISITS; i++)
        run.journal->visits[i] = (soak_visit){ .part       = SOAK_LIBRARY,
                                               .member     = i,
                                               .fence      = r->visits[i].fence,
                                               .entered_us = r->visits[i].from * 1000,
                                               .from_us    = r->visits[i].from * 1000,
                                               .sure_us    = r->visits[i].sure * 1000,
                                               .until_us   = r->visits[i].until * 1000 };
}

static void judges(void **state)
{
    const row   *r = *state;
    soak_verdict verdicts[SOAK_LOCKS];

    write_logs(r);
    soak_judge(&run, verdicts);
    assert_int_equal(verdicts[0].overlaps, r->overlaps);
    assert_int_equal(verdicts[0].forgotten, r->forgotten);
    assert_int_equal(verdicts[0].given_up, r->given_up);
    assert_int_equal(verdicts[0].backward, r->backward);
}

AROUND(make_journal, NULL)

ROWS(rows, judges)
