/*
 * trust.h -- checks whether a file may control bowline, by the rule of the library
 * (src/base/trusted_file.h).
 */
#pragma once

#include <stdbool.h>

enum { TRUST_TEXT_MAX = 240 };

/* Why it may not, and the command to type. */
typedef struct trust_fault {
    char why[TRUST_TEXT_MAX];
    char type[TRUST_TEXT_MAX]; /* ""                                                            */
} trust_fault;

/* `fd` was opened by `path`.  False: another user can change the file, or what `path` names. */
bool trust_may_steer(int fd, const char *path, trust_fault *ret_fault);

/* Also: no other user can read it. */
bool trust_is_private(int fd, const char *path, trust_fault *ret_fault);

/* As trust_may_steer, for a file opened in the directory `at` with O_NOFOLLOW.  If root or this
 * user has shared that directory with a group, the group may write the file.  Messages call it
 * `path`. */
bool trust_may_be_shared(int fd, int at, const char *path, trust_fault *ret_fault);

/* True if a new file in the directory `at` may be writable by the group: the directory is shared
 * with it and passes it on to new files (mode 2775). */
bool trust_is_shared_directory(int at);
