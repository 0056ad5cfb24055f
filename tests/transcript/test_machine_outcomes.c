/*
 * test_machine_outcomes.c -- each outcome that a protocol can tell, in each state of the lock
 * machine: what the machine does at once, and at its next alarm.
 *
 * An outcome that no row names must stop the process: a machine that went on would lie.
 */
#include "transcript.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LATER_MS = 20 };

typedef struct situation {
    const char         *name;
    const bwl_protocol *protocol;
    const char         *story; /* leads there                                    */
    const char *effects[BWL_RETRY_WITH_NEW_TOKEN + 1]; /* by outcome; NULL: the process stops */
} situation;

/* The protocol tells `kind`; then the clock goes on to the next alarm. */
static void tell(stage *s, bwl_outcome_kind kind)
{
    s->now += LATER_MS;
    s->size       = 0;
    s->written[0] = '\0';
    script.told   = read_outcome(scripted_kinds[kind], s->now, BEGINNING);
    happens(s, (bwl_event){ .kind = BWL_REPLY });
    if (s->wake_at != BWL_NEVER)
        alarms_before(s, s->wake_at + 1);
}

static void expect_stop(stage *s, bwl_outcome_kind kind)
{
    int   status = 0;
    pid_t child;

    (void)fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        tell(s, kind);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        fail_msg("%s does not stop the process", scripted_kinds[kind]);
}

static void each_outcome(void **state)
{
    static stage     s;
    const situation *row = *state;

    for (unsigned kind = BWL_HELD; kind <= BWL_RETRY_WITH_NEW_TOKEN; kind++) {
        perform(&s, 1, row->protocol, &usual_terms, row->story);
        if (row->effects[kind] == NULL) {
            expect_stop(&s, kind);
            continue;
        }
        tell(&s, kind);
        if (strcmp(row->effects[kind], s.written) != 0)
            fail_msg("%s: %s, not %s", scripted_kinds[kind], s.written, row->effects[kind]);
    }
}

#define ACQUIRES "[    0] caller acquires, for 8000\n"
#define TRIES    "[    0] caller acquires, once\n"
#define HOLDS    TRIES "[    0] protocol tells HELD\n"

