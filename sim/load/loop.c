#include "sim/load/loop.h"

#include "lab/base/memory.h"
#include "sim/kernel/descriptor.h"
#include "sim/load/elections.h"
#include "sim/load/forked.h"
#include "sim/load/periods.h"
#include "sim/load/shares.h"
#include "sim/load/tickets.h"

#include <assert.h>

enum { IMPORT_MS = 300 /* the loop is blocked meanwhile */ };

typedef enum activity_state {
    ACTIVITY_IDLE = 1,
    ACTIVITY_ACQUIRING,
    ACTIVITY_HOLDING,
    ACTIVITY_EXTENDING,
    ACTIVITY_CHANGING,
    ACTIVITY_YIELDING,
    ACTIVITY_RELEASING,
    ACTIVITY_QUERYING,
} activity_state;

typedef struct activity {
    activity_state     state;
    unsigned           name;
    int64_t            next_at;  /* IDLE: acquires; HOLDING: does something; else: cancels */
    int64_t            until;    /* HOLDING: releases */
    int64_t            limit_at; /* the operation must have ended */
    int64_t            max_hold_ms;
    load_call          call;
    bowline_operation *op;
    bowline_hold      *hold;
    check_hold        *claim;
    check_wait        *wait;
    check_share        share;
    int                lost_fd; /* -1: not asked for */
    bool               was_cancelled;
    bool               asks_for_all; /* QUERYING */
    bool               observes;     /* QUERYING: who leads */
    bool               had_ended;    /* RELEASING: the hold, before */
    uint64_t           fence;        /* of the hold */
} activity;

typedef struct loop {
    load_program *program;
    activity      activities[LOAD_ACTIVITIES_MAX];
    unsigned      pauses;      /* of its process, when last checked */
    bool          has_blocked; /* since then */
} loop;

/* ---- the steps of an activity ---------------------------------------------------------------- */

static int64_t later(loop *c, int64_t most_ms)
{
    int64_t at   = load_own_ms(c->program) + (int64_t)load_draw(c->program, (uint64_t)most_ms + 1);
    int64_t step = c->program->plan.step_ms;

    return step == 0 ? at : (at + step - 1) / step * step;
}

/* The time at which one operation of `in` is cancelled; INT64_MAX: never. */
static int64_t cancel_at(loop *c, uint64_t in, int64_t most_ms)
{
    return load_draw(c->program, in) == 0 ? later(c, most_ms) : INT64_MAX;
}

static void become_idle(loop *c, activity *a)
{
    a->state   = ACTIVITY_IDLE;
    a->hold    = NULL;
    a->op      = NULL;
    a->lost_fd = -1;
    a->next_at = later(c, c->program->plan.pause_ms);
}

static void drop_claim(activity *a)
{
    if (a->claim != NULL)
        check_over(a->claim);
    a->claim = NULL;
}

static void end_wait(activity *a)
{
    if (a->wait != NULL)
        check_wait_over(a->wait);
    a->wait = NULL;
}

static void claim(loop *c, activity *a)
{
    a->fence = bowline_hold_fence(a->hold);
    a->claim = check_granted(a->wait, a->fence, load_left(c->program, a->hold));
    a->wait  = NULL;
    check_longest(a->claim, a->max_hold_ms);
}

static void plan_hold(loop *c, activity *a)
{
    a->state   = ACTIVITY_HOLDING;
    a->op      = NULL;
    a->next_at = later(c, c->program->plan.hold_ms);
}

static void begin_call(loop *c, activity *a, const char *what, int64_t wait_ms)
{
    a->call          = load_begin(c->program, what, a->name, wait_ms);
    a->limit_at      = load_limit_ms(c->program, &a->call);
    a->was_cancelled = false;
}

