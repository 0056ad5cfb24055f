/*
 * real_clock.h -- the clocks of this machine, for a schedule that a real server plays.
 */
#pragma once

#include "lab/world/world.h"
#include "protocol/lock_file/program.h"

/* Of the monotonic clock. */
bwl_ms bwl_real_clock_ms(void);

/* Since 1970: also the clock of a real server on this machine. */
bwl_ms bwl_real_clock_wall_ms(void);

/* Returns at the start of a second, if the program sends times of day in whole seconds: the
 * schedule starts with a whole second, too.  NULL: no program. */
void bwl_real_clock_align(const bwl_lock_program *program);

/* The number of the message that is a time of day, by the real server's clock.  `scale`: real
 * milliseconds for one of the schedule. */
int64_t bwl_real_clock_end(const bwl_world *w, const bwl_message *message, unsigned scale);
