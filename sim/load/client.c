/*
 * client.c -- see client.h.
 */
#include "sim/load/client.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/kernel/descriptor.h"
#include "sim/kernel/say.h"

#include <bowline/async.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ACTIVITIES_MAX = 8,
    SLACK_MS       = 100, /* an operation may end so late: its thread gets the CPU late */
};

typedef enum activity_state {
    ACTIVITY_IDLE = 1,
    ACTIVITY_ACQUIRING,
    ACTIVITY_HOLDING,
    ACTIVITY_EXTENDING,
    ACTIVITY_YIELDING,
    ACTIVITY_RELEASING,
    ACTIVITY_QUERYING,
} activity_state;

typedef struct activity {
    activity_state     state;
    unsigned           name;
    int64_t            next_at;  /* IDLE: acquires; HOLDING: does something; else: cancels */
    int64_t            until;    /* HOLDING: releases */
    int64_t            began_at; /* the operation */
    int64_t            limit_at; /* it must have ended */
    bowline_operation *op;
    bowline_hold      *hold;
    check_hold        *claim;
    bool               was_cancelled;
    bool               has_ended_event;
} activity;

struct load_client {
    load_plan       plan;
    uint64_t        seed;
    sim_process    *process;
    bowline_client *client;
    activity        activities[ACTIVITIES_MAX];
    unsigned        begun; /* acquires */
    bool            stops;
    load_counts    *counts;
    unsigned        pauses; /* of its process, when last checked */
};

static uint64_t draw(load_client *c, uint64_t below)
{
    return below == 0 ? 0 : bwl_dice_draw(&c->seed) % below;
}

static int64_t own_ms(const load_client *c)
{
    return sim_clock_read(c->process, SIM_CLOCK_BOOT) / SIM_MS;
}

static const char *lock_name(unsigned name)
{
    static const char *const names[CHECK_NAMES_MAX] = { "a", "b", "c", "d", "e", "f", "g", "h" };

    return names[name];
}

/* Whether a status is one that this world can produce. */
static bool is_possible(const load_client *c, int status)
{
    switch (status) {
    case BOWLINE_OK:
    case BOWLINE_BUSY:
    case BOWLINE_TIMEOUT:
    case BOWLINE_CANCELLED: return true;
    case BOWLINE_LOST:
    case BOWLINE_UNKNOWN:
    case BOWLINE_UNREACHABLE: return c->plan.may_fail;
    case BOWLINE_REFUSED: return c->plan.may_refuse;
    default: return false;
    }
}

static void check_status(load_client *c, const char *what, int status, const bowline_error *error)
{
    if (!is_possible(c, status))
        check_fail("status: %s: %s returned %s (%s)", sim_process_name(c->process), what,
                   bowline_status_name(status), error->text);
    sim_say("%s: %s: %s %s", sim_process_name(c->process), what, bowline_status_name(status),
            status == BOWLINE_OK ? "" : error->text);
    sim_trace(11, (uint64_t)(int64_t)status, sim_process_number(c->process));
}

/* ---- the steps of an activity ---------------------------------------------------------------- */

/* An acquire that waits has the time of one reply afterwards; everything else has that of three. */
static void set_limit(load_client *c, activity *a, int64_t wait_ms)
{
    int64_t replies_ms = (wait_ms == 0 ? 3 : 1) * (int64_t)c->plan.reply_ms + c->plan.late_ms;

    a->began_at = own_ms(c);
    a->limit_at =
        wait_ms == BOWLINE_FOREVER ? INT64_MAX : own_ms(c) + wait_ms + replies_ms + SLACK_MS;
}

static void become_idle(load_client *c, activity *a)
{
    a->state   = ACTIVITY_IDLE;
    a->hold    = NULL;
    a->op      = NULL;
    a->next_at = own_ms(c) + (int64_t)draw(c, (uint64_t)c->plan.pause_ms + 1);
}

static void drop_claim(activity *a)
{
    if (a->claim != NULL)
        check_over(a->claim);
    a->claim = NULL;
}

static void claim(load_client *c, activity *a)
{
    a->claim = check_granted(a->name, c->process, bowline_hold_fence(a->hold),
                             bowline_hold_left_ms(a->hold));
}

static void plan_hold(load_client *c, activity *a)
{
    int64_t now = own_ms(c);

    a->state   = ACTIVITY_HOLDING;
    a->op      = NULL;
    a->next_at = now + (int64_t)draw(c, (uint64_t)c->plan.hold_ms + 1);
}