/* True: the operation has begun, and a->op is one. */
static bool has_begun(loop *c, activity *a, activity_state state, int status,
                      const bowline_error *error)
{
    load_end(c->program, &a->call, status, error);
    if (status != BOWLINE_OK)
        return false;
    bowline_operation_set_data(a->op, a);
    a->state = state;
    return true;
}

/* Since the time limits were last set: they do not count then. */
static bool was_paused(const loop *c)
{
    return c->has_blocked || c->pauses != sim_process_pauses(c->program->process);
}

/* The operation has ended. */
static void end_call(loop *c, activity *a, int status, const bowline_error *error)
{
    a->op = NULL;
    load_end(c->program, &a->call, status, error);
    if (!was_paused(c))
        load_check_time(c->program, &a->call);
    if (status == BOWLINE_CANCELLED && !a->was_cancelled)
        check_fail("once: %s: %s returned CANCELLED without a cancel",
                   sim_process_name(c->program->process), a->call.what);
}

static void begin_acquire(loop *c, activity *a)
{
    bowline_error           error   = { 0 };
    bowline_acquire_options options = load_acquire_options(c->program);

    a->name        = (unsigned)load_draw(c->program, c->program->plan.names);
    a->max_hold_ms = options.max_hold_ms;
    a->next_at     = cancel_at(c, 16, 3000);
    a->share       = load_draw_share(c->program, a->name, &options);
    begin_call(c, a, "bowline_acquire", options.wait_ms);
    load_period_options(c->program, a->name, &options, &a->call);
    a->wait = check_waits(a->name, c->program->process, a->share, options.wait_ms);
    if (has_begun(c, a, ACTIVITY_ACQUIRING,
                  bowline_acquire_start(&a->op, c->program->client, load_lock_name(a->name),
                                        &options, &error),
                  &error))
        return;
    end_wait(a);
    become_idle(c, a);
}

/* Some locks are kept until they end. */
static void plan_release(loop *c, activity *a)
{
    plan_hold(c, a);
    a->until = later(c, c->program->plan.hold_ms);
    if (c->program->plan.no_renewal && load_draw(c->program, 2) == 0)
        a->until = a->next_at = INT64_MAX;
}

static void end_acquire(loop *c, activity *a)
{
    bowline_error error  = { 0 };
    int           status = bowline_acquire_finish(&a->hold, a->op, &error);

    c->program->counts->acquires++;
    c->program->counts->statuses[-status & 15]++;
    end_call(c, a, status, &error);
    if (status == BOWLINE_OK)
        claim(c, a);
    load_period_acquired(c->program, &a->call, status, a->fence);
    if (status != BOWLINE_OK) {
        end_wait(a);
        become_idle(c, a);
        if (status == BOWLINE_DONE)
            a->next_at = later(c, c->program->plan.period_ms);
        return;
    }
    if (load_draw(c->program, 4) == 0)
        a->lost_fd = bowline_hold_lost_fd(a->hold, &error);
    plan_release(c, a);
}

/* After a yield that failed: the hold is over. */
static void free_hold(loop *c, activity *a)
{
    bowline_error error = { 0 };

    begin_call(c, a, "bowline_release_nowait", 0);
    int status = bowline_release_nowait(a->hold, &error);
    if (status != BOWLINE_LOST)
        end_call(c, a, status, &error);
    become_idle(c, a);
}

static void begin_release(loop *c, activity *a)
{
    bowline_error error = { 0 };

    drop_claim(a);
    a->lost_fd   = -1;
    a->had_ended = bowline_hold_left_ms(a->hold) == 0;
    a->fence     = bowline_hold_fence(a->hold);
    a->next_at   = INT64_MAX;
    c->program->counts->releases++;
    load_period_releases(c->program, a->hold, a->name, a->fence);
    if (load_draw(c->program, 3) == 0) {
        begin_call(c, a, "bowline_release_nowait", 0);
        end_call(c, a, bowline_release_nowait(a->hold, &error), &error);
        become_idle(c, a);
        return;
    }
    begin_call(c, a, "bowline_release", 0);
    if (!has_begun(c, a, ACTIVITY_RELEASING, bowline_release_start(&a->op, a->hold, &error),
                   &error))
        become_idle(c, a);
}

