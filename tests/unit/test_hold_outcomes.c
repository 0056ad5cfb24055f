/*
 * test_hold_outcomes.c -- every outcome that a protocol may tell, in every state of the hold: where
 * that leads, what the caller hears of it, what is asked next.
 *
 * And every outcome that it may not tell: the process ends there: a hold that went on would lie.
 */
#include "hold_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* What may not be told in this state. */
enum { STOPS = 0 };

typedef struct row {
    bwl_outcome_kind told;
    int              next; /* a state, or STOPS */
    bwl_outcome_kind heard;
    bwl_verb         asked;
} row;

enum { OUTCOMES = BWL_ANEW };

static void expect_row(bwl_hold_state state, const row *r)
{
    bwl_ms now = hold.state == BWL_HOLD_RENEWING ? START + LEASE_MS / 3 : START + 20;

    assert_int_equal(hold.state, state);
    told(r->told, now);
    if ((int)hold.state != r->next || fx.outcome.kind != r->heard)
        fail_msg("in state %d outcome %d: state %d, heard %d; expected state %d, heard %d",
                 (int)state, (int)r->told, (int)hold.state, (int)fx.outcome.kind, r->next,
                 (int)r->heard);
    expect((bwl_hold_state)r->next, r->heard, r->asked);
}

/* In a process of its own, for it ends with SIGABRT. */
static void expect_stop(bwl_hold_state state, const row *r)
{
    int   status = 0;
    pid_t child;

    (void)fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        told(r->told, START + 20);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        fail_msg("in state %d outcome %d did not stop the process", (int)state, (int)r->told);
}

/* One row for every outcome there is. */
static void expect_rows(bwl_hold_state state, const row rows[OUTCOMES], void (*get_there)(void))
{
    for (unsigned i = 0; i < OUTCOMES; i++) {
        assert_int_equal(rows[i].told, i + 1);
        (void)new_hold(NULL);
        get_there();
        if (rows[i].next == STOPS)
            expect_stop(state, &rows[i]);
        else
            expect_row(state, &rows[i]);
    }
}

