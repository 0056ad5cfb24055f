/*
 * shared_server.h -- the one server of a test program whose cases share it: functions for the
 * set-up and tear-down of a group and of a case.
 */
#ifndef TEST_SHARED_SERVER_H
#define TEST_SHARED_SERVER_H

#include "tests/lib/server.h"

extern server *redis;

/* For AROUND of suite.h. */
int start_server(void **state);
int stop_server(void **state);

/* Of a case: set-up deletes all keys, tear-down fails if keys are left. */
int empty_server(void **state);
int nothing_is_left(void **state);

#endif
