#include "sim/load/loop.h"

#include "lab/base/memory.h"
#include "sim/kernel/descriptor.h"

#include <bowline/async.h>

#include <assert.h>

enum {
    ACTIVITIES_MAX = 8,
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
    int64_t            max_hold_ms;
    bowline_operation *op;
    bowline_hold      *hold;
    check_hold        *claim;
    check_wait        *wait;
    bool               was_cancelled;
} activity;

typedef struct loop {
    load_program *program;
    activity      activities[ACTIVITIES_MAX];
    unsigned      pauses; /* of its process, when last checked */
} loop;

/* ---- the steps of an activity ---------------------------------------------------------------- */

static void set_limit(loop *c, activity *a, int64_t wait_ms)
{
    int64_t limit_ms = load_limit_ms(c->program, wait_ms);

    a->began_at = load_own_ms(c->program);
    a->limit_at = limit_ms == INT64_MAX ? INT64_MAX : a->began_at + limit_ms;
}

static void become_idle(loop *c, activity *a)
{
    a->state   = ACTIVITY_IDLE;
    a->hold    = NULL;
    a->op      = NULL;
    a->next_at = load_own_ms(c->program) +
                 (int64_t)load_draw(c->program, (uint64_t)c->program->plan.pause_ms + 1);
}

static void drop_claim(activity *a)
{
    if (a->claim != NULL)
        check_over(a->claim);
    a->claim = NULL;
}

static void end_wait(activity *a, int status)
{
    if (a->wait != NULL)
        check_wait_over(a->wait, status == BOWLINE_OK);
    a->wait = NULL;
}

static void claim(loop *c, activity *a)
{
    a->claim = check_granted(a->name, c->program->process, bowline_hold_fence(a->hold),
                             load_until(c->program, a->hold));
    check_longest(a->claim, a->max_hold_ms);
}

static void plan_hold(loop *c, activity *a)
{
    int64_t now = load_own_ms(c->program);

    a->state   = ACTIVITY_HOLDING;
    a->op      = NULL;
    a->next_at = now + (int64_t)load_draw(c->program, (uint64_t)c->program->plan.hold_ms + 1);
}

static void begin_acquire(loop *c, activity *a)
{
    bowline_error           error   = { 0 };
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    uint64_t                kind    = load_draw(c->program, 8);

    options.wait_ms     = kind == 0   ? BOWLINE_NO_WAIT
                          : kind == 1 ? BOWLINE_FOREVER
                                      : 1 + (int64_t)load_draw(c->program, 10000);
    a->name             = (unsigned)load_draw(c->program, c->program->plan.names);
    a->was_cancelled    = false;
    a->max_hold_ms      = load_max_hold_ms(c->program);
    options.max_hold_ms = a->max_hold_ms;
    a->next_at          = load_draw(c->program, 16) == 0
                              ? load_own_ms(c->program) + (int64_t)load_draw(c->program, 3000)
                              : INT64_MAX; /* cancels */
    set_limit(c, a, options.wait_ms);
    c->program->begun++;
    int status = bowline_acquire_start(&a->op, c->program->client, load_lock_name(a->name),
                                       &options, &error);
    load_check_status(c->program, "bowline_acquire_start", status, &error);
    if (status == BOWLINE_OK)
        a->wait = check_waits(a->name, c->program->process, options.wait_ms);
    if (status != BOWLINE_OK) {
        become_idle(c, a);
        return;
    }
    bowline_operation_set_data(a->op, a);
    a->state = ACTIVITY_ACQUIRING;
}

static void end_acquire(loop *c, activity *a)
{
    bowline_error error  = { 0 };
    int           status = bowline_acquire_finish(&a->hold, a->op, &error);

    a->op = NULL;
    end_wait(a, status);
    c->program->counts->acquires++;
    c->program->counts->statuses[-status & 15]++;
    load_check_status(c->program, "bowline_acquire", status, &error);
    if (status == BOWLINE_CANCELLED && !a->was_cancelled)
        check_fail("once: %s: an acquire that nobody cancelled was CANCELLED",
                   sim_process_name(c->program->process));
    if (status != BOWLINE_OK) {
        become_idle(c, a);
        return;
    }
    claim(c, a);
    a->until = load_own_ms(c->program) +
               (int64_t)load_draw(c->program, (uint64_t)c->program->plan.hold_ms + 1);
    plan_hold(c, a);
}

/* After a yield that failed: the hold is over. */
static void free_hold(loop *c, activity *a)
{
    bowline_error error  = { 0 };
    int           status = bowline_release_nowait(a->hold, &error);

    if (status != BOWLINE_LOST)
        load_check_status(c->program, "bowline_release_nowait", status, &error);
    become_idle(c, a);
}

