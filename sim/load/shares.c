#include "sim/load/shares.h"

#include "sim/load/periods.h"

/* In tenths, by the kind of a name: so often its acquires are exclusive, or shared; the others want
 * permits. */
enum { KINDS = 3, TENTHS = 10 };

static const struct {
    unsigned exclusive;
    unsigned shared;
} often[KINDS] = { { 3, 4 }, { 2, 8 }, { 1, 0 } };

static unsigned draw_mode(load_program *program, unsigned name)
{
    unsigned kind  = name % KINDS;
    uint64_t drawn = load_draw(program, TENTHS);

    if (drawn < often[kind].exclusive)
        return BOWLINE_EXCLUSIVE;
    return drawn < often[kind].exclusive + often[kind].shared ? BOWLINE_SHARED : BOWLINE_PERMITS;
}

/* One permit as often as several. */
static uint32_t draw_permits(load_program *program)
{
    return load_draw(program, 2) == 0 ? 1
                                      : 1 + (uint32_t)load_draw(program, program->plan.share_limit);
}

check_share load_draw_share(load_program *program, unsigned name, bowline_acquire_options *options)
{
    if (program->plan.share_limit == 0 || load_has_period(program, name))
        return (check_share){ .weight = 0 };
    options->mode = draw_mode(program, name);
    if (options->mode == BOWLINE_PERMITS) {
        options->permits = draw_permits(program);
        options->limit   = program->plan.share_limit;
    }
    return (check_share){
        .weight = options->mode == BOWLINE_EXCLUSIVE ? 0
                  : options->permits > 0             ? options->permits
                                                     : 1,
        .limit  = options->limit,
    };
}