static void begin_acquire(load_client *c, activity *a)
{
    bowline_error           error   = { 0 };
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    uint64_t                kind    = draw(c, 8);

    options.wait_ms  = kind == 0   ? BOWLINE_NO_WAIT
                       : kind == 1 ? BOWLINE_FOREVER
                                   : 1 + (int64_t)draw(c, 10000);
    a->name          = (unsigned)draw(c, c->plan.names);
    a->was_cancelled = false;
    a->next_at = draw(c, 16) == 0 ? own_ms(c) + (int64_t)draw(c, 3000) : INT64_MAX; /* cancels */
    set_limit(c, a, options.wait_ms);
    c->begun++;
    int status = bowline_acquire_start(&a->op, c->client, lock_name(a->name), &options, &error);
    check_status(c, "bowline_acquire_start", status, &error);
    if (status != BOWLINE_OK) {
        become_idle(c, a);
        return;
    }
    bowline_operation_set_data(a->op, a);
    a->state = ACTIVITY_ACQUIRING;
}

static void end_acquire(load_client *c, activity *a)
{
    bowline_error error  = { 0 };
    int           status = bowline_acquire_finish(&a->hold, a->op, &error);

    a->op = NULL;
    c->counts->acquires++;
    c->counts->statuses[-status & 15]++;
    check_status(c, "bowline_acquire", status, &error);
    if (status == BOWLINE_CANCELLED && !a->was_cancelled)
        check_fail("once: %s: an acquire that nobody cancelled was CANCELLED",
                   sim_process_name(c->process));
    if (status != BOWLINE_OK) {
        become_idle(c, a);
        return;
    }
    claim(c, a);
    a->until = own_ms(c) + (int64_t)draw(c, (uint64_t)c->plan.hold_ms + 1);
    plan_hold(c, a);
}

/* After a yield that failed: the hold is over. */
static void free_hold(load_client *c, activity *a)
{
    bowline_error error  = { 0 };
    int           status = bowline_release_nowait(a->hold, &error);

    if (status != BOWLINE_LOST)
        check_status(c, "bowline_release_nowait", status, &error);
    become_idle(c, a);
}

static void begin_release(load_client *c, activity *a)
{
    bowline_error error = { 0 };

    drop_claim(a);
    if (draw(c, 3) == 0) {
        int status = bowline_release_nowait(a->hold, &error);
        check_status(c, "bowline_release_nowait", status, &error);
        become_idle(c, a);
        return;
    }
    set_limit(c, a, 0);
    int status = bowline_release_start(&a->op, a->hold, &error);
    check_status(c, "bowline_release_start", status, &error);
    if (status != BOWLINE_OK) {
        become_idle(c, a);
        return;
    }
    bowline_operation_set_data(a->op, a);
    a->state   = ACTIVITY_RELEASING;
    a->next_at = INT64_MAX;
}

static void begin_extend(load_client *c, activity *a)
{
    bowline_error error = { 0 };

    set_limit(c, a, 0);
    c->counts->extends++;
    int status = bowline_extend_start(&a->op, a->hold, c->plan.lease_ms, &error);
    check_status(c, "bowline_extend_start", status, &error);
    if (status != BOWLINE_OK)
        return;
    bowline_operation_set_data(a->op, a);
    a->state   = ACTIVITY_EXTENDING;
    a->next_at = draw(c, 8) == 0 ? own_ms(c) + (int64_t)draw(c, 100) : INT64_MAX;
}

static void begin_yield(load_client *c, activity *a)
{
    bowline_error error   = { 0 };
    int64_t       wait_ms = draw(c, 2) == 0 ? BOWLINE_FOREVER : 1 + (int64_t)draw(c, 10000);

    drop_claim(a);
    set_limit(c, a, wait_ms);
    c->counts->yields++;
    int status = bowline_yield_start(&a->op, a->hold, wait_ms, &error);
    check_status(c, "bowline_yield_start", status, &error);
    if (status != BOWLINE_OK) {
        begin_release(c, a);
        return;
    }
    bowline_operation_set_data(a->op, a);
    a->state         = ACTIVITY_YIELDING;
    a->was_cancelled = false;
    a->next_at       = draw(c, 16) == 0 ? own_ms(c) + (int64_t)draw(c, 3000) : INT64_MAX;
}

