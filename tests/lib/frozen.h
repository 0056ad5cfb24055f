/*
 * frozen.h -- a redis-server whose wall clock stops until the test moves it.
 *
 * So the server's times are known to the millisecond, however busy the machine is.
 */
#pragma once

#include "tests/lib/server.h"
#include <stdint.h>

/* As server_start, for tests that need a server.  Its wall clock starts at `now_ms` since 1970. */
server *frozen_start(int64_t now_ms);

/* Call it with no command in flight.  On Redis 7 the next command already sees the new time.
 * Valkey 9.1 reads the clock once in a millisecond: call frozen_await afterwards. */
void frozen_set(int64_t now_ms);

/* Waits until the server sees the time that was set. */
void frozen_await(server *s);

/* Stops it; for AROUND of suite.h. */
int frozen_stop(void **state);
