/*
 * clock_shim.h -- a server's wall clock, set by the test.  See clock_shim.c.
 */
#pragma once

typedef struct clock_setting {
    long long offset_us;
    long long too_fast_ppm;
    long long since_us;  /* when it starts to run too fast, on the true clock */
    long long stands_us; /* not 0: the clock is stopped at this time */
} clock_setting;
