/*
 * shared_server.h -- the one server of a test program whose cases share it: functions for the
 * set-up and tear-down of a group and of a case.
 */
#ifndef TEST_SHARED_SERVER_H
#define TEST_SHARED_SERVER_H

#include "tests/lib/server.h"

extern server *redis;

/* Of a group.  Instead of start_server, test_server_starts can be its first case. */
int  start_server(void **state);
int  stop_server(void **state);
void test_server_starts(void **state);

/* Of a case: set-up deletes all keys, tear-down fails if keys are left. */
int empty_server(void **state);
int nothing_is_left(void **state);

#endif
