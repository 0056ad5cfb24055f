/*
 * caller_story.h -- for story.c: calls that are not about a lock of the story.  The caller observes
 * who leads, and updates a key.
 */
#pragma once

#include "tests/lib/suite.h"

#include <bowline/election.h>
#include <bowline/update.h>

#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...);

static void note_end(const char *name, int status, const bowline_error *error);

static bowline_operation *observing; /* NULL: nothing is observed */
static bowline_leader     leader = BOWLINE_LEADER_INIT;

/* "a" or "a waiting MS": from what was seen last. */
static void observes(bowline_client *client, const char *what)
{
    char          name[32] = "";
    bowline_error error    = { 0 };
    const char   *waiting  = strstr(what, " waiting ");
    int64_t       wait_ms  = waiting != NULL ? strtoll(waiting + 9, NULL, 10) : BOWLINE_FOREVER;

    assert_int_equal(sscanf(what, "%31s", name), 1);
    int status = bowline_observe_start(&observing, client, name, &leader, wait_ms, &error);
    if (status != BOWLINE_OK)
        note_end("observer", status, &error);
}

static void note_leader(void)
{
    bowline_error error = { 0 };

    if (observing == NULL || !bowline_operation_done(observing))
        return;
    int status = bowline_observe_finish(&leader, observing, &error);
    observing  = NULL;
    if (status != BOWLINE_OK)
        note_end("observer", status, &error);
    else if (leader.leads)
        note("observer: %s (%s, pid %lld) leads with fence %llu for %lld ms", leader.text,
             leader.program, (long long)leader.pid, (unsigned long long)leader.fence,
             (long long)leader.left_ms);
    else
        note("observer: nobody leads, fence %llu", (unsigned long long)leader.fence);
}

static void forget_leader(void)
{
    observing = NULL;
    leader    = (bowline_leader)BOWLINE_LEADER_INIT;
}

/* "a b", without a wait. */
static void acquires_all(bowline_client *client, const char *what)
{
    char                    first[32] = "", second[32] = "";
    const char             *names[] = { first, second };
    bowline_hold           *holds[COUNT_OF(names)];
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    bowline_error           error   = { 0 };

    assert_int_equal(sscanf(what, "%31s %31s", first, second), 2);
    options.wait_ms = BOWLINE_NO_WAIT;
    int status      = bowline_acquire_all(holds, client, names, COUNT_OF(names), &options, &error);
    note_end(what, status, &error);
}

static int computes(bowline_change *change, void *context)
{
    note("the function sees %s%.*s", change->old_value != NULL ? "" : "nothing",
         (int)(change->old_value != NULL ? change->old_size : 0),
         change->old_value != NULL ? change->old_value : "");
    change->value      = context;
    change->value_size = strlen(context);
    return BOWLINE_UPDATE_WRITE;
}

static void updates(bowline_client *client, const char *what)
{
    char          key[32] = "", value[64] = "";
    bowline_error error = { 0 };

    assert_int_equal(sscanf(what, "%31s to %63s", key, value), 2);
    int status = bowline_update(client, key, computes, value, NULL, &error);
    note_end(key, status, &error);
}