static void begin_extend(loop *c, activity *a)
{
    bowline_error error = { 0 };

    c->program->counts->extends++;
    begin_call(c, a, "bowline_extend", 0);
    if (has_begun(c, a, ACTIVITY_EXTENDING,
                  bowline_extend_start(&a->op, a->hold, load_extend_ms(c->program), &error),
                  &error))
        a->next_at = cancel_at(c, 8, 100);
    else
        plan_hold(c, a);
}

static void begin_announce(loop *c, activity *a)
{
    bowline_error error = { 0 };

    begin_call(c, a, "bowline_announce", 0);
    if (has_begun(c, a, ACTIVITY_EXTENDING, load_announce(c->program, &a->op, a->hold, &error),
                  &error))
        a->next_at = cancel_at(c, 8, 100);
    else
        plan_hold(c, a);
}

/* Of an exclusive hold, or of one that any number share. */
static bool may_change(const loop *c, const activity *a)
{
    return c->program->plan.shares.limit > 0 && a->share.limit == 0 &&
           !load_has_period(c->program, a->name);
}

static void begin_change(loop *c, activity *a)
{
    bowline_error error   = { 0 };
    bool          is_down = a->share.weight == 0;

    c->program->counts->extends++;
    begin_call(c, a, is_down ? "bowline_downgrade" : "bowline_upgrade", 0);
    a->call.also = load_changes_modes(c->program) ? 0 : BOWLINE_UNSUPPORTED;
    if (is_down && a->claim != NULL) /* now: time may pass within the call */
        check_counts_as(a->claim, 1, 0);
    int status = is_down ? bowline_downgrade_start(&a->op, a->hold, &error)
                         : bowline_upgrade_start(&a->op, a->hold, &error);
    if (!has_begun(c, a, ACTIVITY_CHANGING, status, &error)) {
        if (is_down && a->claim != NULL)
            check_counts_as(a->claim, 0, bowline_hold_fence(a->hold));
        plan_hold(c, a);
        return;
    }
    a->call.also = is_down ? 0 : BOWLINE_BUSY;
    a->next_at   = cancel_at(c, 8, 100);
}

/* A hold whose mode is not known is released. */
static void end_change(loop *c, activity *a)
{
    bowline_error error  = { 0 };
    int           status = bowline_finish(a->op, &error);

    end_call(c, a, status, &error);
    if (status == BOWLINE_BUSY) {
        plan_hold(c, a);
    } else if (status != BOWLINE_OK) {
        begin_release(c, a);
    } else {
        drop_claim(a);
        a->share.weight = a->share.weight == 0;
        a->wait         = check_changes(a->name, c->program->process, a->share);
        claim(c, a);
        plan_hold(c, a);
    }
}

static void begin_yield(loop *c, activity *a)
{
    bowline_error error   = { 0 };
    int64_t       wait_ms = load_yield_wait_ms(c->program);

    drop_claim(a);
    c->program->counts->yields++;
    begin_call(c, a, "bowline_yield", wait_ms);
    a->wait = check_yields(a->name, c->program->process, a->share, wait_ms);
    if (has_begun(c, a, ACTIVITY_YIELDING, bowline_yield_start(&a->op, a->hold, wait_ms, &error),
                  &error)) {
        a->next_at = cancel_at(c, 16, 3000);
        return;
    }
    end_wait(a);
    begin_release(c, a);
}