static void begin_release(loop *c, activity *a)
{
    bowline_error error = { 0 };

    drop_claim(a);
    if (load_draw(c->program, 3) == 0) {
        int status = bowline_release_nowait(a->hold, &error);
        load_check_status(c->program, "bowline_release_nowait", status, &error);
        become_idle(c, a);
        return;
    }
    set_limit(c, a, 0);
    int status = bowline_release_start(&a->op, a->hold, &error);
    load_check_status(c->program, "bowline_release_start", status, &error);
    if (status != BOWLINE_OK) {
        become_idle(c, a);
        return;
    }
    bowline_operation_set_data(a->op, a);
    a->state   = ACTIVITY_RELEASING;
    a->next_at = INT64_MAX;
}

static void begin_extend(loop *c, activity *a)
{
    bowline_error error = { 0 };

    set_limit(c, a, 0);
    c->program->counts->extends++;
    int status = bowline_extend_start(&a->op, a->hold, c->program->plan.lease_ms, &error);
    load_check_status(c->program, "bowline_extend_start", status, &error);
    if (status != BOWLINE_OK)
        return;
    bowline_operation_set_data(a->op, a);
    a->state   = ACTIVITY_EXTENDING;
    a->next_at = load_draw(c->program, 8) == 0
                     ? load_own_ms(c->program) + (int64_t)load_draw(c->program, 100)
                     : INT64_MAX;
}

static void begin_yield(loop *c, activity *a)
{
    bowline_error error = { 0 };
    int64_t       wait_ms =
        load_draw(c->program, 2) == 0 ? BOWLINE_FOREVER : 1 + (int64_t)load_draw(c->program, 10000);

    drop_claim(a);
    set_limit(c, a, wait_ms);
    c->program->counts->yields++;
    int status = bowline_yield_start(&a->op, a->hold, wait_ms, &error);
    load_check_status(c->program, "bowline_yield_start", status, &error);
    if (status == BOWLINE_OK)
        a->wait = check_waits(a->name, c->program->process, wait_ms);
    if (status != BOWLINE_OK) {
        begin_release(c, a);
        return;
    }
    bowline_operation_set_data(a->op, a);
    a->state         = ACTIVITY_YIELDING;
    a->was_cancelled = false;
    a->next_at       = load_draw(c->program, 16) == 0
                           ? load_own_ms(c->program) + (int64_t)load_draw(c->program, 3000)
                           : INT64_MAX;
}

static void begin_query(loop *c, activity *a)
{
    bowline_error error = { 0 };

    set_limit(c, a, 0);
    c->program->counts->queries++;
    a->name    = (unsigned)load_draw(c->program, c->program->plan.names);
    int status = bowline_who_start(&a->op, c->program->client, load_lock_name(a->name), &error);
    load_check_status(c->program, "bowline_who_start", status, &error);
    if (status != BOWLINE_OK) {
        become_idle(c, a);
        return;
    }
    bowline_operation_set_data(a->op, a);
    a->state   = ACTIVITY_QUERYING;
    a->next_at = load_draw(c->program, 8) == 0
                     ? load_own_ms(c->program) + (int64_t)load_draw(c->program, 100)
                     : INT64_MAX;
}

static void end_query(loop *c, activity *a)
{
    bowline_error  error  = { 0 };
    bowline_holder holder = { .size = sizeof holder };
    int            status = bowline_who_finish(&holder, a->op, &error);

    load_check_status(c->program, "bowline_who", status, &error);
    if (status == BOWLINE_OK && holder.held != 0 && holder.foreign != 0 &&
        !c->program->plan.is_beside)
        check_fail("who: %s: bowline_who found a foreign lock",
                   sim_process_name(c->program->process));
    become_idle(c, a);
}

/* An extend, yield or release has ended. */
static void end_operation(loop *c, activity *a)
{
    bowline_error        error  = { 0 };
    const activity_state state  = a->state;
    int                  status = bowline_finish(a->op, &error);

    a->op = NULL;
    end_wait(a, status);
    if (state == ACTIVITY_RELEASING) {
        load_check_status(c->program, "bowline_release", status, &error);
        become_idle(c, a);
    } else if (state == ACTIVITY_EXTENDING) {
        load_check_status(c->program, "bowline_extend", status, &error);
        plan_hold(c, a);
    } else if (status == BOWLINE_OK) {
        claim(c, a);
        plan_hold(c, a);
    } else {
        load_check_status(c->program, "bowline_yield", status, &error);
        free_hold(c, a);
    }
}

static void end_step(loop *c, activity *a)
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

static void cancel(activity *a)
{
    end_wait(a, BOWLINE_CANCELLED);
    a->was_cancelled = true;
    a->next_at       = INT64_MAX;
    bowline_cancel(a->op);
}

