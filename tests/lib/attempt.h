/*
 * attempt.h -- a whole visit at a URL: opened, acquired, released, closed; for tests of what is
 * wrong with a place, which do not care at which step it shows.
 */
#ifndef TEST_ATTEMPT_H
#define TEST_ATTEMPT_H

#include "tests/lib/testing.h"

/* Tries, and says how it came out.  A refusal must not wait: it is the same for who would. */
int attempt(const char *url, bowline_error *reterr);

/* The attempt at this URL must come out so, with these words if it is not OK, and never with the
 * password of the tests, "hunter2". */
__attribute__((format(printf, 3, 4))) void expect(int status, const char *part, const char *format,
                                                  ...);

#endif
