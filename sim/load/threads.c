#include "sim/load/threads.h"

#include "lab/base/memory.h"
#include "sim/load/forked.h"
#include "sim/load/periods.h"
#include "sim/load/shares.h"
#include "sim/load/tickets.h"

#include <assert.h>

enum { FLUSH_MS = 3000 };

#define LOOK_NS (60 * SIM_S)

typedef struct worker {
    load_program *program;
    sim_thread   *thread;
    bowline_hold *hold;
    check_hold   *claim;
    uint64_t      fence;
    unsigned      name;
    int64_t       max_hold_ms;
    load_call     call;
    unsigned      pauses; /* of the process, when it began */
    check_wait   *wait;
    check_share   share;
} worker;

static void begin(worker *w, const char *what, int64_t wait_ms)
{
    w->call   = load_begin(w->program, what, w->name, wait_ms);
    w->pauses = sim_process_pauses(w->program->process);
}

/* The call has returned. */
static void end(worker *w, int status, const bowline_error *error)
{
    load_end(w->program, &w->call, status, error);
    if (w->pauses == sim_process_pauses(w->program->process))
        load_check_time(w->program, &w->call);
}

/* Looks now and then whether the program is to stop. */
static void sleep_ms(worker *w, int64_t ms)
{
    const sim_process *process = w->program->process;
    int64_t            until   = sim_clock_read(process, SIM_CLOCK_MONOTONIC) + ms * SIM_MS;

    for (int64_t now; !w->program->stops;) {
        now = sim_clock_read(process, SIM_CLOCK_MONOTONIC);
        if (now >= until)
            return;
        (void)sim_block(w, until - now > LOOK_NS ? now + LOOK_NS : until);
    }
}

static void claim(worker *w)
{
    w->fence = bowline_hold_fence(w->hold);
    w->claim = check_granted(w->wait, w->fence, load_left(w->program, w->hold));
    w->wait  = NULL;
    check_longest(w->claim, w->max_hold_ms);
}

static void end_wait(worker *w)
{
    check_wait_over(w->wait);
    w->wait = NULL;
}

static void drop_claim(worker *w)
{
    check_over(w->claim);
    w->claim = NULL;
}

static bool acquire(worker *w)
{
    load_program           *p       = w->program;
    bowline_error           error   = { 0 };
    bowline_acquire_options options = load_acquire_options(p);

    w->name        = (unsigned)load_draw(p, p->plan.names);
    w->max_hold_ms = options.max_hold_ms;
    begin(w, "bowline_acquire", options.wait_ms);
    load_period_options(p, w->name, &options, &w->call);
    w->share   = load_draw_share(p, w->name, &options);
    w->wait    = check_waits(w->name, p->process, w->share, options.wait_ms);
    int status = bowline_acquire(&w->hold, p->client, load_lock_name(w->name), &options,
                                 load_draw(p, 2) == 0 ? NULL : &error);
    p->counts->acquires++;
    p->counts->statuses[-status & 15]++;
    if (status == BOWLINE_OK)
        claim(w);
    else
        end_wait(w);
    end(w, status, &error);
    load_period_acquired(p, &w->call, status, w->fence);
    return status == BOWLINE_OK;
}

/* True: it still holds the lock. */
static bool yield(worker *w)
{
    load_program *p       = w->program;
    bowline_error error   = { 0 };
    int64_t       wait_ms = load_yield_wait_ms(p);

    drop_claim(w);
    begin(w, "bowline_yield", wait_ms);
    p->counts->yields++;
    w->wait    = check_yields(w->name, p->process, w->share, wait_ms);
    int status = bowline_yield(w->hold, wait_ms, &error);
    if (status == BOWLINE_OK)
        claim(w);
    else
        end_wait(w);
    end(w, status, &error);
    if (status == BOWLINE_OK)
        return true;
    (void)bowline_release(w->hold, NULL); /* the hold is over */
    return false;
}

static void extend(worker *w)
{
    bowline_error error = { 0 };

    begin(w, "bowline_extend", 0);
    w->program->counts->extends++;
    end(w, bowline_extend(w->hold, load_extend_ms(w->program), &error), &error);
    check_until(w->claim, load_left(w->program, w->hold));
}

static void query_all(worker *w)
{
    bowline_error  error                 = { 0 };
    bowline_holder all[LOAD_HOLDERS_MAX] = { { .size = sizeof all[0] } };
    const char    *name                  = load_lock_name(w->name);

    begin(w, "bowline_holders", 0);
    w->program->counts->queries++;
    int count = bowline_holders(w->program->client, name, all, LOAD_HOLDERS_MAX, &error);
    end(w, count < 0 ? count : BOWLINE_OK, &error);
    load_check_holders(w->program, &w->call, all, count);
}