static void begin_query(load_client *c, activity *a)
{
    bowline_error error = { 0 };

    set_limit(c, a, 0);
    c->counts->queries++;
    a->name    = (unsigned)draw(c, c->plan.names);
    int status = bowline_who_start(&a->op, c->client, lock_name(a->name), &error);
    check_status(c, "bowline_who_start", status, &error);
    if (status != BOWLINE_OK) {
        become_idle(c, a);
        return;
    }
    bowline_operation_set_data(a->op, a);
    a->state   = ACTIVITY_QUERYING;
    a->next_at = draw(c, 8) == 0 ? own_ms(c) + (int64_t)draw(c, 100) : INT64_MAX;
}

static void end_query(load_client *c, activity *a)
{
    bowline_error  error  = { 0 };
    bowline_holder holder = { .size = sizeof holder };
    int            status = bowline_who_finish(&holder, a->op, &error);

    check_status(c, "bowline_who", status, &error);
    if (status == BOWLINE_OK && holder.held != 0 && holder.foreign != 0 && !c->plan.is_beside)
        check_fail("who: %s: bowline_who found a foreign lock", sim_process_name(c->process));
    become_idle(c, a);
}

/* An extend, yield or release has ended. */
static void end_operation(load_client *c, activity *a)
{
    bowline_error        error  = { 0 };
    const activity_state state  = a->state;
    int                  status = bowline_finish(a->op, &error);

    a->op = NULL;
    if (state == ACTIVITY_RELEASING) {
        check_status(c, "bowline_release", status, &error);
        become_idle(c, a);
    } else if (state == ACTIVITY_EXTENDING) {
        check_status(c, "bowline_extend", status, &error);
        plan_hold(c, a);
    } else if (status == BOWLINE_OK) {
        claim(c, a);
        plan_hold(c, a);
    } else {
        check_status(c, "bowline_yield", status, &error);
        free_hold(c, a);
    }
}

static void end_step(load_client *c, activity *a)
{
    switch (a->state) {
    case ACTIVITY_ACQUIRING: end_acquire(c, a); return;
    case ACTIVITY_QUERYING: end_query(c, a); return;
    case ACTIVITY_EXTENDING:
    case ACTIVITY_YIELDING:
    case ACTIVITY_RELEASING: end_operation(c, a); return;
    case ACTIVITY_IDLE:
    case ACTIVITY_HOLDING: return;
    }
}

static bool may_begin(const load_client *c)
{
    return !c->stops && (c->plan.operations == 0 || c->begun < c->plan.operations);
}

static void cancel(activity *a)
{
    a->was_cancelled = true;
    a->next_at       = INT64_MAX;
    bowline_cancel(a->op);
}

