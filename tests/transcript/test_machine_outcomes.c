/*
 * test_machine_outcomes.c -- each outcome of a protocol in each state of the lock machine: the
 * actions of the machine at once, and at its next alarm.
 *
 * An outcome without a line in a row is a bug of the protocol and has to stop the process.
 */
#include "transcript.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LATER_MS = 20 };

typedef struct situation {
    const char         *name;
    const bwl_protocol *protocol;
    const char         *story;   /* leads to the state */
    const char         *effects; /* lines of "OUTCOME OUTCOME: effects" */
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

/* What the line of this outcome says; NULL: there is none, and the process stops. */
static const char *effects_of(const char *lines, const char *kind)
{
    for (const char *line = lines; *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *colon = strchr(line, ':');
        const char *found = strstr(line, kind);
        if (found != NULL && found < colon)
            return colon + 2;
    }
    return NULL;
}

static void each_outcome(void **state)
{
    static stage     s;
    const situation *row = *state;

    for (unsigned kind = BWL_HELD; kind <= BWL_RETRY_WITH_NEW_TOKEN; kind++) {
        const char *effects = effects_of(row->effects, scripted_kinds[kind]);
        perform(&s, 1, row->protocol, &usual_terms, row->story);
        if (effects == NULL) {
            expect_stop(&s, kind);
            continue;
        }
        play_outcome(&s, kind);
        write_item(&s, "\n", "");
        if (strncmp(effects, s.written, s.size) != 0)
            fail_msg("%s: %snot %s", scripted_kinds[kind], s.written, effects);
    }
}

#define ACQUIRES "acquires, for 8000; ACQUIRE as A, may wait"
#define TRIES    "acquires, once; ACQUIRE as A"
#define HOLDS    TRIES " -> HELD"
#define SHARES   HOLDS "; HELD until 29999, fence 7; downgrades; DOWNGRADE as A -> HELD"

static const situation situations[] = {
    { "acquiring", &verifying, ACQUIRES,
      "HELD: HELD until 30019, fence 7; +10000 EXTEND as A\n"
      "QUEUED: +7980 RELEASE as A; TIMED_OUT\n"
      "BUSY NOT_NOW UNREACHABLE: +5 ACQUIRE as B, may wait\n"
      "FULL: FULL; over\n"
      "STORE_REFUSED: STORE_REFUSED; over\n"
      "UNKNOWN: +5 ACQUIRE as A again\n"
      "RETRY_WITH_NEW_TOKEN: +1 ACQUIRE as B, may wait\n" },
    { "acquiring_at_the_end_of_the_wait", &verifying, TRIES,
      "HELD: HELD until 30019, fence 7; +10000 EXTEND as A\n"
      "QUEUED: RELEASE as A; TIMED_OUT\n"
      "BUSY: BUSY; over\n"
      "FULL: FULL; over\n"
      "NOT_NOW: NOT_NOW; over\n"
      "STORE_REFUSED: STORE_REFUSED; over\n"
      "UNREACHABLE: UNREACHABLE; over\n"
      "UNKNOWN: +5 ACQUIRE as A again\n"
      "RETRY_WITH_NEW_TOKEN: +1 ACQUIRE as B\n" },
    /* A refusal or an unsent request does not say whether the request before it was carried out. */
    { "resolving", &verifying, ACQUIRES " -> UNKNOWN; +5 end",
      "HELD: HELD until 30024, fence 7; +10000 EXTEND as A\n"
      "QUEUED: +7975 RELEASE as A; TIMED_OUT\n"
      "BUSY: +10 ACQUIRE as B, may wait\n"
      "FULL: FULL; over\n"
      "NOT_NOW UNREACHABLE UNKNOWN: +10 ACQUIRE as A again\n"
      "STORE_REFUSED: RELEASE as A; UNKNOWN\n"
      "RETRY_WITH_NEW_TOKEN: +1 ACQUIRE as B, may wait\n" },
    { "resolving_at_the_end_of_the_wait", &verifying, TRIES " -> UNKNOWN; +5 end",
      "HELD: HELD until 30024, fence 7; +10000 EXTEND as A\n"
      "QUEUED: RELEASE as A; TIMED_OUT\n"
      "BUSY: BUSY; over\n"
      "FULL: FULL; over\n"
      "NOT_NOW UNREACHABLE UNKNOWN: +10 ACQUIRE as A again\n"
      "STORE_REFUSED: RELEASE as A; UNKNOWN\n"
      "RETRY_WITH_NEW_TOKEN: +1 ACQUIRE as B\n" },
    { "discarding", &verifying, ACQUIRES " -> HELD until 0",
      "NOT_NOW UNREACHABLE UNKNOWN: +5 RELEASE as A\n"
      "STORE_REFUSED LOST RELEASED: +5 ACQUIRE as B, may wait\n" },
    { "discarding_at_the_end_of_the_wait", &verifying, TRIES " -> HELD until 0",
      "NOT_NOW UNREACHABLE UNKNOWN: RELEASE as A; NOT_NOW\n"
      "STORE_REFUSED LOST RELEASED: NOT_NOW; over\n" },
    /* No request is in flight. */
    { "waiting", &verifying, ACQUIRES " -> BUSY; +5 end -> BUSY; +10 end -> BUSY; +20 end -> BUSY",
      "" },
    /* After a refusal, the entry may still be in the queue. */
    { "queued", &verifying, ACQUIRES " -> QUEUED",
      "HELD: HELD until 30019, fence 7; +10000 EXTEND as A\n"
      "QUEUED: +7980 RELEASE as A; TIMED_OUT\n"
      "BUSY NOT_NOW UNREACHABLE: +5 ACQUIRE as B, may wait\n"
      "FULL: FULL; over\n"
      "STORE_REFUSED: RELEASE as A; STORE_REFUSED\n"
      "UNKNOWN: +5 ACQUIRE as A again\n"
      "RETRY_WITH_NEW_TOKEN: +1 ACQUIRE as B, may wait\n" },
    { "held", &verifying, HOLDS,
      "HELD: +10000 EXTEND as A\n"
      "NOT_NOW STORE_REFUSED UNREACHABLE UNKNOWN: +9980 EXTEND as A\n"
      "LOST: LOST; over\n" },
    { "renewing", &verifying, HOLDS "; +10000 end",
      "HELD: +10000 EXTEND as A\n"
      "NOT_NOW STORE_REFUSED UNREACHABLE UNKNOWN: +1000 EXTEND as A\n"
      "LOST: LOST; over\n" },
    { "extending", &verifying, HOLDS "; extends to 30000",
      "HELD: HELD until 30019, fence 7; +10000 EXTEND as A\n"
      "NOT_NOW: NOT_NOW; +1000 EXTEND as A\n"
      "STORE_REFUSED: STORE_REFUSED; +1000 EXTEND as A\n"
      "UNREACHABLE: UNREACHABLE; +1000 EXTEND as A\n"
      "LOST: LOST; over\n"
      "UNKNOWN: UNKNOWN; +1000 EXTEND as A\n" },
    /* The command is repeated for the time of a reply.  After a command without a reply, a refusal
     * does not say whether that one was carried out; it is then repeated as a renewal. */
    { "downgrading", &changing, HOLDS "; downgrades",
      "HELD: HELD until 30019, fence 7; +10000 EXTEND as A\n"
      "NOT_NOW UNREACHABLE UNKNOWN: +5 DOWNGRADE as A\n"
      "STORE_REFUSED: STORE_REFUSED; +1000 EXTEND as A\n"
      "LOST: LOST; over\n" },
    { "downgrading_again", &changing, HOLDS "; downgrades; DOWNGRADE as A -> UNKNOWN; +5 end",
      "HELD: HELD until 30024, fence 7; +10000 EXTEND as A\n"
      "NOT_NOW STORE_REFUSED UNREACHABLE UNKNOWN: +10 DOWNGRADE as A\n"
      "LOST: LOST; over\n" },
    { "downgrading_at_the_end_of_the_reply_time", &changing,
      HOLDS "; downgrades; DOWNGRADE as A; +5000 end",
      "HELD: HELD until 35019, fence 7; +10000 EXTEND as A\n"
      "NOT_NOW: NOT_NOW; +1000 EXTEND as A\n"
      "STORE_REFUSED: STORE_REFUSED; +1000 EXTEND as A\n"
      "UNREACHABLE: UNREACHABLE; +1000 EXTEND as A\n"
      "UNKNOWN: UNKNOWN; +1000 DOWNGRADE as A\n"
      "LOST: LOST; over\n" },
    { "downgrading_again_at_the_end_of_the_reply_time", &changing,
      HOLDS "; downgrades; DOWNGRADE as A -> UNKNOWN; +5 DOWNGRADE as A; +4995 end",
      "HELD: HELD until 35019, fence 7; +10000 EXTEND as A\n"
      "NOT_NOW STORE_REFUSED UNREACHABLE UNKNOWN: UNKNOWN; +1000 DOWNGRADE as A\n"
      "LOST: LOST; over\n" },
    { "downgrading_after_the_result", &changing,
      HOLDS "; downgrades; DOWNGRADE as A; +5000 end -> UNKNOWN; UNKNOWN; +1000 end",
      "HELD: +10000 EXTEND as A\n"
      "NOT_NOW STORE_REFUSED UNREACHABLE UNKNOWN: +1000 DOWNGRADE as A\n"
      "LOST: LOST; over\n" },
    { "upgrading", &changing, SHARES "; upgrades",
      "HELD: HELD until 30019, fence 7; +10000 EXTEND as B\n"
      "BUSY: BUSY; +10000 EXTEND as B\n"
      "NOT_NOW UNREACHABLE UNKNOWN: +5 UPGRADE as A to B\n"
      "STORE_REFUSED: STORE_REFUSED; +1000 EXTEND as A\n"
      "LOST: LOST; over\n" },
    { "upgrading_again", &changing, SHARES "; upgrades; UPGRADE as A to B -> UNKNOWN; +5 end",
      "HELD: HELD until 30024, fence 7; +10000 EXTEND as B\n"
      "BUSY: BUSY; +10000 EXTEND as B\n"
      "NOT_NOW STORE_REFUSED UNREACHABLE UNKNOWN: +10 UPGRADE as A to B\n"
      "LOST: LOST; over\n" },
    { "upgrading_at_the_end_of_the_reply_time", &changing,
      SHARES "; upgrades; UPGRADE as A to B; +5000 end",
      "HELD: HELD until 35019, fence 7; +10000 EXTEND as B\n"
      "BUSY: BUSY; +10000 EXTEND as B\n"
      "NOT_NOW: NOT_NOW; +1000 EXTEND as A\n"
      "STORE_REFUSED: STORE_REFUSED; +1000 EXTEND as A\n"
      "UNREACHABLE: UNREACHABLE; +1000 EXTEND as A\n"
      "UNKNOWN: UNKNOWN; +1000 UPGRADE as A to B\n"
      "LOST: LOST; over\n" },
    { "upgrading_again_at_the_end_of_the_reply_time", &changing,
      SHARES "; upgrades; UPGRADE as A to B -> UNKNOWN; +5 UPGRADE as A to B; +4995 end",
      "HELD: HELD until 35019, fence 7; +10000 EXTEND as B\n"
      "BUSY: BUSY; +10000 EXTEND as B\n"
      "NOT_NOW STORE_REFUSED UNREACHABLE UNKNOWN: UNKNOWN; +1000 UPGRADE as A to B\n"
      "LOST: LOST; over\n" },
    { "upgrading_after_the_result", &changing,
      SHARES "; upgrades; UPGRADE as A to B; +5000 end -> UNKNOWN; UNKNOWN; +1000 end",
      "HELD: +10000 EXTEND as B\n"
      "BUSY: +10000 EXTEND as B\n"
      "NOT_NOW STORE_REFUSED UNREACHABLE UNKNOWN: +1000 UPGRADE as A to B\n"
      "LOST: LOST; over\n" },
    { "releasing", &verifying, HOLDS "; releases",
      "NOT_NOW UNREACHABLE UNKNOWN: +5 RELEASE as A\n"
      "STORE_REFUSED: STORE_REFUSED; over\n"
      "LOST: LOST; over\n"
      "RELEASED: RELEASED; over\n" },
    /* The release without a reply may be the reason for the LOST. */
    { "releasing_again", &verifying, HOLDS "; releases -> UNKNOWN; +5 end",
      "NOT_NOW UNREACHABLE UNKNOWN: +10 RELEASE as A\n"
      "STORE_REFUSED: STORE_REFUSED; over\n"
      "LOST: UNKNOWN; over\n"
      "RELEASED: RELEASED; over\n" },
    { "leaving", &verifying, ACQUIRES "; cancels",
      "NOT_NOW UNREACHABLE UNKNOWN: +5 RELEASE as A\n"
      "STORE_REFUSED LOST RELEASED: over\n" },
    { "yielding", &verifying, HOLDS "; yields, for 8000",
      "NOT_NOW: RELEASE as A; NOT_NOW\n"
      "STORE_REFUSED: RELEASE as A; STORE_REFUSED\n"
      "UNREACHABLE: RELEASE as A; UNREACHABLE\n"
      "LOST: LOST; over\n"
      "RELEASED: ACQUIRE as B, may wait\n"
      "UNKNOWN: RELEASE as A; UNKNOWN\n" },
    { "yielding_without_can_verify_owner", &unverified, HOLDS "; yields, for 8000",
      "NOT_NOW: NOT_NOW; over\n"
      "STORE_REFUSED: STORE_REFUSED; over\n"
      "UNREACHABLE: UNREACHABLE; over\n"
      "LOST: LOST; over\n"
      "RELEASED: ACQUIRE as B, may wait\n"
      "UNKNOWN: UNKNOWN; over\n" },
    { "abandoning", &unverified, ACQUIRES "; cancels",
      "HELD: RELEASE as A\n"
      "QUEUED BUSY FULL NOT_NOW STORE_REFUSED UNREACHABLE LOST RELEASED UNKNOWN TIMED_OUT "
      "CANCELLED RETRY_WITH_NEW_TOKEN: over\n" },
};

ROWS(situations, each_outcome)
