/*
 * test_local_group.c -- the threads of one client that want the same name: their queue, the
 * handoffs and their bounds, leaving, a lost hold.
 *
 * A row is a list of items.  Inputs are in small letters:
 *
 *      join N [L]  leave N  extend N L      waiter N sends a request with the next tag; L: lease
 *      pass N                               waiter N passes its hold on to another client
 *      held U F    KIND                     a result of the store hold
 *      status U KIND                        its state, without a request
 *      keep N                               a new group, which keeps the store hold for N ms
 *      wanted                               another client wants the lock
 *      time                                 nothing: the time of bwl_group_wake_at, AT N or NEVER
 *      +N                                   N ms pass
 *      one & another                        both, before the group runs
 *
 * Actions of the group are in capitals: ACQUIRE L, EXTEND L, YIELD, RELEASE, CANCEL, WATCH; and
 * "N>TAG KIND" is the result of request TAG of waiter N (TAG 0: a push).  OVER: no waiter and no
 * request is left.  The lease is 30000 ms; the bounds are three handoffs and 100 ms.
 */
#include "lock/local_group.h"
#include "tests/lib/suite.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    WAITERS     = 5,
    LEASE_MS    = 30000,
    NOW         = 1000000,
    HANDOFFS    = 3,
    HANDOFFS_MS = 100,
    SAID_MAX    = 2000
};

typedef struct row {
    const char *name;
    bwl_ms      handoffs_ms;
    const char *text;
} row;

static bwl_group        group;
static bwl_local_waiter waiters[WAITERS];
static bwl_ms           now;
static uint32_t         tags;
static char             said[SAID_MAX];

static const char *const kinds[] = {
    "PENDING",     "HELD", "QUEUED",   "BUSY",    "FULL",      "NOT_NOW",   "STORE_REFUSED",
    "UNREACHABLE", "LOST", "RELEASED", "UNKNOWN", "TIMED_OUT", "CANCELLED", "RETRY_WITH_NEW_TOKEN",
};

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    size_t  size = strlen(said);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(said + size, sizeof said - size, format, args);
    va_end(args);
    assert_true(strlen(said) < SAID_MAX - 100);
}

static void say_action(const bwl_group_action *d)
{
    static const char *const actions[] = { "?",     "?",       "ACQUIRE", "EXTEND",
                                           "YIELD", "RELEASE", "CANCEL",  "WATCH" };

    if (d->kind == BWL_ACTION_COMPLETE && d->outcome.kind == BWL_HELD)
        say("; %u>%u HELD %lld %llu", d->waiter, d->tag, (long long)(d->outcome.until - NOW),
            (unsigned long long)d->outcome.fence);
    else if (d->kind == BWL_ACTION_COMPLETE)
        say("; %u>%u %s", d->waiter, d->tag, kinds[d->outcome.kind]);
    else if (d->lease_ms != 0)
        say("; %s %lld", actions[d->kind], (long long)d->lease_ms);
    else
        say("; %s", actions[d->kind]);
}

static bwl_outcome_kind read_kind(const char *text)
{
    for (unsigned i = 0; i < COUNT_OF(kinds); i++)
        if (strcasecmp(text, kinds[i]) == 0)
            return (bwl_outcome_kind)i;
    fail_msg("%s is no outcome", text);
    return BWL_PENDING;
}

static void happens(const char *what)
{
    char      command[32] = "";
    char      last[32]    = "";
    long long a           = 0;
    long long b           = 0;
    int       count       = sscanf(what, "%31s %lld %lld", command, &a, &b);

    if (*what == '+')
        now += atoi(what + 1);
    else if (strcmp(command, "join") == 0)
        bwl_group_enqueue(&group, waiters, (bwl_local_waiter_id)a, ++tags,
                          count == 3 ? b : LEASE_MS);
    else if (strcmp(command, "leave") == 0)
        bwl_group_leave(&group, waiters, (bwl_local_waiter_id)a, ++tags);
    else if (strcmp(command, "keep") == 0)
        bwl_group_init(&group, HANDOFFS, HANDOFFS_MS, a);
    else if (strcmp(command, "wanted") == 0)
        bwl_group_on_wanted(&group);
    else if (strcmp(command, "time") == 0)
        say(bwl_group_wake_at(&group) == BWL_NEVER ? "; NEVER" : "; AT %lld",
            (long long)(bwl_group_wake_at(&group) - NOW));
    else if (strcmp(command, "pass") == 0)
        bwl_group_give_up(&group, waiters, (bwl_local_waiter_id)a);
    else if (strcmp(command, "extend") == 0)
        bwl_group_extend(&group, waiters, (bwl_local_waiter_id)a, ++tags, b);
    else if (strcmp(command, "held") == 0)
        bwl_group_on_store_result(&group, waiters,
                                  &(bwl_outcome){ BWL_HELD, NOW + a, (uint64_t)b, 0 }, now);
    else if (sscanf(what, "status %lld %31s", &a, last) == 2)
        bwl_group_on_store_status(&group, NOW + a, read_kind(last));
    else
        bwl_group_on_store_result(&group, waiters, &(bwl_outcome){ .kind = read_kind(what) }, now);
}

