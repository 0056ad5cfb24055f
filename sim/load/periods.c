#include "sim/load/periods.h"

#include <string.h>

enum {
    SLACK_MS = 1000,
    TOLD_MS  = 3000, /* a waiter learns of a rest from its heartbeat */
};

/* By the clock of the world, which is that of the servers. */
typedef struct period {
    uint64_t fence;    /* of the hold that has it */
    int64_t  free_at;  /* no other acquire has the lock before */
    int64_t  ends_at;  /* the rest is over at the latest */
    int64_t  began_at; /* it was there from then on, until sure_until; 0: not known */
    int64_t  sure_until;
    bool     is_dropped;
} period;

static struct {
    period  periods[CHECK_NAMES_MAX];
    int64_t end_at;
} w;

void load_periods_begin(void)
{
    memset(&w, 0, sizeof w);
}

int64_t load_periods_end_at(void)
{
    return w.end_at;
}

bool load_has_period(const load_program *program, unsigned name)
{
    return program->plan.period_ms > 0 && name < 2;
}

static bool is_once(const load_program *program, unsigned name)
{
    return load_has_period(program, name) && name == 0;
}

void load_period_options(const load_program *program, unsigned name,
                         bowline_acquire_options *options, load_call *call)
{
    if (!load_has_period(program, name))
        return;
    if (is_once(program, name)) {
        options->once_ms = program->plan.period_ms;
        call->also       = BOWLINE_DONE;
    } else {
        options->at_least_ms = program->plan.period_ms;
    }
}

/* The lock was granted between the begin of the call, or the end of the period before, and now. */
static void begin_period(const load_program *program, const load_call *call, uint64_t fence,
                         period *p)
{
    int64_t period_ns = program->plan.period_ms * SIM_MS;
    int64_t most_ns   = period_ns + program->plan.lease_ms * SIM_MS;

    if (check_excludes() && sim_now() < p->free_at)
        check_fail("period: %s has lock %u %lld us before the period of the one before is over",
                   sim_process_name(program->process), call->name,
                   (long long)((p->free_at - sim_now()) / SIM_US));
    int64_t since = call->since > p->free_at ? call->since : p->free_at;
    *p            = (period){
                   .fence   = fence,
                   .free_at = since + period_ns,
                   .ends_at = sim_now() + most_ns + most_ns / 50 + SLACK_MS * SIM_MS,
    };
    if (p->ends_at > w.end_at)
        w.end_at = p->ends_at;
    check_rests(call->name, p->ends_at);
}

/* A wait with once_ms ends as soon as the lock rests. */
static void compare_wait(const load_program *program, const load_call *call, const period *p)
{
    int64_t told_ns = (TOLD_MS + program->plan.calm_ms) * SIM_MS;
    int64_t from    = p->began_at > call->since ? p->began_at : call->since;
    int64_t until   = p->sure_until < sim_now() ? p->sure_until : sim_now();

    if (p->began_at != 0 && until - from > told_ns && check_excludes() &&
        check_is_calm(program->plan.number, from, true) &&
        check_is_calm(program->plan.number, sim_now(), true))
        check_fail("period: %s was not told that lock %u rests, for %lld ms",
                   sim_process_name(program->process), call->name,
                   (long long)((until - from) / SIM_MS));
}

void load_period_acquired(const load_program *program, const load_call *call, int status,
                          uint64_t fence)
{
    if (!load_has_period(program, call->name))
        return;
    period *p = &w.periods[call->name];

    if (status == BOWLINE_DONE && check_excludes() &&
        check_permits_since(call->name, call->since) > 0)
        check_fail("period: %s: lock %u is DONE, and a program holds it",
                   sim_process_name(program->process), call->name);
    if (status == BOWLINE_DONE && call->since > p->ends_at)
        check_fail("period: %s: lock %u is DONE, and no program has it done",
                   sim_process_name(program->process), call->name);
    if (is_once(program, call->name) && (status == BOWLINE_OK || status == BOWLINE_TIMEOUT))
        compare_wait(program, call, p);
    if (status == BOWLINE_OK)
        begin_period(program, call, fence, p);
}

void load_period_releases(load_program *program, bowline_hold *hold, unsigned name, uint64_t fence)
{
    bowline_error error = { 0 };

    if (!load_has_period(program, name) || load_draw(program, 4) != 0)
        return;
    load_call call   = load_begin(program, "bowline_hold_drop_rest", name, 0);
    int       status = bowline_hold_drop_rest(hold, &error);
    load_end(program, &call, status, &error);
    if (w.periods[name].fence != fence) /* another acquire has begun the next one */
        return;
    w.periods[name] = (period){ .fence = fence, .ends_at = sim_now(), .is_dropped = true };
    check_rests(name, sim_now());
}

void load_period_released(const load_program *program, unsigned name, uint64_t fence)
{
    period *p = &w.periods[name];

    if (!load_has_period(program, name) || p->fence != fence || p->is_dropped ||
        sim_now() >= p->free_at)
        return;
    p->began_at   = sim_now();
    p->sure_until = p->free_at;
}