static void do_step(load_client *c, activity *a)
{
    switch (a->state) {
    case ACTIVITY_IDLE:
        if (!may_begin(c))
            a->next_at = INT64_MAX;
        else if (draw(c, 16) == 0 && !c->plan.never_asks)
            begin_query(c, a);
        else
            begin_acquire(c, a);
        return;
    case ACTIVITY_HOLDING:
        if (own_ms(c) >= a->until || c->stops || bowline_hold_left_ms(a->hold) == 0)
            begin_release(c, a);
        else if (draw(c, 4) == 0)
            begin_yield(c, a);
        else
            begin_extend(c, a);
        return;
    case ACTIVITY_ACQUIRING:
    case ACTIVITY_EXTENDING:
    case ACTIVITY_YIELDING:
    case ACTIVITY_QUERYING: cancel(a); return;
    case ACTIVITY_RELEASING: return;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void take_events(load_client *c)
{
    bowline_event event = { .size = sizeof event };
    bowline_error error = { 0 };
    int           status;

    while ((status = bowline_next_event(c->client, &event, &error)) == 1) {
        activity *a = event.data;
        if (event.kind == BOWLINE_EVENT_ENDED) {
            if (a == NULL || a->op != event.operation || bowline_operation_done(a->op) != 1)
                check_fail("once: %s: an event of an operation that has not ended",
                           sim_process_name(c->process));
        } else if (event.kind == BOWLINE_EVENT_LOST) {
            c->counts->losses++;
        }
    }
    if (status < 0)
        check_status(c, "bowline_next_event", status, &error);
}

/* Looks at each activity: what has ended, what is claimed, what is due, and what is late. */
static void look_at(load_client *c, activity *a)
{
    if (a->op != NULL && bowline_operation_done(a->op) == 1)
        end_step(c, a);
    if (a->claim != NULL) {
        int64_t left_ms = bowline_hold_left_ms(a->hold);
        check_left(a->claim, left_ms);
        if (left_ms == 0 && a->next_at > own_ms(c))
            a->next_at = own_ms(c);
    }
    if (c->stops && a->state == ACTIVITY_HOLDING)
        begin_release(c, a);
    if (own_ms(c) >= a->next_at)
        do_step(c, a);
    if (a->op != NULL && own_ms(c) > a->limit_at)
        check_fail("time: %s: an operation did not end in its time (activity state %d)",
                   sim_process_name(c->process), (int)a->state);
}

static bool is_done(const load_client *c)
{
    for (unsigned i = 0; i < c->plan.activities; i++) {
        if (c->activities[i].state != ACTIVITY_IDLE)
            return false;
    }
    return !may_begin(c);
}

static int next_wait(const load_client *c)
{
    int64_t next = INT64_MAX;
    int64_t now  = own_ms(c);

    for (unsigned i = 0; i < c->plan.activities; i++) {
        const activity *a = &c->activities[i];
        if (a->next_at < next)
            next = a->next_at;
        if (a->op != NULL && a->limit_at < next)
            next = a->limit_at + 1;
    }
    if (next <= now)
        return 0;
    return next - now > 60000 ? 60000 : (int)(next - now);
}

static bool open_client(load_client *c)
{
    bowline_error error = { 0 };
    int           status =
        bowline_open(&c->client,
                     BOWLINE_OPTIONS(.url = c->plan.url, .program = "sim",
                                     .flags    = BOWLINE_NO_THREAD | BOWLINE_NO_SPIN,
                                     .lease_ms = c->plan.lease_ms, .reply_ms = c->plan.reply_ms),
                     &error);

    check_status(c, "bowline_open", status, &error);
    return status == BOWLINE_OK;
}

static void close_client(load_client *c)
{
    for (unsigned i = 0; i < c->plan.activities; i++) {
        drop_claim(&c->activities[i]);
        become_idle(c, &c->activities[i]);
    }
    bowline_close(c->client);
    c->client = NULL;
}

/* After a pause of the process, time limits count from now. */
static void excuse(load_client *c)
{
    c->pauses = sim_process_pauses(c->process);
    for (unsigned i = 0; i < c->plan.activities; i++) {
        activity *a = &c->activities[i];
        if (a->op != NULL && a->limit_at != INT64_MAX)
            a->limit_at += own_ms(c) - a->began_at;
    }
}

static void turn(load_client *c)
{
    struct pollfd polled = { .fd = bowline_fd(c->client), .events = POLLIN };
    bowline_error error  = { 0 };

    (void)sim_poll(&polled, 1, next_wait(c));
    int status = bowline_dispatch(c->client, 0, &error);
    if (status != BOWLINE_OK)
        check_status(c, "bowline_dispatch", status, &error);
    take_events(c);
    if (c->pauses != sim_process_pauses(c->process))
        excuse(c);
    for (unsigned i = 0; i < c->plan.activities; i++)
        look_at(c, &c->activities[i]);
}

static void *run(void *arg)
{
    load_client *c = arg;

    c->process = sim_self_process();
    for (unsigned i = 0; i < c->plan.activities; i++)
        become_idle(c, &c->activities[i]);
    if (!open_client(c))
        return NULL;
    while (!is_done(c)) {
        turn(c);
        if (c->plan.closes_in != 0 && !c->stops && draw(c, c->plan.closes_in) == 0) {
            close_client(c);
            if (!open_client(c))
                return NULL;
        }
    }
    close_client(c);
    return NULL;
}

load_client *load_client_new(const load_plan *plan, const char *name, sim_clocks clocks,
                             load_counts *counts)
{
    load_client *c = bwl_room_for(1, sizeof *c);

    assert(plan->activities >= 1 && plan->activities <= ACTIVITIES_MAX);
    c->plan    = *plan;
    c->seed    = plan->seed;
    c->counts  = counts;
    c->process = sim_process_start(name, bwl_dice_draw(&c->seed), clocks, run, c);
    return c;
}

sim_process *load_client_process(const load_client *client)
{
    return client->process;
}

void load_client_stop(load_client *client)
{
    client->stops = true;
    sim_process_wake(client->process);
}

void load_client_free(load_client *client)
{
    if (client == NULL)
        return;
    sim_process_free(client->process);
    free(client);
}
