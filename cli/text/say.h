/*
 * say.h -- messages to the user, on standard error: one line, or three lines for an error.
 *
 *      bowline: what happened
 *      bowline: why
 *      bowline: what to type, or where to look
 *
 * Text from elsewhere (names, programs, replies of a server) is escaped when it is written, and the
 * password of a URL becomes ***.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of bowline itself; all others are those of the command. */
enum {
    EXIT_CHANGED      = 122,
    EXIT_LOST         = 123,
    EXIT_NOT_ACQUIRED = 124,
    EXIT_FAILED       = 125,
    EXIT_CANNOT_RUN   = 126,
    EXIT_NOT_FOUND    = 127,
    EXIT_SIGNAL       = 128, /* plus the number of the signal */
    EXIT_DONE         = 256, /* of a failure that is none: done for this period; exits 0 */
};

enum { WORDS_MAX = 640 };

/* A short text that is passed by value.  A longer one is cut off and ends in "...". */
typedef struct words {
    char text[WORDS_MAX];
} words;

words words_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "850ms", "12s", "3m12s", "2h5m", "4d3h": two units at most. */
words words_of_duration(int64_t ms);

/* The text as a terminal can show it: control characters and broken UTF-8 become \xNN or \uNNNN,
 * the password of a URL becomes ***. A text that needs more than `columns` is cut off and ends in
 * "...". */
words words_escaped(const char *text, size_t columns);

/* An error: three lines for the user and the exit code. */
typedef struct failure {
    int   code;
    words what;
    words why;
    words hint;
} failure;

/* For `return failed(...)`: always -1.  The code is EXIT_FAILED. */
int failed(failure *reterr, words what, words why, words hint);
int failed_with(failure *reterr, failure happened);

/* Sets `why` and `hint` from an error text of the library.  The library puts what to do after two
 * blanks; without that the hint is `otherwise`. */
void failure_explain(failure *is, const char *text, words otherwise);

void say_failure(const failure *happened);

/* Writes one line.  Drops it if standard error would block: a reader that does not read must not
 * keep bowline from watching the lock. */
void say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes `size` bytes unless that would block.  Returns true if they were written. */
bool say_bytes(int fd, const char *bytes, size_t size);

/* Flushes standard output.  Returns the exit code: 0 if all output was written. */
int say_done(void);

/* "did you mean PREFIXword?" with the word of `known` (ends with NULL) that is nearest to `typed`,
 * or the other text if none is near. */
words say_suggestion(const char *typed, const char *const *known, const char *prefix,
                     const char *otherwise);