static void begin_query(loop *c, activity *a)
{
    bowline_error error = { 0 };

    c->program->counts->queries++;
    a->asks_for_all = load_asks_for_all(c->program);
    a->name         = (unsigned)load_draw(c->program, c->program->plan.names);
    a->observes     = !a->asks_for_all && load_draws_observation(c->program);
    begin_call(c, a,
               a->observes       ? "bowline_observe"
               : a->asks_for_all ? "bowline_holders"
                                 : "bowline_who",
               0);
    int status  = a->observes ? load_observe(c->program, &a->op, &a->call, &error)
                              : (a->asks_for_all ? bowline_holders_start : bowline_who_start)(
                                   &a->op, c->program->client, load_lock_name(a->name), &error);
    a->limit_at = load_limit_ms(c->program, &a->call);
    if (has_begun(c, a, ACTIVITY_QUERYING, status, &error))
        a->next_at = cancel_at(c, 8, 100);
    else
        become_idle(c, a);
}

static void end_query_for_all(loop *c, activity *a)
{
    bowline_error  error                 = { 0 };
    bowline_holder all[LOAD_HOLDERS_MAX] = { { .size = sizeof all[0] } };
    int            count = bowline_holders_finish(all, LOAD_HOLDERS_MAX, a->op, &error);

    end_call(c, a, count < 0 ? count : BOWLINE_OK, &error);
    load_check_holders(c->program, &a->call, all, count);
    become_idle(c, a);
}

static void end_query(loop *c, activity *a)
{
    bowline_error  error  = { 0 };
    bowline_holder holder = { .size = sizeof holder };

    if (a->asks_for_all) {
        end_query_for_all(c, a);
        return;
    }
    int status = a->observes ? load_observed(c->program, a->op, &a->call, &error)
                             : bowline_who_finish(&holder, a->op, &error);

    end_call(c, a, status, &error);
    load_check_who(c->program, &a->call, status, &holder);
    become_idle(c, a);
}

static void end_release(loop *c, activity *a)
{
    bowline_error error  = { 0 };
    int           status = bowline_finish(a->op, &error);

    end_call(c, a, status, &error);
    load_check_release(c->program, status, a->had_ended);
    if (status == BOWLINE_OK)
        load_period_released(c->program, a->name, a->fence);
    load_leads_no_more(a->name, status == BOWLINE_OK ? a->fence : 0);
    become_idle(c, a);
}

static void end_yield(loop *c, activity *a)
{
    bowline_error error  = { 0 };
    int           status = bowline_finish(a->op, &error);

    end_call(c, a, status, &error);
    if (status == BOWLINE_OK) {
        claim(c, a);
        plan_release(c, a);
        return;
    }
    end_wait(a);
    free_hold(c, a);
}

static void end_step(loop *c, activity *a)
{
    bowline_error error = { 0 };

    switch (a->state) {
    case ACTIVITY_ACQUIRING: end_acquire(c, a); return;
    case ACTIVITY_QUERYING: end_query(c, a); return;
    case ACTIVITY_RELEASING: end_release(c, a); return;
    case ACTIVITY_YIELDING: end_yield(c, a); return;
    case ACTIVITY_CHANGING: end_change(c, a); return;
    case ACTIVITY_EXTENDING:
        end_call(c, a, bowline_finish(a->op, &error), &error);
        plan_hold(c, a);
        return;
    case ACTIVITY_IDLE:
    case ACTIVITY_HOLDING: return;
    }
}

static void cancel(activity *a)
{
    if (a->wait != NULL)
        check_withdrawn(a->wait);
    a->was_cancelled = true;
    a->next_at       = INT64_MAX;
    bowline_cancel(a->op);
}

static void fork_child(loop *c)
{
    load_inherited all[LOAD_ACTIVITIES_MAX];

    for (unsigned i = 0; i < c->program->plan.activities; i++) {
        const activity *a = &c->activities[i];
        all[i]            = (load_inherited){ .hold = a->hold };
        if (a->state == ACTIVITY_RELEASING)
            all[i].hold = NULL; /* it belongs to the operation */
        if (a->state == ACTIVITY_ACQUIRING)
            all[i].acquire = a->op;
        else if (a->state == ACTIVITY_QUERYING && !a->observes && !a->asks_for_all)
            all[i].who = a->op;
        else
            all[i].other = a->op;
    }
    load_fork(c->program, all, c->program->plan.activities);
}

