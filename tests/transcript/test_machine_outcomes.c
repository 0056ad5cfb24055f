/*
 * test_machine_outcomes.c -- each outcome of a protocol in each state of the lock machine: the
 * actions of the machine at once, and at its next alarm.
 *
 * An outcome without an entry in a row is a bug of the protocol and has to stop the process.
 */
#include "transcript.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LATER_MS = 20 };

typedef struct situation {
    const char         *name;
    const bwl_protocol *protocol;
    const char         *story;                         /* leads to the state */
    const char *effects[BWL_RETRY_WITH_NEW_TOKEN + 1]; /* by outcome; NULL: the process stops */
} situation;

/* The protocol has the outcome `kind`; then the clock advances to the next alarm. */
static void play_outcome(stage *s, bwl_outcome_kind kind)
{
    s->now += LATER_MS;
    s->size        = 0;
    s->written[0]  = '\0';
    s->written_at  = s->now;
    script.outcome = read_outcome(scripted_kinds[kind], s->now, BEGINNING);
    play_event(s, (bwl_event){ .kind = BWL_REPLY });
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
        play_outcome(s, kind);
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
        play_outcome(&s, kind);
        if (strcmp(row->effects[kind], s.written) != 0)
            fail_msg("%s: %s, not %s", scripted_kinds[kind], s.written, row->effects[kind]);
    }
}

#define ACQUIRES "acquires, for 8000; ACQUIRE as A for 30000, may wait"
#define TRIES    "acquires, once; ACQUIRE as A for 30000"
#define HOLDS    TRIES " -> HELD"

