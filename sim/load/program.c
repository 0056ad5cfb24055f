#include "sim/load/program.h"

#include "lab/base/dice.h"
#include "sim/kernel/say.h"

uint64_t load_draw(load_program *program, uint64_t below)
{
    return below == 0 ? 0 : bwl_dice_draw(&program->seed) % below;
}

int64_t load_own_ms(const load_program *program)
{
    return sim_clock_read(program->process, SIM_CLOCK_BOOT) / SIM_MS;
}

const char *load_lock_name(unsigned name)
{
    static const char *const names[CHECK_NAMES_MAX] = { "a", "b", "c", "d", "e", "f", "g", "h" };

    return names[name];
}

bool load_may_begin(const load_program *program)
{
    return !program->stops &&
           (program->plan.operations == 0 || program->begun < program->plan.operations);
}

static bool is_possible(const load_program *program, int status)
{
    switch (status) {
    case BOWLINE_OK:
    case BOWLINE_BUSY:
    case BOWLINE_TIMEOUT:
    case BOWLINE_CANCELLED: return true;
    case BOWLINE_LOST: return program->plan.may_fail || program->plan.max_hold_ms > 0;
    case BOWLINE_UNKNOWN:
    case BOWLINE_UNREACHABLE: return program->plan.may_fail;
    case BOWLINE_REFUSED: return program->plan.may_refuse;
    default: return false;
    }
}

void load_check_status(load_program *program, const char *what, int status,
                       const bowline_error *error)
{
    const char *name = sim_process_name(program->process);

    if (!is_possible(program, status))
        check_fail("status: %s: %s returned %s (%s)", name, what, bowline_status_name(status),
                   error->text);
    sim_say("%s: %s: %s %s", name, what, bowline_status_name(status),
            status == BOWLINE_OK ? "" : error->text);
    sim_trace(11, (uint64_t)(int64_t)status, sim_process_number(program->process));
}

int64_t load_limit_ms(const load_program *program, int64_t wait_ms)
{
    const load_plan *plan       = &program->plan;
    int64_t          replies_ms = (wait_ms == 0 ? 3 : 1) * (int64_t)plan->reply_ms + plan->late_ms;

    return wait_ms == BOWLINE_FOREVER ? INT64_MAX : wait_ms + replies_ms + LOAD_SLACK_MS;
}

int64_t load_until(const load_program *program, bowline_hold *hold)
{
    int64_t now     = sim_clock_read(program->process, SIM_CLOCK_BOOT);
    int64_t left_ms = bowline_hold_left_ms(hold);

    return left_ms > (SIM_NEVER - now) / SIM_MS ? SIM_NEVER : now + left_ms * SIM_MS;
}

int64_t load_max_hold_ms(load_program *program)
{
    return load_draw(program, 2) == 0 ? program->plan.max_hold_ms : 0;
}

bool load_open(load_program *program, uint32_t flags)
{
    const load_plan *plan  = &program->plan;
    bowline_error    error = { 0 };
    int              status =
        bowline_open(&program->client,
                     BOWLINE_OPTIONS(.url = plan->url, .program = "sim", .flags = flags,
                                     .lease_ms = plan->lease_ms, .reply_ms = plan->reply_ms),
                     &error);

    load_check_status(program, "bowline_open", status, &error);
    return status == BOWLINE_OK;
}

void load_close(load_program *program)
{
    bowline_close(program->client);
    program->client = NULL;
}