static void pass_on(loop *c, activity *a)
{
    bool is_over = load_export(c->program, a->hold, a->share, a->name);

    c->has_blocked = true;
    if (!is_over) {
        plan_hold(c, a);
        return;
    }
    drop_claim(a);
    become_idle(c, a);
}

static void import(loop *c, activity *a)
{
    int64_t       wait_ms = (int64_t)load_draw(c->program, 2) * IMPORT_MS;
    load_imported taken;
    bool          is_held = load_import(c->program, wait_ms, &taken);

    c->has_blocked = true;
    if (!is_held) {
        become_idle(c, a);
        return;
    }
    a->hold        = taken.hold;
    a->claim       = taken.claim;
    a->name        = taken.name;
    a->share       = (check_share){ .weight = 0 };
    a->max_hold_ms = taken.max_hold_ms;
    bowline_hold_set_data(a->hold, a);
    plan_release(c, a);
}

static void hold_on(loop *c, activity *a)
{
    if (load_forks(c->program))
        fork_child(c);
    if (load_own_ms(c->program) >= a->until || c->program->stops ||
        bowline_hold_left_ms(a->hold) == 0) {
        begin_release(c, a);
        return;
    }
    if (c->program->plan.ticket_ms > 0 && load_draw(c->program, 4) == 0) {
        pass_on(c, a);
        return;
    }
    if (load_draws_announcement(c->program, a->share)) {
        begin_announce(c, a);
        return;
    }
    if (may_change(c, a) && load_draw(c->program, 4) == 0) {
        begin_change(c, a);
        return;
    }
    uint64_t what = load_draw(c->program, 4);
    if (what == 0 && load_has_period(c->program, a->name))
        what = 1;
    switch (what) {
    case 0: begin_yield(c, a); return;
    case 1:
        load_check_hold(c->program, a->hold, a->name);
        plan_hold(c, a);
        return;
    default: begin_extend(c, a); return;
    }
}

