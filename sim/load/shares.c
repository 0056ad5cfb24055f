#include "sim/load/shares.h"

#include "sim/load/periods.h"

#include <string.h>

/* In tenths, by the kind of a name: so often its acquires are exclusive, or shared; the others want
 * permits. */
enum { KINDS = 3, TENTHS = 10 };

static const struct {
    unsigned exclusive;
    unsigned shared;
} often[KINDS] = { { 3, 4 }, { 2, 8 }, { 1, 0 } };

bool load_is_crowd(const load_program *program)
{
    return program->plan.shares.is_crowd;
}

static unsigned draw_mode(load_program *program, unsigned name)
{
    if (load_is_crowd(program))
        return BOWLINE_PERMITS;
    unsigned kind  = name % KINDS;
    uint64_t drawn = load_draw(program, TENTHS);

    if (drawn < often[kind].exclusive)
        return BOWLINE_EXCLUSIVE;
    return drawn < often[kind].exclusive + often[kind].shared ? BOWLINE_SHARED : BOWLINE_PERMITS;
}

/* One permit as often as several. */
static uint32_t draw_permits(load_program *program)
{
    return load_draw(program, 2) == 0
               ? 1
               : 1 + (uint32_t)load_draw(program, program->plan.shares.limit);
}

check_share load_draw_share(load_program *program, unsigned name, bowline_acquire_options *options)
{
    if (program->plan.shares.limit == 0 || load_has_period(program, name))
        return (check_share){ .weight = 0 };
    options->mode = draw_mode(program, name);
    if (options->mode == BOWLINE_PERMITS) {
        options->permits = draw_permits(program);
        options->limit   = program->plan.shares.limit;
    }
    if (load_is_crowd(program) && options->wait_ms != BOWLINE_NO_WAIT) {
        options->wait_ms = BOWLINE_FOREVER;
    }
    return (check_share){
        .weight = options->mode == BOWLINE_EXCLUSIVE ? 0
                  : options->permits > 0             ? options->permits
                                                     : 1,
        .limit  = options->limit,
    };
}

/* ---- all holders ----------------------------------------------------------------------------- */

bool load_asks_for_all(load_program *program)
{
    return program->plan.shares.limit > 0 && load_draw(program, 2) == 0;
}

/* The permits of all; those whose limit is known were granted when they fitted. */
static unsigned count_permits(const load_call *call, const bowline_holder all[], unsigned count)
{
    unsigned permits = 0, limited = 0, limit = 0;

    for (unsigned i = 0; i < count; i++) {
        bool is_alone = all[i].mode == BOWLINE_EXCLUSIVE;
        permits += is_alone ? 1 : all[i].permits;
        limited += all[i].limit > 0 ? all[i].permits : 0;
        limit = all[i].limit > 0 ? all[i].limit : limit;
        if (all[i].held != 1 || (is_alone && count > 1) || (!is_alone && all[i].sharers != 1))
            check_fail("holders: lock %u is listed with %u holders that exclude each other",
                       call->name, count);
        if (!is_alone && (all[i].fence == 0 || all[i].fence != all[0].fence))
            check_fail("holders: lock %u is listed with the fences %llu and %llu", call->name,
                       (unsigned long long)all[0].fence, (unsigned long long)all[i].fence);
    }
    if (limited > limit)
        check_fail("holders: lock %u is listed with %u permits, %u at most", call->name, limited,
                   limit);
    return permits;
}

bool load_changes_modes(const load_program *program)
{
    return strstr(program->plan.url, "sync=") == NULL;
}

void load_check_holders(const load_program *program, const load_call *call,
                        const bowline_holder all[LOAD_HOLDERS_MAX], int count)
{
    const load_plan *plan = &program->plan;

    if (count < 0 || count > LOAD_HOLDERS_MAX || !check_excludes() || plan->is_beside ||
        plan->has_breaks || !check_is_name_calm(call->name, call->since))
        return;
    unsigned listed = count_permits(call, all, (unsigned)count);
    unsigned used   = check_permits_since(call->name, call->since);
    if (listed < used)
        check_fail("holders: lock %u is listed with %u permits, and %u are in use", call->name,
                   listed, used);
}
