/*
 * shared_server.h -- the one server of a test program that its cases share: set-up and tear-down
 * functions for groups and cases.
 */
#pragma once

#include "tests/lib/server.h"

extern server *redis;

/* For AROUND of suite.h. */
int start_server(void **state);
int stop_server(void **state);

/* For a case: set-up deletes all keys, tear-down fails if keys are left. */
int empty_server(void **state);
int nothing_is_left(void **state);