static void do_step(loop *c, activity *a)
{
    switch (a->state) {
    case ACTIVITY_IDLE:
        if (c->program->stops)
            a->next_at = INT64_MAX;
        else if (load_has_ticket(c->program))
            import(c, a);
        else if (load_draw(c->program, c->program->plan.elects ? 2 : 16) == 0)
            begin_query(c, a);
        else
            begin_acquire(c, a);
        return;
    case ACTIVITY_HOLDING: hold_on(c, a); return;
    case ACTIVITY_ACQUIRING:
    case ACTIVITY_EXTENDING:
    case ACTIVITY_CHANGING:
    case ACTIVITY_YIELDING:
    case ACTIVITY_QUERYING: cancel(a); return;
    case ACTIVITY_RELEASING: return;
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void take_event(loop *c, const bowline_event *event)
{
    activity   *a    = event->data;
    const char *name = sim_process_name(c->program->process);

    if (event->kind == BOWLINE_EVENT_ENDED) {
        if (a == NULL || a->op != event->operation || bowline_operation_done(a->op) != 1)
            check_fail("once: %s: an event of an operation that has not ended", name);
        else
            end_step(c, a);
        return;
    }
    if (a == NULL || a->hold != event->hold) {
        check_fail("once: %s: an event of a hold that was released", name);
        return;
    }
    load_check_event(c->program, event->kind, a->name);
    if (event->kind == BOWLINE_EVENT_LOST && bowline_hold_left_ms(a->hold) != 0)
        check_fail("state: %s: a lost hold has time left", name);
}

/* All that has ended has its event. */
static void take_events(loop *c)
{
    bowline_event event = { .size = sizeof event };
    bowline_error error = { 0 };
    load_call     call  = load_begin(c->program, "bowline_next_event", CHECK_NO_NAME, 0);
    int           status;

    while ((status = bowline_next_event(c->program->client, &event, &error)) == 1 &&
           check_failure() == NULL)
        take_event(c, &event);
    if (status < 0)
        load_end(c->program, &call, status, &error);
    for (unsigned i = 0; i < c->program->plan.activities; i++) {
        if (c->activities[i].op != NULL && bowline_operation_done(c->activities[i].op) == 1)
            check_fail("once: %s: %s has ended without an event",
                       sim_process_name(c->program->process), c->activities[i].call.what);
    }
}

/* What is claimed, what is due, and what is late. */
static void look_at(loop *c, activity *a)
{
    if (a->claim != NULL) {
        bool       was_lost = a->lost_fd >= 0 && load_is_readable(a->lost_fd);
        check_left left     = load_left(c->program, a->hold);
        int64_t    now      = sim_clock_read(c->program->process, SIM_CLOCK_BOOT);
        check_until(a->claim, left);
        if (a->lost_fd >= 0)
            load_check_lost_fd(c->program, a->lost_fd, was_lost, left.until > now);
        if (left.until <= now && a->next_at > load_own_ms(c->program))
            a->next_at = load_own_ms(c->program);
    }
    if (c->program->stops && a->state == ACTIVITY_HOLDING)
        begin_release(c, a);
    if (load_own_ms(c->program) >= a->next_at ||
        (a->state == ACTIVITY_IDLE && load_has_ticket(c->program)))
        do_step(c, a);
    if (a->op != NULL && load_own_ms(c->program) > a->limit_at && !was_paused(c))
        load_check_time(c->program, &a->call);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool is_done(const loop *c)
{
    for (unsigned i = 0; i < c->program->plan.activities; i++) {
        if (c->activities[i].state != ACTIVITY_IDLE)
            return false;
    }
    return c->program->stops;
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
    if (c->program->plan.ticket_ms > 0 && next - now > load_ticket_pause_ms(c->program))
        next = now + load_ticket_pause_ms(c->program);
    return next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);
}

static void close_client(loop *c)
{
    for (unsigned i = 0; i < c->program->plan.activities; i++) {
        drop_claim(&c->activities[i]);
        end_wait(&c->activities[i]);
        become_idle(c, &c->activities[i]);
    }
    load_close(c->program);
}

/* After a pause of the process, or a call that blocks, time limits count from now. */
static void excuse(loop *c)
{
    c->pauses      = sim_process_pauses(c->program->process);
    c->has_blocked = false;
    for (unsigned i = 0; i < c->program->plan.activities; i++) {
        activity *a = &c->activities[i];
        if (a->op == NULL || a->limit_at == INT64_MAX)
            continue;
        a->limit_at += load_own_ms(c->program) - a->call.began_ms;
        a->call.began_ms = load_own_ms(c->program);
    }
}

static void turn(loop *c)
{
    struct pollfd polled = { .fd = bowline_fd(c->program->client), .events = POLLIN };
    bowline_error error  = { 0 };
    load_call     call   = load_begin(c->program, "bowline_dispatch", CHECK_NO_NAME, 0);

    (void)sim_poll(&polled, 1, next_wait(c));
    int status = bowline_dispatch(c->program->client, 0, &error);
    if (status != BOWLINE_OK)
        load_end(c->program, &call, status, &error);
    if (was_paused(c))
        excuse(c);
    take_events(c);
    for (unsigned i = 0; i < c->program->plan.activities; i++)
        look_at(c, &c->activities[i]);
}

enum { FLAGS = BOWLINE_NO_THREAD | BOWLINE_NO_SPIN };

void load_loop(load_program *program)
{
    loop *c = bwl_room_for(1, sizeof *c);

    assert(program->plan.activities >= 1 && program->plan.activities <= LOAD_ACTIVITIES_MAX);
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