#define STATE(name, NAME)       \
    static void be_##name(void) \
    {                           \
        be(BWL_HOLD_##NAME);    \
    }
STATE(acquiring, ACQUIRING)
STATE(settling, SETTLING)
STATE(discarding, DISCARDING)
STATE(waiting, WAITING)
STATE(queued, QUEUED)
STATE(held, HELD)
STATE(renewing, RENEWING)
STATE(releasing, RELEASING)
STATE(leaving, LEAVING)
#undef STATE

static void be_acquiring_for_the_last_time(void)
{
    acquire(START, START);
}

static void be_settling_the_last_attempt(void)
{
    acquire(START, START);
    told(BWL_UNKNOWN, START);
    alarm_at(fx.wake_at);
}

static void be_discarding_the_last_attempt(void)
{
    acquire(START, START);
    told_held(START, START);
}

static void be_renewing_for_the_caller(void)
{
    be(BWL_HOLD_HELD);
    extend(START, LEASE_MS);
}

static void be_releasing_again(void)
{
    be(BWL_HOLD_RELEASING);
    told(BWL_UNKNOWN, START);
    alarm_at(fx.wake_at);
}

/* ---- seeking --------------------------------------------------------------------------------- */

static void test_hold_outcomes_of_an_attempt(void **state)
{
    static const row rows[OUTCOMES] = {
        { BWL_HELD, BWL_HOLD_HELD, BWL_HELD, 0 },
        { BWL_QUEUED, BWL_HOLD_QUEUED, 0, 0 },
        { BWL_BUSY, BWL_HOLD_WAITING, 0, 0 },
        { BWL_FULL, BWL_HOLD_OVER, BWL_FULL, 0 },
        { BWL_NOT_NOW, BWL_HOLD_WAITING, 0, 0 },
        { BWL_STORE_REFUSED, BWL_HOLD_OVER, BWL_STORE_REFUSED, 0 },
        { BWL_UNREACHABLE, BWL_HOLD_WAITING, 0, 0 },
        { BWL_LOST, STOPS, 0, 0 },
        { BWL_RELEASED, STOPS, 0, 0 },
        { BWL_UNKNOWN, BWL_HOLD_SETTLING, 0, 0 },
        { BWL_TIMED_OUT, STOPS, 0, 0 },
        { BWL_CANCELLED, STOPS, 0, 0 },
        { BWL_ANEW, BWL_HOLD_WAITING, 0, 0 },
    };

    (void)state;
    expect_rows(BWL_HOLD_ACQUIRING, rows, be_acquiring);
}

static void test_hold_outcomes_of_the_last_attempt(void **state)
{
    static const row rows[OUTCOMES] = {
        { BWL_HELD, BWL_HOLD_HELD, BWL_HELD, 0 },
        { BWL_QUEUED, BWL_HOLD_QUEUED, 0, 0 },
        { BWL_BUSY, BWL_HOLD_OVER, BWL_BUSY, 0 },
        { BWL_FULL, BWL_HOLD_OVER, BWL_FULL, 0 },
        { BWL_NOT_NOW, BWL_HOLD_OVER, BWL_NOT_NOW, 0 },
        { BWL_STORE_REFUSED, BWL_HOLD_OVER, BWL_STORE_REFUSED, 0 },
        { BWL_UNREACHABLE, BWL_HOLD_OVER, BWL_UNREACHABLE, 0 },
        { BWL_LOST, STOPS, 0, 0 },
        { BWL_RELEASED, STOPS, 0, 0 },
        { BWL_UNKNOWN, BWL_HOLD_SETTLING, 0, 0 },
        { BWL_TIMED_OUT, STOPS, 0, 0 },
        { BWL_CANCELLED, STOPS, 0, 0 },
        { BWL_ANEW, BWL_HOLD_WAITING, 0, 0 },
    };

    (void)state;
    expect_rows(BWL_HOLD_ACQUIRING, rows, be_acquiring_for_the_last_time);
}

/* A refusal, or a question that never left, says nothing of the question before it. */
static void test_hold_outcomes_of_settling(void **state)
{
    static const row rows[OUTCOMES] = {
        { BWL_HELD, BWL_HOLD_HELD, BWL_HELD, 0 },
        { BWL_QUEUED, BWL_HOLD_QUEUED, 0, 0 },
        { BWL_BUSY, BWL_HOLD_WAITING, 0, 0 },
        { BWL_FULL, BWL_HOLD_OVER, BWL_FULL, 0 },
        { BWL_NOT_NOW, BWL_HOLD_SETTLING, 0, 0 },
        { BWL_STORE_REFUSED, BWL_HOLD_LEAVING, BWL_UNKNOWN, BWL_RELEASE },
        { BWL_UNREACHABLE, BWL_HOLD_SETTLING, 0, 0 },
        { BWL_LOST, STOPS, 0, 0 },
        { BWL_RELEASED, STOPS, 0, 0 },
        { BWL_UNKNOWN, BWL_HOLD_SETTLING, 0, 0 },
        { BWL_TIMED_OUT, STOPS, 0, 0 },
        { BWL_CANCELLED, STOPS, 0, 0 },
        { BWL_ANEW, BWL_HOLD_WAITING, 0, 0 },
    };
    row last[OUTCOMES];

    (void)state;
    expect_rows(BWL_HOLD_SETTLING, rows, be_settling);
    memcpy(last, rows, sizeof last);
    last[BWL_BUSY - 1] = (row){ BWL_BUSY, BWL_HOLD_OVER, BWL_BUSY, 0 };
    expect_rows(BWL_HOLD_SETTLING, last, be_settling_the_last_attempt);
}

/* What came too late is surely given back: then the next attempt, if there is time. */
static void test_hold_outcomes_of_discarding(void **state)
{
    static const bwl_outcome_kind done[] = { BWL_RELEASED, BWL_LOST, BWL_STORE_REFUSED };

    for (unsigned i = 0; i < sizeof done / sizeof done[0]; i++) {
        (void)new_hold(state);
        be_discarding();
        expect_row(BWL_HOLD_DISCARDING, &(row){ done[i], BWL_HOLD_WAITING, 0, 0 });
        (void)new_hold(state);
        be_discarding_the_last_attempt();
        expect_row(BWL_HOLD_DISCARDING, &(row){ done[i], BWL_HOLD_OVER, BWL_NOT_NOW, 0 });
    }
}

/* ... and what the store refuses beside it would be refused again. */
static void test_hold_outcomes_of_discarding_what_is_of_no_use(void **state)
{
    static const bwl_outcome_kind why[]   = { BWL_STORE_REFUSED, BWL_NOT_NOW };
    static const int              next[]  = { BWL_HOLD_OVER, BWL_HOLD_WAITING };
    static const bwl_outcome_kind told_[] = { BWL_STORE_REFUSED, 0 };

    for (unsigned i = 0; i < sizeof why / sizeof why[0]; i++) {
        (void)new_hold(state);
        be(BWL_HOLD_ACQUIRING);
        fake.event_tells = (bwl_outcome){ .kind = BWL_HELD, .why = why[i] };
        happens(BWL_REPLY, START + 20);
        expect(BWL_HOLD_DISCARDING, BWL_PENDING, BWL_RELEASE);
        expect_row(BWL_HOLD_DISCARDING, &(row){ BWL_RELEASED, next[i], told_[i], 0 });
    }
}

/* It may still be there: once more, or, when the time is over, with nobody waiting for it. */
static void test_hold_outcomes_of_discarding_without_success(void **state)
{
    static const bwl_outcome_kind open[] = { BWL_NOT_NOW, BWL_UNREACHABLE, BWL_UNKNOWN };

    for (unsigned i = 0; i < sizeof open / sizeof open[0]; i++) {
        (void)new_hold(state);
        be_discarding();
        expect_row(BWL_HOLD_DISCARDING, &(row){ open[i], BWL_HOLD_DISCARDING, 0, 0 });
        alarm_at(hold.look_at);
        expect(BWL_HOLD_DISCARDING, BWL_PENDING, BWL_RELEASE);
        (void)new_hold(state);
        be_discarding_the_last_attempt();
        expect_row(BWL_HOLD_DISCARDING,
                   &(row){ open[i], BWL_HOLD_LEAVING, BWL_NOT_NOW, BWL_RELEASE });
    }
}

static void test_hold_outcomes_in_the_queue(void **state)
{
    static const row rows[OUTCOMES] = {
        { BWL_HELD, BWL_HOLD_HELD, BWL_HELD, 0 },
        { BWL_QUEUED, BWL_HOLD_QUEUED, 0, 0 },
        { BWL_BUSY, BWL_HOLD_WAITING, 0, 0 },
        { BWL_FULL, BWL_HOLD_OVER, BWL_FULL, 0 },
        { BWL_NOT_NOW, BWL_HOLD_WAITING, 0, 0 },
        /* our place may be there still, and whoever is behind us would wait for ever */
        { BWL_STORE_REFUSED, BWL_HOLD_LEAVING, BWL_STORE_REFUSED, BWL_RELEASE },
        { BWL_UNREACHABLE, BWL_HOLD_WAITING, 0, 0 },
        { BWL_LOST, STOPS, 0, 0 },
        { BWL_RELEASED, STOPS, 0, 0 },
        { BWL_UNKNOWN, BWL_HOLD_SETTLING, 0, 0 },
        { BWL_TIMED_OUT, STOPS, 0, 0 },
        { BWL_CANCELLED, STOPS, 0, 0 },
        { BWL_ANEW, BWL_HOLD_WAITING, 0, 0 },
    };

    (void)state;
    expect_rows(BWL_HOLD_QUEUED, rows, be_queued);
}

static void test_hold_nothing_may_be_told_while_nothing_is_asked(void **state)
{
    row rows[OUTCOMES];

    (void)state;
    for (unsigned i = 0; i < OUTCOMES; i++)
        rows[i] = (row){ i + 1, STOPS, 0, 0 };
    expect_rows(BWL_HOLD_WAITING, rows, be_waiting);
}

/* ---- holding --------------------------------------------------------------------------------- */

static void test_hold_only_a_loss_or_trouble_or_more_of_it_may_be_told_unasked(void **state)
{
    static const bwl_outcome_kind troubles[] = { BWL_NOT_NOW, BWL_UNREACHABLE, BWL_UNKNOWN,
                                                 BWL_STORE_REFUSED };
    row                           rows[OUTCOMES];

    (void)state;
    for (unsigned i = 0; i < OUTCOMES; i++)
        rows[i] = (row){ i + 1, STOPS, 0, 0 };
    rows[BWL_HELD - 1] = (row){ BWL_HELD, BWL_HOLD_HELD, 0, 0 };
    rows[BWL_LOST - 1] = (row){ BWL_LOST, BWL_HOLD_OVER, BWL_LOST, 0 };
    for (unsigned i = 0; i < sizeof troubles / sizeof troubles[0]; i++)
        rows[troubles[i] - 1] = (row){ troubles[i], BWL_HOLD_HELD, 0, 0 };
    expect_rows(BWL_HOLD_HELD, rows, be_held);
}

static void test_hold_outcomes_of_a_renewal(void **state)
{
    static const row rows[OUTCOMES] = {
        { BWL_HELD, BWL_HOLD_HELD, 0, 0 },
        { BWL_QUEUED, STOPS, 0, 0 },
        { BWL_BUSY, STOPS, 0, 0 },
        { BWL_FULL, STOPS, 0, 0 },
        { BWL_NOT_NOW, BWL_HOLD_HELD, 0, 0 },
        { BWL_STORE_REFUSED, BWL_HOLD_HELD, 0, 0 },
        { BWL_UNREACHABLE, BWL_HOLD_HELD, 0, 0 },
        { BWL_LOST, BWL_HOLD_OVER, BWL_LOST, 0 },
        { BWL_RELEASED, STOPS, 0, 0 },
        { BWL_UNKNOWN, BWL_HOLD_HELD, 0, 0 },
        { BWL_TIMED_OUT, STOPS, 0, 0 },
        { BWL_CANCELLED, STOPS, 0, 0 },
        { BWL_ANEW, STOPS, 0, 0 },
    };

    (void)state;
    expect_rows(BWL_HOLD_RENEWING, rows, be_renewing);
}

static void test_hold_outcomes_of_an_extension_by_the_caller(void **state)
{
    static const row rows[OUTCOMES] = {
        { BWL_HELD, BWL_HOLD_HELD, BWL_HELD, 0 },
        { BWL_QUEUED, STOPS, 0, 0 },
        { BWL_BUSY, STOPS, 0, 0 },
        { BWL_FULL, STOPS, 0, 0 },
        { BWL_NOT_NOW, BWL_HOLD_HELD, BWL_NOT_NOW, 0 },
        { BWL_STORE_REFUSED, BWL_HOLD_HELD, BWL_STORE_REFUSED, 0 },
        { BWL_UNREACHABLE, BWL_HOLD_HELD, BWL_UNREACHABLE, 0 },
        { BWL_LOST, BWL_HOLD_OVER, BWL_LOST, 0 },
        { BWL_RELEASED, STOPS, 0, 0 },
        { BWL_UNKNOWN, BWL_HOLD_HELD, BWL_UNKNOWN, 0 },
        { BWL_TIMED_OUT, STOPS, 0, 0 },
        { BWL_CANCELLED, STOPS, 0, 0 },
        { BWL_ANEW, STOPS, 0, 0 },
    };

    (void)state;
    expect_rows(BWL_HOLD_RENEWING, rows, be_renewing_for_the_caller);
}

/* ---- letting go ------------------------------------------------------------------------------ */

static void test_hold_outcomes_of_a_release(void **state)
{
    static const row rows[OUTCOMES] = {
        { BWL_HELD, STOPS, 0, 0 },
        { BWL_QUEUED, STOPS, 0, 0 },
        { BWL_BUSY, STOPS, 0, 0 },
        { BWL_FULL, STOPS, 0, 0 },
        { BWL_NOT_NOW, BWL_HOLD_RELEASING, 0, 0 },
        { BWL_STORE_REFUSED, BWL_HOLD_OVER, BWL_STORE_REFUSED, 0 },
        { BWL_UNREACHABLE, BWL_HOLD_RELEASING, 0, 0 },
        { BWL_LOST, BWL_HOLD_OVER, BWL_LOST, 0 },
        { BWL_RELEASED, BWL_HOLD_OVER, BWL_RELEASED, 0 },
        { BWL_UNKNOWN, BWL_HOLD_RELEASING, 0, 0 },
        { BWL_TIMED_OUT, STOPS, 0, 0 },
        { BWL_CANCELLED, STOPS, 0, 0 },
        { BWL_ANEW, STOPS, 0, 0 },
    };
    row again[OUTCOMES];

    (void)state;
    expect_rows(BWL_HOLD_RELEASING, rows, be_releasing);
    /* After a release without an answer, "not yours" may be that release's own work. */
    memcpy(again, rows, sizeof again);
    again[BWL_LOST - 1] = (row){ BWL_LOST, BWL_HOLD_OVER, BWL_UNKNOWN, 0 };
    expect_rows(BWL_HOLD_RELEASING, again, be_releasing_again);
}

static void test_hold_outcomes_of_leaving_are_heard_by_nobody(void **state)
{
    static const row rows[OUTCOMES] = {
        { BWL_HELD, STOPS, 0, 0 },
        { BWL_QUEUED, STOPS, 0, 0 },
        { BWL_BUSY, STOPS, 0, 0 },
        { BWL_FULL, STOPS, 0, 0 },
        { BWL_NOT_NOW, BWL_HOLD_LEAVING, 0, 0 },
        { BWL_STORE_REFUSED, BWL_HOLD_OVER, 0, 0 },
        { BWL_UNREACHABLE, BWL_HOLD_LEAVING, 0, 0 },
        { BWL_LOST, BWL_HOLD_OVER, 0, 0 },
        { BWL_RELEASED, BWL_HOLD_OVER, 0, 0 },
        { BWL_UNKNOWN, BWL_HOLD_LEAVING, 0, 0 },
        { BWL_TIMED_OUT, STOPS, 0, 0 },
        { BWL_CANCELLED, STOPS, 0, 0 },
        { BWL_ANEW, STOPS, 0, 0 },
    };

    (void)state;
    expect_rows(BWL_HOLD_LEAVING, rows, be_leaving);
}

/* A protocol that has nothing to ask tells at once: from inside the command. */
static void test_hold_outcomes_told_at_once_count_as_well(void **state)
{
    fake.command_tells = (bwl_outcome){ .kind = BWL_HELD, .until = BWL_NEVER, .fence = 5 };
    acquire(START, START);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    assert_int_equal(fx.outcome.fence, 5);
    fake.command_tells = (bwl_outcome){ .kind = BWL_HELD, .until = BWL_NEVER, .fence = 5 };
    extend(START + 1, LEASE_MS);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    fake.command_tells = (bwl_outcome){ .kind = BWL_RELEASED };
    release(START + 2);
    expect(BWL_HOLD_OVER, BWL_RELEASED, 0);

    (void)new_hold(state);
    fake.command_tells = (bwl_outcome){ .kind = BWL_BUSY };
    acquire(START, START);
    expect(BWL_HOLD_OVER, BWL_BUSY, 0);

    (void)new_hold(state);
    acquire(START, START);
    fake.command_tells = (bwl_outcome){ .kind = BWL_RELEASED };
    cancel(START + 1); /* the caller hears CANCELLED, and not how the release came out */
    expect(BWL_HOLD_OVER, BWL_CANCELLED, 0);

    (void)new_hold(state);
    be(BWL_HOLD_HELD);
    fake.command_tells = (bwl_outcome){ .kind = BWL_LOST };
    extend(START + 1, LEASE_MS);
    expect(BWL_HOLD_OVER, BWL_LOST, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hold_outcomes_of_an_attempt, new_hold),
        cmocka_unit_test_setup(test_hold_outcomes_of_the_last_attempt, new_hold),
        cmocka_unit_test_setup(test_hold_outcomes_of_settling, new_hold),
        cmocka_unit_test_setup(test_hold_outcomes_of_discarding, new_hold),
        cmocka_unit_test(test_hold_outcomes_of_discarding_what_is_of_no_use),
        cmocka_unit_test_setup(test_hold_outcomes_of_discarding_without_success, new_hold),
        cmocka_unit_test_setup(test_hold_outcomes_in_the_queue, new_hold),
        cmocka_unit_test_setup(test_hold_nothing_may_be_told_while_nothing_is_asked, new_hold),
        cmocka_unit_test_setup(test_hold_only_a_loss_or_trouble_or_more_of_it_may_be_told_unasked,
                               new_hold),
        cmocka_unit_test_setup(test_hold_outcomes_of_a_renewal, new_hold),
        cmocka_unit_test_setup(test_hold_outcomes_of_an_extension_by_the_caller, new_hold),
        cmocka_unit_test_setup(test_hold_outcomes_of_a_release, new_hold),
        cmocka_unit_test_setup(test_hold_outcomes_of_leaving_are_heard_by_nobody, new_hold),
        cmocka_unit_test_setup(test_hold_outcomes_told_at_once_count_as_well, new_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