/* An administrator may break what the query finds. */
static void query(worker *w)
{
    bowline_error  error  = { 0 };
    bowline_holder holder = { .size = sizeof holder };
    const char    *name   = load_lock_name(w->name);

    if (load_asks_for_all(w->program)) {
        query_all(w);
        return;
    }
    begin(w, "bowline_who", 0);
    w->program->counts->queries++;
    int status = bowline_who(w->program->client, name, &holder, &error);
    end(w, status, &error);
    if (status != BOWLINE_OK || holder.id == 0 || !w->program->plan.has_breaks)
        return;
    begin(w, "bowline_break", 0);
    w->program->counts->breaks++;
    end(w, bowline_break(w->program->client, name, holder.id, &error), &error);
}

static void flush_releases(worker *w)
{
    bowline_error error = { 0 };

    begin(w, "bowline_flush_releases", FLUSH_MS);
    w->call.name              = CHECK_EVERY_NAME;
    w->call.since             = w->program->last_flush_at;
    w->program->last_flush_at = sim_now();
    end(w, bowline_flush_releases(w->program->client, FLUSH_MS, &error), &error);
}

static void release(worker *w)
{
    bowline_error error     = { 0 };
    bool          waits     = load_draw(w->program, 3) != 0;
    bool          had_ended = bowline_hold_left_ms(w->hold) == 0;

    drop_claim(w);
    w->program->counts->releases++;
    load_period_releases(w->program, w->hold, w->name, w->fence);
    begin(w, waits ? "bowline_release" : "bowline_release_nowait", 0);
    int status = waits ? bowline_release(w->hold, &error) : bowline_release_nowait(w->hold, &error);
    end(w, status, &error);
    if (waits && status == BOWLINE_OK)
        load_period_released(w->program, w->name, w->fence);
    if (waits)
        load_check_release(w->program, status, had_ended);
    else if (load_draw(w->program, 4) == 0)
        flush_releases(w);
}

/* True: it does not hold the lock any more. */
static bool pass_on(worker *w)
{
    if (!load_export(w->program, w->hold, w->share, w->name))
        return false;
    drop_claim(w);
    return true;
}

static bool import(worker *w)
{
    load_program *p       = w->program;
    int64_t       wait_ms = load_draw(p, 2) == 0 ? BOWLINE_NO_WAIT : load_yield_wait_ms(p);
    load_imported taken;

    if (!load_import(p, wait_ms, &taken))
        return false;
    w->hold        = taken.hold;
    w->claim       = taken.claim;
    w->name        = taken.name;
    w->share       = (check_share){ .weight = 0 };
    w->max_hold_ms = taken.max_hold_ms;
    return true;
}

/* It ends when there is a ticket. */
static void pause_between(worker *w)
{
    load_program *p     = w->program;
    int64_t       ms    = (int64_t)load_draw(p, (uint64_t)p->plan.pause_ms + 1);
    int64_t       until = load_own_ms(p) + ms;

    if (p->plan.ticket_ms == 0)
        sleep_ms(w, ms);
    else
        for (int64_t rest;
             (rest = until - load_own_ms(p)) > 0 && !p->stops && !load_has_ticket(p);) {
            int64_t look_ms = load_ticket_pause_ms(p);
            sleep_ms(w, rest < look_ms ? rest : look_ms);
        }
}

/* True: the lock is still held. */
static bool work(worker *w)
{
    load_program *p     = w->program;
    int64_t       until = load_own_ms(p) + (int64_t)load_draw(p, (uint64_t)p->plan.hold_ms + 1);

    if (p->plan.no_renewal && load_draw(p, 2) == 0)
        until = SIM_NEVER; /* to its end */

    /* The time passes in the calls of the library too. */
    for (int64_t rest; (rest = until - load_own_ms(p)) > 0 && !p->stops;) {
        check_left left = load_left(p, w->hold);
        check_until(w->claim, left);
        if (left.until <= sim_clock_read(p->process, SIM_CLOCK_BOOT))
            return true;
        if (rest > left.until / SIM_MS - load_own_ms(p) + 1)
            rest = left.until / SIM_MS - load_own_ms(p) + 1;
        sleep_ms(w, (int64_t)load_draw(p, (uint64_t)rest + 1));
        if (load_forks(p))
            load_fork(p, &(load_inherited){ .hold = w->hold }, 1);
        switch (load_draw(p, 8)) {
        case 0: extend(w); break;
        case 1: query(w); break;
        case 2: load_check_hold(p, w->hold, w->name); break;
        case 3:
            if (!load_has_period(p, w->name) && !yield(w))
                return false;
            break;
        case 4:
            if (p->plan.ticket_ms > 0 && pass_on(w))
                return false;
            break;
        default: break;
        }
    }
    return true;
}

/* ---- several names at once ------------------------------------------------------------------- */

enum { TOGETHER_MAX = 3 };

typedef struct together {
    unsigned      count;
    unsigned      numbers[TOGETHER_MAX];
    const char   *names[TOGETHER_MAX];
    bowline_hold *holds[TOGETHER_MAX];
    check_wait   *waits[TOGETHER_MAX];
    check_hold   *claims[TOGETHER_MAX];
} together;

