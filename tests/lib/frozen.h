/*
 * frozen.h -- a redis-server whose time of day stands still until the test moves it.
 *
 * So what a server answers about time is known to the millisecond, however busy the machine is.
 */
#ifndef TEST_FROZEN_H
#define TEST_FROZEN_H

#include "tests/lib/server.h"
#include <stdint.h>

/* As server_start.  Its time of day begins at `now_ms` since 1970. */
server *frozen_start(int64_t now_ms);

/* Call it when nothing is under way: the next command already sees it. */
void frozen_set(int64_t now_ms);

void frozen_stop(server *s);

#endif