static void play(void **state)
{
    const row       *r = *state;
    char             text[SAID_MAX];
    bwl_group_action action;

    now     = NOW;
    tags    = 0;
    said[0] = '\0';
    memset(waiters, 0, sizeof waiters);
    bwl_group_init(&group, HANDOFFS, r->handoffs_ms, 0);
    memcpy(text, r->text, strlen(r->text) + 1);
    for (char *item = strtok(text, ";"); item != NULL; item = strtok(NULL, ";")) {
        char *at = item + (*item == ' ');
        if (isupper((unsigned char)*at) || isdigit((unsigned char)*at))
            continue;
        say("; %s", at);
        bool is_pause = *at == '+';
        for (char *next = NULL; at != NULL; at = next) {
            next = strstr(at, " & ");
            if (next != NULL)
                *next = '\0';
            happens(at);
            next = next == NULL ? NULL : next + 3;
        }
        while (!is_pause && bwl_group_next_action(&group, waiters, now, &action))
            say_action(&action);
        if (bwl_group_is_over(&group))
            say("; OVER");
    }
    assert_string_equal(said + 2, r->text);
}

static const row rows[] = {
    { "first_makes_the_store_acquire_and_the_others_wait", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; join 3; 3>3 QUEUED; held 30000 "
      "7168; 1>0 HELD 30000 7168" },
    { "single_waiter_gets_RELEASED", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168; 1>0 HELD 30000 7168; leave 1; "
      "RELEASE; released; 1>2 RELEASED; OVER" },
    { "hold_that_is_passed_on_is_acquired_again_for_the_next_waiter", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; pass 1; ACQUIRE 30000; held 30000 9216; 2>0 HELD 30000 9216; pass 2; OVER" },
    { "waiter_in_the_middle_leaves", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; join 3; 3>3 QUEUED; join 4; 4>4 "
      "QUEUED; held 30000 7168; 1>0 HELD 30000 7168; leave 3; 3>5 RELEASED; leave 1; 1>6 "
      "RELEASED; 2>0 HELD 30000 7169; leave 2; 2>7 RELEASED; 4>0 HELD 30000 7170; leave 4; "
      "RELEASE; released; 4>8 RELEASED; OVER" },
    { "last_waiter_that_leaves_cancels_the_acquire", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; leave 1; 1>3 RELEASED; leave 2; "
      "2>4 RELEASED; CANCEL; OVER; held 30000 7168; OVER" },
    { "refusal_ends_all_waiters", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; store_refused; 1>0 STORE_REFUSED; "
      "2>0 STORE_REFUSED; OVER" },
    { "full_queue_ends_all_waiters", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; full; 1>0 FULL; 2>0 FULL; OVER; "
      "join 1; 1>3 QUEUED; ACQUIRE 30000" },
    { "hold_is_yielded_after_three_handoffs", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; join 3; 3>3 QUEUED; join 4; 4>4 "
      "QUEUED; held 30000 7168; 1>0 HELD 30000 7168; leave 1; 1>5 RELEASED; 2>0 HELD 30000 "
      "7169; leave 2; 2>6 RELEASED; 3>0 HELD 30000 7170; leave 3; 3>7 RELEASED; YIELD; join 1; "
      "1>8 QUEUED; held 30000 12288; 4>0 HELD 30000 12288; leave 4; 4>9 RELEASED; 1>0 HELD "
      "30000 12289; leave 1; RELEASE; released; 1>10 RELEASED; OVER" },
    { "hold_is_yielded_after_100_ms_between_holders", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; join 3; 3>3 QUEUED; held 30000 "
      "7168; 1>0 HELD 30000 7168; +99; leave 1; 1>4 RELEASED; 2>0 HELD 30000 7169; +1; leave 2; "
      "2>5 RELEASED; YIELD" },
    { "hold_lost_during_a_yield_is_acquired_again", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; +100; leave 1; 1>3 RELEASED; YIELD; lost; ACQUIRE 30000; held 30000 9000; 2>0 HELD "
      "30000 9000" },
    { "last_waiter_that_leaves_cancels_a_yield", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; +100; leave 1; 1>3 RELEASED; YIELD; leave 2; 2>4 RELEASED; CANCEL; OVER" },
    { "less_than_half_of_the_lease_is_extended_before_a_handoff", BWL_NEVER,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; +15001; leave 1; 1>3 RELEASED; EXTEND 30000; held 45001 7168; 2>0 HELD 45001 7169" },
    { "half_of_the_lease_is_enough_for_a_handoff", BWL_NEVER,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; +15000; leave 1; 1>3 RELEASED; 2>0 HELD 30000 7169" },
    { "another_lease_is_extended_before_a_handoff", BWL_NEVER,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168; 1>0 HELD 30000 7168; join 2 60000; "
      "2>2 QUEUED; leave 1; 1>3 RELEASED; EXTEND 60000; held 10 7168; 2>0 HELD 10 7169; leave "
      "2; RELEASE; released; 2>4 RELEASED; OVER" },
    { "waiter_with_another_lease_leaves_before_the_extension", BWL_NEVER,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168; 1>0 HELD 30000 7168; join 2 60000; "
      "2>2 QUEUED; leave 1; 1>3 RELEASED; EXTEND 60000; leave 2; 2>4 RELEASED; RELEASE; held "
      "60000 7168; OVER; released; OVER" },
    { "failed_extension_releases_and_acquires", BWL_NEVER,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; +29990; leave 1; 1>3 RELEASED; EXTEND 30000; unknown; RELEASE; unknown; ACQUIRE "
      "30000" },
    { "expired_hold_is_not_handed_off", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; +30000; leave 1; 1>3 RELEASED; EXTEND 30000; lost; ACQUIRE 30000" },
    { "hold_never_becomes_shorter", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; status 60000 pending; 1>0 HELD 60000 7168; status 30000 pending; leave 1; 1>3 "
      "RELEASED; 2>0 HELD 60000 7169" },
    { "error_is_reported_again_after_a_later_end", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168; 1>0 HELD 30000 7168; status 30000 "
      "unreachable; 1>0 UNREACHABLE; status 60000 unreachable; 1>0 HELD 60000 7168; 1>0 "
      "UNREACHABLE; status 90000 unreachable; 1>0 HELD 90000 7168; 1>0 UNREACHABLE" },
    { "extension_is_sent_to_the_store", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; extend 1 5000; EXTEND 5000; status 60000 pending; held 60000 7168; 1>3 HELD 60000 "
      "7168; extend 1 5000; EXTEND 5000; not_now; 1>4 NOT_NOW" },
    { "each_holder_has_its_fence_and_gets_the_last_error", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; status 30000 unreachable; 1>0 UNREACHABLE; leave 1; 1>3 RELEASED; 2>0 HELD 30000 "
      "7169; 2>0 UNREACHABLE; extend 2 30000; EXTEND 30000; held 60000 7168; 2>4 HELD 60000 "
      "7169; status 90000 pending; 2>0 HELD 90000 7169" },
    { "extension_ends_with_a_loss", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; extend 1 30000; EXTEND 30000; lost; 1>3 LOST; ACQUIRE 30000; held 30000 8192; 2>0 "
      "HELD 30000 8192" },
    { "handoff_that_starts_late_is_one_handoff", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168 & +101; 1>0 HELD 30000 7168" },
    { "loss_before_the_extension_is_sent", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; extend 1 30000 & lost; 1>3 LOST; ACQUIRE 30000; held 30000 8192; 2>0 HELD 30000 "
      "8192" },
    { "holder_leaves_before_its_extension_is_sent", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; extend 1 30000 & leave 1; 1>4 RELEASED; 2>0 HELD 30000 7169" },
    { "waiter_joins_and_leaves_at_once", HANDOFFS_MS,
      "join 1 & leave 1; 1>2 RELEASED; OVER; join 2; 2>3 QUEUED; ACQUIRE 30000" },
    { "holder_leaves_before_the_reply_to_its_extension", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; extend 1 30000; EXTEND 30000; leave 1; 1>4 RELEASED; unreachable; 2>0 HELD 30000 "
      "7169; extend 2 30000; EXTEND 30000; leave 2; RELEASE; released; 2>6 RELEASED; OVER" },
    { "loss_is_reported_to_the_holder_and_the_group_acquires_again", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; join 2; 2>2 QUEUED; held 30000 7168; 1>0 HELD 30000 "
      "7168; lost; 1>0 LOST; ACQUIRE 30000; leave 1; 1>3 LOST; join 3; 3>4 QUEUED; extend 1 "
      "30000; 1>5 LOST" },
    { "waiter_joins_and_leaves_during_a_release", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168; 1>0 HELD 30000 7168; leave 1; "
      "RELEASE; join 2; 2>3 QUEUED; leave 2; 2>4 RELEASED; released; 1>2 RELEASED; OVER" },
    { "failed_release_is_followed_by_an_acquire_for_a_new_waiter", HANDOFFS_MS,
      "join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168; 1>0 HELD 30000 7168; leave 1; "
      "RELEASE; join 2; 2>3 QUEUED; unknown; 1>2 UNKNOWN; ACQUIRE 30000" },
    { "store_hold_is_kept_until_a_second_after_the_grant", HANDOFFS_MS,
      "keep 1000; OVER; join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168; 1>0 HELD 30000 7168; "
      "WATCH; time; NEVER; +400; leave 1; 1>2 RELEASED; time; AT 1000; join 2; 2>3 QUEUED; 2>0 "
      "HELD 30000 7169; leave 2; 2>4 RELEASED; +599; time; AT 1000; +1; time; AT 1000; RELEASE; "
      "released; OVER" },
    { "store_hold_is_kept_until_another_client_wants_it", HANDOFFS_MS,
      "keep 1000; OVER; join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168; 1>0 HELD 30000 7168; "
      "WATCH; leave 1; 1>2 RELEASED; wanted; RELEASE; join 1; 1>3 QUEUED; released; ACQUIRE "
      "30000; held 30000 9216; 1>0 HELD 30000 9216; WATCH; wanted; leave 1; RELEASE; released; "
      "1>4 RELEASED; OVER" },
    { "store_hold_that_was_wanted_before_the_grant_is_not_kept", HANDOFFS_MS,
      "keep 1000; OVER; join 1; 1>1 QUEUED; ACQUIRE 30000; wanted; held 30000 7168; 1>0 HELD "
      "30000 7168; leave 1; RELEASE; released; 1>2 RELEASED; OVER" },
    { "bounds_of_handoffs_count_only_if_the_lock_is_wanted", HANDOFFS_MS,
      "keep 1000; OVER; join 1; 1>1 QUEUED; ACQUIRE 30000; held 30000 7168; 1>0 HELD 30000 7168; "
      "WATCH; leave 1; 1>2 RELEASED; join 2; 2>3 QUEUED; 2>0 HELD 30000 7169; leave 2; 2>4 "
      "RELEASED; join 3; 3>5 QUEUED; 3>0 HELD 30000 7170; leave 3; 3>6 RELEASED; join 1; 1>7 "
      "QUEUED; 1>0 HELD 30000 7171; join 2; 2>8 QUEUED; wanted; leave 1; 1>9 RELEASED; YIELD; "
      "held 30000 9216; 2>0 HELD 30000 9216; WATCH" },
};

TEST(action_is_an_event_for_the_local_waiter)
{
    bwl_group_action held = { .kind    = BWL_ACTION_COMPLETE,
                              .waiter  = 1,
                              .tag     = 9,
                              .outcome = { .kind = BWL_HELD, .until = 77, .fence = 5 } };
    bwl_group_action lost = { .kind    = BWL_ACTION_COMPLETE,
                              .waiter  = 1,
                              .outcome = { .kind = BWL_LOST } };
    bwl_event        ev   = bwl_group_action_event(&held);

    assert_int_equal(ev.kind, BWL_REPLY);
    assert_int_equal(ev.tag, 9);
    assert_int_equal(ev.answer, BWL_YES);
    assert_ptr_equal(ev.details, &held.outcome);
    ev = bwl_group_action_event(&lost);
    assert_int_equal(ev.kind, BWL_PUSH);
    assert_int_equal(ev.answer, BWL_NO);
    assert_ptr_equal(ev.details, &lost.outcome);
}

ROWS(rows, play)