static const situation situations[] = {
    { "acquiring",
      &verifying,
      ACQUIRES,
      {
          [BWL_HELD]                 = "HELD until 30019, fence 7; +10000 EXTEND as A for 30000",
          [BWL_QUEUED]               = "+7980 RELEASE as A; TIMED_OUT",
          [BWL_BUSY]                 = "+5 ACQUIRE as B for 30000, may wait",
          [BWL_FULL]                 = "FULL; over",
          [BWL_NOT_NOW]              = "+5 ACQUIRE as B for 30000, may wait",
          [BWL_STORE_REFUSED]        = "STORE_REFUSED; over",
          [BWL_UNREACHABLE]          = "+5 ACQUIRE as B for 30000, may wait",
          [BWL_UNKNOWN]              = "+5 ACQUIRE as A for 30000 again",
          [BWL_RETRY_WITH_NEW_TOKEN] = "+1 ACQUIRE as B for 30000, may wait",
      } },
    { "acquiring_at_the_end_of_the_wait",
      &verifying,
      TRIES,
      {
          [BWL_HELD]                 = "HELD until 30019, fence 7; +10000 EXTEND as A for 30000",
          [BWL_QUEUED]               = "RELEASE as A; TIMED_OUT",
          [BWL_BUSY]                 = "BUSY; over",
          [BWL_FULL]                 = "FULL; over",
          [BWL_NOT_NOW]              = "NOT_NOW; over",
          [BWL_STORE_REFUSED]        = "STORE_REFUSED; over",
          [BWL_UNREACHABLE]          = "UNREACHABLE; over",
          [BWL_UNKNOWN]              = "+5 ACQUIRE as A for 30000 again",
          [BWL_RETRY_WITH_NEW_TOKEN] = "+1 ACQUIRE as B for 30000",
      } },
    /* A refusal or an unsent request does not say whether the request before it was carried out. */
    { "resolving",
      &verifying,
      ACQUIRES " -> UNKNOWN; +5 end",
      {
          [BWL_HELD]                 = "HELD until 30024, fence 7; +10000 EXTEND as A for 30000",
          [BWL_QUEUED]               = "+7975 RELEASE as A; TIMED_OUT",
          [BWL_BUSY]                 = "+10 ACQUIRE as B for 30000, may wait",
          [BWL_FULL]                 = "FULL; over",
          [BWL_NOT_NOW]              = "+10 ACQUIRE as A for 30000 again",
          [BWL_STORE_REFUSED]        = "RELEASE as A; UNKNOWN",
          [BWL_UNREACHABLE]          = "+10 ACQUIRE as A for 30000 again",
          [BWL_UNKNOWN]              = "+10 ACQUIRE as A for 30000 again",
          [BWL_RETRY_WITH_NEW_TOKEN] = "+1 ACQUIRE as B for 30000, may wait",
      } },
    { "resolving_at_the_end_of_the_wait",
      &verifying,
      TRIES " -> UNKNOWN; +5 end",
      {
          [BWL_HELD]                 = "HELD until 30024, fence 7; +10000 EXTEND as A for 30000",
          [BWL_QUEUED]               = "RELEASE as A; TIMED_OUT",
          [BWL_BUSY]                 = "BUSY; over",
          [BWL_FULL]                 = "FULL; over",
          [BWL_NOT_NOW]              = "+10 ACQUIRE as A for 30000 again",
          [BWL_STORE_REFUSED]        = "RELEASE as A; UNKNOWN",
          [BWL_UNREACHABLE]          = "+10 ACQUIRE as A for 30000 again",
          [BWL_UNKNOWN]              = "+10 ACQUIRE as A for 30000 again",
          [BWL_RETRY_WITH_NEW_TOKEN] = "+1 ACQUIRE as B for 30000",
      } },
    { "discarding",
      &verifying,
      ACQUIRES " -> HELD until 0",
      {
          [BWL_NOT_NOW]       = "+5 RELEASE as A",
          [BWL_STORE_REFUSED] = "+5 ACQUIRE as B for 30000, may wait",
          [BWL_UNREACHABLE]   = "+5 RELEASE as A",
          [BWL_LOST]          = "+5 ACQUIRE as B for 30000, may wait",
          [BWL_RELEASED]      = "+5 ACQUIRE as B for 30000, may wait",
          [BWL_UNKNOWN]       = "+5 RELEASE as A",
      } },
    { "discarding_at_the_end_of_the_wait",
      &verifying,
      TRIES " -> HELD until 0",
      {
          [BWL_NOT_NOW]       = "RELEASE as A; NOT_NOW",
          [BWL_STORE_REFUSED] = "NOT_NOW; over",
          [BWL_UNREACHABLE]   = "RELEASE as A; NOT_NOW",
          [BWL_LOST]          = "NOT_NOW; over",
          [BWL_RELEASED]      = "NOT_NOW; over",
          [BWL_UNKNOWN]       = "RELEASE as A; NOT_NOW",
      } },
    /* No request is in flight. */
    { "waiting",
      &verifying,
      ACQUIRES " -> BUSY; +5 end -> BUSY; +10 end -> BUSY; +20 end -> BUSY",
      { 0 } },
    /* After a refusal, the entry may still be in the queue. */
    { "queued",
      &verifying,
      ACQUIRES " -> QUEUED",
      {
          [BWL_HELD]                 = "HELD until 30019, fence 7; +10000 EXTEND as A for 30000",
          [BWL_QUEUED]               = "+7980 RELEASE as A; TIMED_OUT",
          [BWL_BUSY]                 = "+5 ACQUIRE as B for 30000, may wait",
          [BWL_FULL]                 = "FULL; over",
          [BWL_NOT_NOW]              = "+5 ACQUIRE as B for 30000, may wait",
          [BWL_STORE_REFUSED]        = "RELEASE as A; STORE_REFUSED",
          [BWL_UNREACHABLE]          = "+5 ACQUIRE as B for 30000, may wait",
          [BWL_UNKNOWN]              = "+5 ACQUIRE as A for 30000 again",
          [BWL_RETRY_WITH_NEW_TOKEN] = "+1 ACQUIRE as B for 30000, may wait",
      } },
    { "held",
      &verifying,
      HOLDS,
      {
          [BWL_HELD]          = "+10000 EXTEND as A for 30000",
          [BWL_NOT_NOW]       = "+9980 EXTEND as A for 30000",
          [BWL_STORE_REFUSED] = "+9980 EXTEND as A for 30000",
          [BWL_UNREACHABLE]   = "+9980 EXTEND as A for 30000",
          [BWL_LOST]          = "LOST; over",
          [BWL_UNKNOWN]       = "+9980 EXTEND as A for 30000",
      } },
    { "renewing",
      &verifying,
      HOLDS "; +10000 end",
      {
          [BWL_HELD]          = "+10000 EXTEND as A for 30000",
          [BWL_NOT_NOW]       = "+1000 EXTEND as A for 30000",
          [BWL_STORE_REFUSED] = "+1000 EXTEND as A for 30000",
          [BWL_UNREACHABLE]   = "+1000 EXTEND as A for 30000",
          [BWL_LOST]          = "LOST; over",
          [BWL_UNKNOWN]       = "+1000 EXTEND as A for 30000",
      } },
    { "extending",
      &verifying,
      HOLDS "; extends to 30000",
      {
          [BWL_HELD]          = "HELD until 30019, fence 7; +10000 EXTEND as A for 30000",
          [BWL_NOT_NOW]       = "NOT_NOW; +1000 EXTEND as A for 30000",
          [BWL_STORE_REFUSED] = "STORE_REFUSED; +1000 EXTEND as A for 30000",
          [BWL_UNREACHABLE]   = "UNREACHABLE; +1000 EXTEND as A for 30000",
          [BWL_LOST]          = "LOST; over",
          [BWL_UNKNOWN]       = "UNKNOWN; +1000 EXTEND as A for 30000",
      } },
    { "releasing",
      &verifying,
      HOLDS "; releases",
      {
          [BWL_NOT_NOW]       = "+5 RELEASE as A",
          [BWL_STORE_REFUSED] = "STORE_REFUSED; over",
          [BWL_UNREACHABLE]   = "+5 RELEASE as A",
          [BWL_LOST]          = "LOST; over",
          [BWL_RELEASED]      = "RELEASED; over",
          [BWL_UNKNOWN]       = "+5 RELEASE as A",
      } },
    /* The release without a reply may be the reason for the LOST. */
    { "releasing_again",
      &verifying,
      HOLDS "; releases -> UNKNOWN; +5 end",
      {
          [BWL_NOT_NOW]       = "+10 RELEASE as A",
          [BWL_STORE_REFUSED] = "STORE_REFUSED; over",
          [BWL_UNREACHABLE]   = "+10 RELEASE as A",
          [BWL_LOST]          = "UNKNOWN; over",
          [BWL_RELEASED]      = "RELEASED; over",
          [BWL_UNKNOWN]       = "+10 RELEASE as A",
      } },
    { "leaving",
      &verifying,
      ACQUIRES "; cancels",
      {
          [BWL_NOT_NOW]       = "+5 RELEASE as A",
          [BWL_STORE_REFUSED] = "over",
          [BWL_UNREACHABLE]   = "+5 RELEASE as A",
          [BWL_LOST]          = "over",
          [BWL_RELEASED]      = "over",
          [BWL_UNKNOWN]       = "+5 RELEASE as A",
      } },
    { "yielding",
      &verifying,
      HOLDS "; yields, for 8000",
      {
          [BWL_NOT_NOW]       = "RELEASE as A; NOT_NOW",
          [BWL_STORE_REFUSED] = "RELEASE as A; STORE_REFUSED",
          [BWL_UNREACHABLE]   = "RELEASE as A; UNREACHABLE",
          [BWL_LOST]          = "LOST; over",
          [BWL_RELEASED]      = "ACQUIRE as B for 30000, may wait",
          [BWL_UNKNOWN]       = "RELEASE as A; UNKNOWN",
      } },
    { "yielding_without_can_verify_owner",
      &unverified,
      HOLDS "; yields, for 8000",
      {
          [BWL_NOT_NOW]       = "NOT_NOW; over",
          [BWL_STORE_REFUSED] = "STORE_REFUSED; over",
          [BWL_UNREACHABLE]   = "UNREACHABLE; over",
          [BWL_LOST]          = "LOST; over",
          [BWL_RELEASED]      = "ACQUIRE as B for 30000, may wait",
          [BWL_UNKNOWN]       = "UNKNOWN; over",
      } },
    { "abandoning",
      &unverified,
      ACQUIRES "; cancels",
      {
          [BWL_HELD]                 = "RELEASE as A",
          [BWL_QUEUED]               = "over",
          [BWL_BUSY]                 = "over",
          [BWL_FULL]                 = "over",
          [BWL_NOT_NOW]              = "over",
          [BWL_STORE_REFUSED]        = "over",
          [BWL_UNREACHABLE]          = "over",
          [BWL_LOST]                 = "over",
          [BWL_RELEASED]             = "over",
          [BWL_UNKNOWN]              = "over",
          [BWL_TIMED_OUT]            = "over",
          [BWL_CANCELLED]            = "over",
          [BWL_RETRY_WITH_NEW_TOKEN] = "over",
      } },
};

ROWS(situations, each_outcome)
