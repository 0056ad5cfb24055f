/*
 * frozen.h -- a redis-server whose wall clock stops until the test moves it.
 *
 * So the server's times are known to the millisecond, however busy the machine is.
 */
#ifndef TEST_FROZEN_H
#define TEST_FROZEN_H

#include "tests/lib/server.h"
#include <stdint.h>

/* As server_start.  Its wall clock starts at `now_ms` since 1970. */
server *frozen_start(int64_t now_ms);

/* Call it with no command in flight: the next command already sees the new time. */
void frozen_set(int64_t now_ms);

void frozen_stop(server *s);

#endif
