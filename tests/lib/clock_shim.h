/*
 * clock_shim.h -- what the test says of a server's wall clock.  See clock_shim.c.
 */
#ifndef TEST_CLOCK_SHIM_H
#define TEST_CLOCK_SHIM_H

typedef struct clock_setting {
    long long offset_us;
    long long too_fast_ppm;
    long long since_us;  /* from when on it goes too fast, on the true clock                      */
    long long stands_us; /* not 0: it is always this moment                                       */
} clock_setting;

#endif