static const situation situations[] = {
    { "acquiring",
      &verifying,
      ACQUIRES,
      {
          [BWL_HELD]    = "[   20] HELD until 30019, fence 7\n[10020] asks EXTEND as A for 30000\n",
          [BWL_QUEUED]  = "[ 8000] asks RELEASE as A\n[ 8000] TIMED_OUT\n",
          [BWL_BUSY]    = "[   25] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_FULL]    = "[   20] FULL\n[   20] over\n",
          [BWL_NOT_NOW] = "[   25] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_STORE_REFUSED]        = "[   20] STORE_REFUSED\n[   20] over\n",
          [BWL_UNREACHABLE]          = "[   25] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_UNKNOWN]              = "[   25] asks ACQUIRE as A for 30000 again\n",
          [BWL_RETRY_WITH_NEW_TOKEN] = "[   21] asks ACQUIRE as B for 30000, may wait\n",
      } },
    { "acquiring_for_the_last_time",
      &verifying,
      TRIES,
      {
          [BWL_HELD]    = "[   20] HELD until 30019, fence 7\n[10020] asks EXTEND as A for 30000\n",
          [BWL_QUEUED]  = "[   20] asks RELEASE as A\n[   20] TIMED_OUT\n",
          [BWL_BUSY]    = "[   20] BUSY\n[   20] over\n",
          [BWL_FULL]    = "[   20] FULL\n[   20] over\n",
          [BWL_NOT_NOW] = "[   20] NOT_NOW\n[   20] over\n",
          [BWL_STORE_REFUSED]        = "[   20] STORE_REFUSED\n[   20] over\n",
          [BWL_UNREACHABLE]          = "[   20] UNREACHABLE\n[   20] over\n",
          [BWL_UNKNOWN]              = "[   25] asks ACQUIRE as A for 30000 again\n",
          [BWL_RETRY_WITH_NEW_TOKEN] = "[   21] asks ACQUIRE as B for 30000\n",
      } },
    /* A refusal or a question that was not sent says nothing of the question before it. */
    { "settling",
      &verifying,
      ACQUIRES "[    0] protocol tells UNKNOWN\n[    5] end\n",
      {
          [BWL_HELD]    = "[   25] HELD until 30024, fence 7\n[10025] asks EXTEND as A for 30000\n",
          [BWL_QUEUED]  = "[ 8000] asks RELEASE as A\n[ 8000] TIMED_OUT\n",
          [BWL_BUSY]    = "[   35] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_FULL]    = "[   25] FULL\n[   25] over\n",
          [BWL_NOT_NOW] = "[   35] asks ACQUIRE as A for 30000 again\n",
          [BWL_STORE_REFUSED]        = "[   25] asks RELEASE as A\n[   25] UNKNOWN\n",
          [BWL_UNREACHABLE]          = "[   35] asks ACQUIRE as A for 30000 again\n",
          [BWL_UNKNOWN]              = "[   35] asks ACQUIRE as A for 30000 again\n",
          [BWL_RETRY_WITH_NEW_TOKEN] = "[   26] asks ACQUIRE as B for 30000, may wait\n",
      } },
    { "settling_for_the_last_time",
      &verifying,
      TRIES "[    0] protocol tells UNKNOWN\n[    5] end\n",
      {
          [BWL_HELD]    = "[   25] HELD until 30024, fence 7\n[10025] asks EXTEND as A for 30000\n",
          [BWL_QUEUED]  = "[   25] asks RELEASE as A\n[   25] TIMED_OUT\n",
          [BWL_BUSY]    = "[   25] BUSY\n[   25] over\n",
          [BWL_FULL]    = "[   25] FULL\n[   25] over\n",
          [BWL_NOT_NOW] = "[   35] asks ACQUIRE as A for 30000 again\n",
          [BWL_STORE_REFUSED]        = "[   25] asks RELEASE as A\n[   25] UNKNOWN\n",
          [BWL_UNREACHABLE]          = "[   35] asks ACQUIRE as A for 30000 again\n",
          [BWL_UNKNOWN]              = "[   35] asks ACQUIRE as A for 30000 again\n",
          [BWL_RETRY_WITH_NEW_TOKEN] = "[   26] asks ACQUIRE as B for 30000\n",
      } },
    { "discarding",
      &verifying,
      ACQUIRES "[    0] protocol tells HELD until 0\n",
      {
          [BWL_NOT_NOW]       = "[   25] asks RELEASE as A\n",
          [BWL_STORE_REFUSED] = "[   25] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_UNREACHABLE]   = "[   25] asks RELEASE as A\n",
          [BWL_LOST]          = "[   25] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_RELEASED]      = "[   25] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_UNKNOWN]       = "[   25] asks RELEASE as A\n",
      } },
    { "discarding_for_the_last_time",
      &verifying,
      TRIES "[    0] protocol tells HELD until 0\n",
      {
          [BWL_NOT_NOW]       = "[   20] asks RELEASE as A\n[   20] NOT_NOW\n",
          [BWL_STORE_REFUSED] = "[   20] NOT_NOW\n[   20] over\n",
          [BWL_UNREACHABLE]   = "[   20] asks RELEASE as A\n[   20] NOT_NOW\n",
          [BWL_LOST]          = "[   20] NOT_NOW\n[   20] over\n",
          [BWL_RELEASED]      = "[   20] NOT_NOW\n[   20] over\n",
          [BWL_UNKNOWN]       = "[   20] asks RELEASE as A\n[   20] NOT_NOW\n",
      } },
    /* No question is out. */
    { "waiting",
      &verifying,
      ACQUIRES
      "[    0] protocol tells BUSY\n[    5] end\n[    5] protocol tells BUSY\n[   15] end\n"
      "[   15] protocol tells BUSY\n[   35] end\n[   35] protocol tells BUSY\n",
      { 0 } },
    /* After a refusal, the place may still be in the queue. */
    { "queued",
      &verifying,
      ACQUIRES "[    0] protocol tells QUEUED\n",
      {
          [BWL_HELD]    = "[   20] HELD until 30019, fence 7\n[10020] asks EXTEND as A for 30000\n",
          [BWL_QUEUED]  = "[ 8000] asks RELEASE as A\n[ 8000] TIMED_OUT\n",
          [BWL_BUSY]    = "[   25] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_FULL]    = "[   20] FULL\n[   20] over\n",
          [BWL_NOT_NOW] = "[   25] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_STORE_REFUSED]        = "[   20] asks RELEASE as A\n[   20] STORE_REFUSED\n",
          [BWL_UNREACHABLE]          = "[   25] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_UNKNOWN]              = "[   25] asks ACQUIRE as A for 30000 again\n",
          [BWL_RETRY_WITH_NEW_TOKEN] = "[   21] asks ACQUIRE as B for 30000, may wait\n",
      } },
    { "held",
      &verifying,
      HOLDS,
      {
          [BWL_HELD]          = "[10020] asks EXTEND as A for 30000\n",
          [BWL_NOT_NOW]       = "[10000] asks EXTEND as A for 30000\n",
          [BWL_STORE_REFUSED] = "[10000] asks EXTEND as A for 30000\n",
          [BWL_UNREACHABLE]   = "[10000] asks EXTEND as A for 30000\n",
          [BWL_LOST]          = "[   20] LOST\n[   20] over\n",
          [BWL_UNKNOWN]       = "[10000] asks EXTEND as A for 30000\n",
      } },
    { "renewing",
      &verifying,
      HOLDS "[10000] end\n",
      {
          [BWL_HELD]          = "[20020] asks EXTEND as A for 30000\n",
          [BWL_NOT_NOW]       = "[11020] asks EXTEND as A for 30000\n",
          [BWL_STORE_REFUSED] = "[11020] asks EXTEND as A for 30000\n",
          [BWL_UNREACHABLE]   = "[11020] asks EXTEND as A for 30000\n",
          [BWL_LOST]          = "[10020] LOST\n[10020] over\n",
          [BWL_UNKNOWN]       = "[11020] asks EXTEND as A for 30000\n",
      } },
    { "extending",
      &verifying,
      HOLDS "[    0] caller extends to 30000\n",
      {
          [BWL_HELD]    = "[   20] HELD until 30019, fence 7\n[10020] asks EXTEND as A for 30000\n",
          [BWL_NOT_NOW] = "[   20] NOT_NOW\n[ 1020] asks EXTEND as A for 30000\n",
          [BWL_STORE_REFUSED] = "[   20] STORE_REFUSED\n[ 1020] asks EXTEND as A for 30000\n",
          [BWL_UNREACHABLE]   = "[   20] UNREACHABLE\n[ 1020] asks EXTEND as A for 30000\n",
          [BWL_LOST]          = "[   20] LOST\n[   20] over\n",
          [BWL_UNKNOWN]       = "[   20] UNKNOWN\n[ 1020] asks EXTEND as A for 30000\n",
      } },
    { "releasing",
      &verifying,
      HOLDS "[    0] caller releases\n",
      {
          [BWL_NOT_NOW]       = "[   25] asks RELEASE as A\n",
          [BWL_STORE_REFUSED] = "[   20] STORE_REFUSED\n[   20] over\n",
          [BWL_UNREACHABLE]   = "[   25] asks RELEASE as A\n",
          [BWL_LOST]          = "[   20] LOST\n[   20] over\n",
          [BWL_RELEASED]      = "[   20] RELEASED\n[   20] over\n",
          [BWL_UNKNOWN]       = "[   25] asks RELEASE as A\n",
      } },
    /* The release without an answer may be why the lock is not ours. */
    { "releasing_again",
      &verifying,
      HOLDS "[    0] caller releases\n[    0] protocol tells UNKNOWN\n[    5] end\n",
      {
          [BWL_NOT_NOW]       = "[   35] asks RELEASE as A\n",
          [BWL_STORE_REFUSED] = "[   25] STORE_REFUSED\n[   25] over\n",
          [BWL_UNREACHABLE]   = "[   35] asks RELEASE as A\n",
          [BWL_LOST]          = "[   25] UNKNOWN\n[   25] over\n",
          [BWL_RELEASED]      = "[   25] RELEASED\n[   25] over\n",
          [BWL_UNKNOWN]       = "[   35] asks RELEASE as A\n",
      } },
    { "leaving",
      &verifying,
      ACQUIRES "[    0] caller cancels\n",
      {
          [BWL_NOT_NOW]       = "[   25] asks RELEASE as A\n",
          [BWL_STORE_REFUSED] = "[   20] over\n",
          [BWL_UNREACHABLE]   = "[   25] asks RELEASE as A\n",
          [BWL_LOST]          = "[   20] over\n",
          [BWL_RELEASED]      = "[   20] over\n",
          [BWL_UNKNOWN]       = "[   25] asks RELEASE as A\n",
      } },
    { "yielding",
      &verifying,
      HOLDS "[    0] caller yields, for 8000\n",
      {
          [BWL_NOT_NOW]       = "[   20] asks RELEASE as A\n[   20] NOT_NOW\n",
          [BWL_STORE_REFUSED] = "[   20] asks RELEASE as A\n[   20] STORE_REFUSED\n",
          [BWL_UNREACHABLE]   = "[   20] asks RELEASE as A\n[   20] UNREACHABLE\n",
          [BWL_LOST]          = "[   20] LOST\n[   20] over\n",
          [BWL_RELEASED]      = "[   20] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_UNKNOWN]       = "[   20] asks RELEASE as A\n[   20] UNKNOWN\n",
      } },
    { "yielding_unsettled",
      &unsettled,
      HOLDS "[    0] caller yields, for 8000\n",
      {
          [BWL_NOT_NOW]       = "[   20] NOT_NOW\n[   20] over\n",
          [BWL_STORE_REFUSED] = "[   20] STORE_REFUSED\n[   20] over\n",
          [BWL_UNREACHABLE]   = "[   20] UNREACHABLE\n[   20] over\n",
          [BWL_LOST]          = "[   20] LOST\n[   20] over\n",
          [BWL_RELEASED]      = "[   20] asks ACQUIRE as B for 30000, may wait\n",
          [BWL_UNKNOWN]       = "[   20] UNKNOWN\n[   20] over\n",
      } },
    { "abandoning",
      &unsettled,
      ACQUIRES "[    0] caller cancels\n",
      {
          [BWL_HELD]                 = "[   20] asks RELEASE as A\n",
          [BWL_QUEUED]               = "[   20] over\n",
          [BWL_BUSY]                 = "[   20] over\n",
          [BWL_FULL]                 = "[   20] over\n",
          [BWL_NOT_NOW]              = "[   20] over\n",
          [BWL_STORE_REFUSED]        = "[   20] over\n",
          [BWL_UNREACHABLE]          = "[   20] over\n",
          [BWL_LOST]                 = "[   20] over\n",
          [BWL_RELEASED]             = "[   20] over\n",
          [BWL_UNKNOWN]              = "[   20] over\n",
          [BWL_TIMED_OUT]            = "[   20] over\n",
          [BWL_CANCELLED]            = "[   20] over\n",
          [BWL_RETRY_WITH_NEW_TOKEN] = "[   20] over\n",
      } },
};

int main(void)
{
    struct CMUnitTest tests[sizeof situations / sizeof situations[0]];

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tests[i] = (struct CMUnitTest){ situations[i].name, each_outcome, NULL, NULL,
                                        (void *)(uintptr_t)&situations[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