static void do_step(loop *c, activity *a)
{
    switch (a->state) {
    case ACTIVITY_IDLE:
        if (!load_may_begin(c->program))
            a->next_at = INT64_MAX;
        else if (load_draw(c->program, 16) == 0)
            begin_query(c, a);
        else
            begin_acquire(c, a);
        return;
    case ACTIVITY_HOLDING:
        if (load_own_ms(c->program) >= a->until || c->program->stops ||
            bowline_hold_left_ms(a->hold) == 0)
            begin_release(c, a);
        else if (load_draw(c->program, 4) == 0)
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

static void take_events(loop *c)
{
    bowline_event event = { .size = sizeof event };
    bowline_error error = { 0 };
    int           status;

    while ((status = bowline_next_event(c->program->client, &event, &error)) == 1) {
        activity *a = event.data;
        if (event.kind == BOWLINE_EVENT_ENDED) {
            if (a == NULL || a->op != event.operation || bowline_operation_done(a->op) != 1)
                check_fail("once: %s: an event of an operation that has not ended",
                           sim_process_name(c->program->process));
        } else if (event.kind == BOWLINE_EVENT_LOST) {
            c->program->counts->losses++;
        }
    }
    if (status < 0)
        load_check_status(c->program, "bowline_next_event", status, &error);
}

/* Looks at each activity: what has ended, what is claimed, what is due, and what is late. */
static void look_at(loop *c, activity *a)
{
    if (a->op != NULL && bowline_operation_done(a->op) == 1)
        end_step(c, a);
    if (a->claim != NULL) {
        int64_t until = load_until(c->program, a->hold);
        check_until(a->claim, until);
        if (until <= sim_clock_read(c->program->process, SIM_CLOCK_BOOT) &&
            a->next_at > load_own_ms(c->program))
            a->next_at = load_own_ms(c->program);
    }
    if (c->program->stops && a->state == ACTIVITY_HOLDING)
        begin_release(c, a);
    if (load_own_ms(c->program) >= a->next_at)
        do_step(c, a);
    if (a->op != NULL && load_own_ms(c->program) > a->limit_at)
        check_fail("time: %s: an operation did not end in its time (activity state %d)",
                   sim_process_name(c->program->process), (int)a->state);
}

static bool is_done(const loop *c)
{
    for (unsigned i = 0; i < c->program->plan.activities; i++) {
        if (c->activities[i].state != ACTIVITY_IDLE)
            return false;
    }
    return !load_may_begin(c->program);
}

static int next_wait(const loop *c)
{
    int64_t next = INT64_MAX;
    int64_t now  = load_own_ms(c->program);

    for (unsigned i = 0; i < c->program->plan.activities; i++) {
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

static void close_client(loop *c)
{
    for (unsigned i = 0; i < c->program->plan.activities; i++) {
        drop_claim(&c->activities[i]);
        end_wait(&c->activities[i], BOWLINE_CANCELLED);
        become_idle(c, &c->activities[i]);
    }
    load_close(c->program);
}

/* After a pause of the process, time limits count from now. */
static void excuse(loop *c)
{
    c->pauses = sim_process_pauses(c->program->process);
    for (unsigned i = 0; i < c->program->plan.activities; i++) {
        activity *a = &c->activities[i];
        if (a->op != NULL && a->limit_at != INT64_MAX)
            a->limit_at += load_own_ms(c->program) - a->began_at;
    }
}

static void turn(loop *c)
{
    struct pollfd polled = { .fd = bowline_fd(c->program->client), .events = POLLIN };
    bowline_error error  = { 0 };

    (void)sim_poll(&polled, 1, next_wait(c));
    int status = bowline_dispatch(c->program->client, 0, &error);
    if (status != BOWLINE_OK)
        load_check_status(c->program, "bowline_dispatch", status, &error);
    take_events(c);
    if (c->pauses != sim_process_pauses(c->program->process))
        excuse(c);
    for (unsigned i = 0; i < c->program->plan.activities; i++)
        look_at(c, &c->activities[i]);
}

enum { FLAGS = BOWLINE_NO_THREAD | BOWLINE_NO_SPIN };

void load_loop(load_program *program)
{
    loop *c = bwl_room_for(1, sizeof *c);

    assert(program->plan.activities >= 1 && program->plan.activities <= ACTIVITIES_MAX);
    program->state = c;
    c->program     = program;
    for (unsigned i = 0; i < program->plan.activities; i++)
        become_idle(c, &c->activities[i]);
    if (!load_open(program, FLAGS))
        return;
    while (!is_done(c)) {
        turn(c);
        if (program->plan.closes_in != 0 && !program->stops &&
            load_draw(program, program->plan.closes_in) == 0) {
            close_client(c);
            if (!load_open(program, FLAGS))
                return;
        }
    }
    close_client(c);
}
