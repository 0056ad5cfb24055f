/*
 * attempt.h -- opens a URL, acquires, releases and closes: for tests of errors that may appear in
 * any of these steps.
 */
#pragma once

#include "tests/lib/testing.h"

/* Returns the status of the first step that fails.  The acquire does not wait; a refusal must also
 * come at once with a long wait. */
int attempt(const char *url, bowline_error *reterr);

/* The attempt must have this status, this text if it is not OK, and never the password of the
 * tests, "hunter2". */
__attribute__((format(printf, 3, 4))) void expect(int status, const char *part, const char *format,
                                                  ...);
