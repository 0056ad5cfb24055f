#include "lab/replay/real_clock.h"

#include <errno.h>
#include <time.h>

enum { MS_PER_S = 1000, NS_PER_MS = 1000000, HUNDRED = 100 };

static bwl_ms read_ms(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now); /* cannot fail with these clocks */
    return (bwl_ms)now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
}

bwl_ms bwl_real_clock_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

bwl_ms bwl_real_clock_wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

void bwl_real_clock_align(const bwl_lock_program *program)
{
    struct timespec until;

    if (program == NULL || bwl_calls_end_unit_ms(program->calls, program->calls_count) != MS_PER_S)
        return;
    until = (struct timespec){ .tv_sec = (time_t)(bwl_real_clock_wall_ms() / MS_PER_S + 1) };
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

int64_t bwl_real_clock_end(const bwl_world *w, const bwl_message *message, unsigned scale)
{
    const bwl_lock_program *program = w->scenario->options.program;
    const bwl_lock_op      *op      = &program->ops[message->step];
    bwl_ms unit_ms = bwl_calls_end_unit_ms(&program->calls[op->call], op->calls_count);

    if (unit_ms == 0 || message->timestamp > INT64_MAX / unit_ms)
        return message->timestamp; /* the server refuses it */
    bwl_ms left_ms =
        message->timestamp * unit_ms - w->servers[BWL_ONLY].redis.now / BWL_MODEL_PER_MS;
    if (left_ms > INT64_MAX / HUNDRED / 2 / scale)
        return message->timestamp; /* far away */
    bwl_ms ends =
        bwl_real_clock_wall_ms() + left_ms * scale * HUNDRED / w->scenario->clocks.server_pace;
    return (ends + unit_ms / 2) / unit_ms;
}
