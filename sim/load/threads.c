#include "sim/load/threads.h"

#include "lab/base/memory.h"
#include "sim/kernel/say.h"

#include <assert.h>

enum { THREADS_MAX = 8 };

typedef struct worker {
    load_program *program;
    sim_thread   *thread;
    bowline_hold *hold;
    check_hold   *claim;
    unsigned      name;
    int64_t       max_hold_ms;
    int64_t       began_at;
    unsigned      pauses; /* of the process, at that time */
} worker;

static void begin(worker *w)
{
    w->began_at = load_own_ms(w->program);
    w->pauses   = sim_process_pauses(w->program->process);
}

/* The call has returned. */
static void end(worker *w, const char *what, int status, int64_t wait_ms,
                const bowline_error *error)
{
    int64_t limit_ms = load_limit_ms(w->program, wait_ms);

    load_check_status(w->program, what, status, error);
    if (limit_ms != INT64_MAX && load_own_ms(w->program) - w->began_at > limit_ms &&
        w->pauses == sim_process_pauses(w->program->process))
        check_fail("time: %s: %s did not end in its time", sim_process_name(w->program->process),
                   what);
}

static void sleep_ms(worker *w, int64_t ms)
{
    int64_t now = sim_clock_read(w->program->process, SIM_CLOCK_MONOTONIC);

    (void)sim_block(w, now + ms * SIM_MS);
}

static void claim(worker *w)
{
    w->claim = check_granted(w->name, w->program->process, bowline_hold_fence(w->hold),
                             load_until(w->program, w->hold));
    check_longest(w->claim, w->max_hold_ms);
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
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    uint64_t                kind    = load_draw(p, 8);

    options.wait_ms     = kind == 0   ? BOWLINE_NO_WAIT
                          : kind == 1 ? BOWLINE_FOREVER
                                      : 1 + (int64_t)load_draw(p, 10000);
    w->name             = (unsigned)load_draw(p, p->plan.names);
    w->max_hold_ms      = load_max_hold_ms(p);
    options.max_hold_ms = w->max_hold_ms;
    begin(w);
    p->begun++;
    check_wait *wait   = check_waits(w->name, p->process, options.wait_ms);
    int         status = bowline_acquire(&w->hold, p->client, load_lock_name(w->name), &options,
                                 load_draw(p, 2) == 0 ? NULL : &error);
    check_wait_over(wait, status == BOWLINE_OK);
    p->counts->acquires++;
    p->counts->statuses[-status & 15]++;
    end(w, "bowline_acquire", status, options.wait_ms, &error);
    if (status == BOWLINE_OK)
        claim(w);
    return status == BOWLINE_OK;
}

/* True: it still holds the lock. */
static bool yield(worker *w)
{
    load_program *p     = w->program;
    bowline_error error = { 0 };
    int64_t wait_ms     = load_draw(p, 2) == 0 ? BOWLINE_FOREVER : 1 + (int64_t)load_draw(p, 10000);

    drop_claim(w);
    begin(w);
    p->counts->yields++;
    check_wait *wait   = check_waits(w->name, p->process, wait_ms);
    int         status = bowline_yield(w->hold, wait_ms, &error);
    check_wait_over(wait, status == BOWLINE_OK);
    end(w, "bowline_yield", status, wait_ms, &error);
    if (status == BOWLINE_OK) {
        claim(w);
        return true;
    }
    (void)bowline_release(w->hold, NULL); /* the hold is over */
    return false;
}

static void extend(worker *w)
{
    bowline_error error = { 0 };

    begin(w);
    w->program->counts->extends++;
    int status = bowline_extend(w->hold, w->program->plan.lease_ms, &error);
    end(w, "bowline_extend", status, 0, &error);
    check_until(w->claim, load_until(w->program, w->hold));
}

static void query(worker *w)
{
    bowline_error  error  = { 0 };
    bowline_holder holder = { .size = sizeof holder };

    begin(w);
    w->program->counts->queries++;
    int status = bowline_who(w->program->client, load_lock_name(w->name), &holder, &error);
    end(w, "bowline_who", status, 0, &error);
}

static void release(worker *w)
{
    bowline_error error = { 0 };
    bool          waits = load_draw(w->program, 3) != 0;

    drop_claim(w);
    begin(w);
    int status = waits ? bowline_release(w->hold, &error) : bowline_release_nowait(w->hold, &error);
    end(w, "bowline_release", status, 0, &error);
}

/* True: the lock is still held. */
static bool work(worker *w)
{
    load_program *p     = w->program;
    int64_t       until = load_own_ms(p) + (int64_t)load_draw(p, (uint64_t)p->plan.hold_ms + 1);

    /* The time passes in the calls of the library too. */
    for (int64_t rest; (rest = until - load_own_ms(p)) > 0 && !p->stops;) {
        int64_t relies_until = load_until(p, w->hold);
        check_until(w->claim, relies_until);
        if (relies_until <= sim_clock_read(p->process, SIM_CLOCK_BOOT))
            return true;
        sleep_ms(w, (int64_t)load_draw(p, (uint64_t)rest + 1));
        switch (load_draw(p, 8)) {
        case 0: extend(w); break;
        case 1: query(w); break;
        case 2:
            if (!yield(w))
                return false;
            break;
        default: break;
        }
    }
    return true;
}

static void *run(void *arg)
{
    worker       *w = arg;
    load_program *p = w->program;

    while (load_may_begin(p)) {
        if (acquire(w) && work(w))
            release(w);
        sleep_ms(w, (int64_t)load_draw(p, (uint64_t)p->plan.pause_ms + 1));
    }
    return NULL;
}

void load_threads(load_program *program)
{
    worker *workers = bwl_room_for(program->plan.threads, sizeof *workers);

    assert(program->plan.threads <= THREADS_MAX);
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
