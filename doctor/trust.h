/*
 * trust.h -- whether a file may decide what bowline does, by the library's own rule
 * (src/base/trusted_file.h), for the command.
 */
#ifndef DOCTOR_TRUST_H
#define DOCTOR_TRUST_H

#include <stdbool.h>

enum { TRUST_TEXT_MAX = 240 };

/* Why not, and what to type. */
typedef struct trust_fault {
    char why[TRUST_TEXT_MAX];
    char type[TRUST_TEXT_MAX]; /* ""                                                            */
} trust_fault;

/* `fd` was opened by `path`.  False: another user can change the file, or what `path` names. */
bool trust_may_steer(int fd, const char *path, trust_fault *ret_fault);

/* Besides, no other user can read it. */
bool trust_is_private(int fd, const char *path, trust_fault *ret_fault);

/* As trust_may_steer, for a file that was opened in the open directory `at` with O_NOFOLLOW.  Where
 * root or this user has opened that directory to a group, the group may write the file.  `path` is
 * what the texts call it. */
bool trust_may_be_shared(int fd, int at, const char *path, trust_fault *ret_fault);

/* True if a file that is made in the directory `at` may be writable by its group: the directory is
 * open to that group, and gives it to new files (mode 2775). */
bool trust_is_shared_directory(int at);

#endif