/* Neighbours, upwards or downwards.  False: one of them has a period. */
static bool draw_names(load_program *p, together *t)
{
    unsigned first = (unsigned)load_draw(p, p->plan.names);
    bool     is_up = load_draw(p, 2) == 0;
    unsigned most  = p->plan.names < TOGETHER_MAX ? p->plan.names : TOGETHER_MAX;

    t->count = 1 + (unsigned)load_draw(p, most);
    for (unsigned i = 0; i < t->count; i++) {
        t->numbers[i] = (first + (is_up ? i : t->count - 1 - i)) % p->plan.names;
        t->names[i]   = load_lock_name(t->numbers[i]);
        if (load_has_period(p, t->numbers[i]))
            return false;
    }
    return true;
}

static void begin_waits(worker *w, together *t, int64_t wait_ms)
{
    for (unsigned i = 0; i < t->count; i++) {
        t->waits[i] = check_waits(t->numbers[i], w->program->process, w->share, wait_ms);
        check_of_several(t->waits[i]);
    }
}

static void end_waits(worker *w, together *t, bool is_granted, int64_t max_hold_ms)
{
    for (unsigned i = 0; i < t->count; i++) {
        if (!is_granted) {
            check_wait_over(t->waits[i]);
            continue;
        }
        t->claims[i] = check_granted(t->waits[i], bowline_hold_fence(t->holds[i]),
                                     load_left(w->program, t->holds[i]));
        check_longest(t->claims[i], max_hold_ms);
    }
}

static void release_together(worker *w, together *t)
{
    bowline_error error     = { 0 };
    bool          had_ended = false;

    for (unsigned i = 0; i < t->count; i++) {
        had_ended = had_ended || bowline_hold_left_ms(t->holds[i]) == 0;
        check_over(t->claims[i]);
        w->program->counts->releases++;
    }
    begin(w, "bowline_release_all", 0);
    w->call.name = CHECK_EVERY_NAME;
    int status   = bowline_release_all(t->holds, t->count, &error);
    end(w, status, &error);
    load_check_release(w->program, status, had_ended);
}

/* Asks how long it may rely on each, before that can be over. */
static void keep_together(worker *w, together *t)
{
    load_program *p     = w->program;
    int64_t       until = load_own_ms(p) + (int64_t)load_draw(p, (uint64_t)p->plan.hold_ms + 1);

    for (int64_t rest; (rest = until - load_own_ms(p)) > 0 && !p->stops;) {
        for (unsigned i = 0; i < t->count; i++) {
            check_left left    = load_left(p, t->holds[i]);
            int64_t    left_ms = left.until / SIM_MS - load_own_ms(p) + 1;
            check_until(t->claims[i], left);
            if (left_ms <= 1)
                return;
            rest = rest < left_ms ? rest : left_ms;
        }
        sleep_ms(w, (int64_t)load_draw(p, (uint64_t)rest + 1));
    }
}

/* Acquires several names, holds them for a while, and releases them. */
static void take_together(worker *w)
{
    load_program           *p       = w->program;
    bowline_error           error   = { 0 };
    bowline_acquire_options options = load_acquire_options(p);
    together                t;

    if (!draw_names(p, &t))
        return;
    w->share = (check_share){ .weight = 0 };
    begin(w, "bowline_acquire_all", options.wait_ms);
    w->call.name = CHECK_EVERY_NAME;
    begin_waits(w, &t, options.wait_ms);
    int status = bowline_acquire_all(t.holds, p->client, t.names, t.count, &options, &error);
    p->counts->acquires++;
    p->counts->statuses[-status & 15]++;
    end_waits(w, &t, status == BOWLINE_OK, options.max_hold_ms);
    end(w, status, &error);
    if (status != BOWLINE_OK)
        return;
    keep_together(w, &t);
    release_together(w, &t);
}

static void *run(void *arg)
{
    worker       *w = arg;
    load_program *p = w->program;

    while (!p->stops) {
        if (p->plan.takes_several && load_draw(p, 2) == 0) {
            take_together(w);
            pause_between(w);
            continue;
        }
        bool holds = load_has_ticket(p) ? import(w) : acquire(w);
        if (holds && work(w))
            release(w);
        pause_between(w);
    }
    return NULL;
}

void load_threads(load_program *program)
{
    worker *workers = bwl_room_for(program->plan.threads, sizeof *workers);

    assert(program->plan.threads <= LOAD_THREADS_MAX);
    program->state = workers;
    if (!load_open(program, BOWLINE_NO_SPIN))
        return;
    for (unsigned i = 0; i < program->plan.threads; i++) {
        workers[i].program = program;
        workers[i].thread  = sim_thread_start(program->process, run, &workers[i]);
    }
    for (unsigned i = 0; i < program->plan.threads; i++)
        (void)sim_thread_join(workers[i].thread);
    load_close(program);
}
