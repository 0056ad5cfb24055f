/*
 * say.h -- how the command talks to people: one line, or three when something is wrong.
 *
 *      bowline: what happened
 *      bowline: why
 *      bowline: what to type, or where to look
 *
 * Everything goes to standard error.  What comes from elsewhere (names, programs, answers of a
 * server) is escaped here, on the way out, so that nobody has to remember it, and the password of a
 * URL is written as ***.
 */
#ifndef BOWLINE_CLI_TEXT_SAY_H
#define BOWLINE_CLI_TEXT_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What bowline itself exits with; everything else is the command's own. */
enum {
    EXIT_CHANGED      = 122,
    EXIT_LOST         = 123,
    EXIT_NOT_ACQUIRED = 124,
    EXIT_FAILED       = 125,
    EXIT_CANNOT_RUN   = 126,
    EXIT_NOT_FOUND    = 127,
    EXIT_SIGNAL       = 128, /* and the number of the signal */
};

enum { WORDS_MAX = 640 };

/* A short text that is passed around by value.  Where it is too long it is cut off, and ends in
 * "...". */
typedef struct words {
    char text[WORDS_MAX];
} words;

words words_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "850ms", "12s", "3m12s", "2h5m", "4d3h": two units at most. */
words words_of_duration(int64_t ms);

/* The text as a terminal can show it: control characters and broken UTF-8 as \xNN or \uNNNN, the
 * password of a URL as ***, and no more than `columns` characters: what is longer is cut off, and
 * ends in "...". */
words words_escaped(const char *text, size_t columns);

/* What went wrong, for people, and the exit code for programs. */
typedef struct failure {
    int   code;
    words what;
    words why;
    words hint;
} failure;

/* For `return failed(...)`: always -1.  The code is EXIT_FAILED. */
int failed(failure *reterr, words what, words why, words hint);
int failed_with(failure *reterr, failure happened);

/* Sets why and what to type from what the library says of an error.  Where that says what to do,
 * behind two blanks, it is what to type; else that is `otherwise`. */
void failure_explain(failure *is, const char *text, words otherwise);

void say_failure(const failure *happened);

/* One line.  Gives up at once if standard error cannot take it now: nobody who does not read may
 * keep us from watching the lock. */
void say_line(const char *text);

/* Writes `size` bytes unless that would block.  True if they were written. */
bool say_bytes(int fd, const char *bytes, size_t size);

/* The exit code of somebody who has written to standard output: 0 if all of it got there. */
int say_done(void);

/* Which of the words somebody meant who typed `typed`, or NULL if none is near.  `known` ends with
 * NULL. */
const char *say_nearest(const char *typed, const char *const *known);

/* "did you mean PREFIXnearest?", or the other text if nothing was near. */
words say_did_you_mean(const char *nearest, const char *prefix, const char *otherwise);

#endif
