/*
 * trusted_file.h -- the rule for files that control bowline: configuration, URL files, passwords,
 * keys, certificates, and the files of `bowline fence`.
 *
 * A user who can change such a file can redirect the program to another server, or reset a fence.
 * So the file must belong to this process's user or to root, and no other user may be able to write
 * to it or to replace it.  A secret must not be readable by others either.
 */
#pragma once

#include "core/status.h"

typedef enum bwl_trust {
    BWL_TRUST_STEERS = 1, /* others may read it, not write it                                */
    BWL_TRUST_KEY,        /* a private key: its group may read it, as Debian's ssl-cert does */
    BWL_TRUST_SECRET,     /* others may neither read nor write it                            */
} bwl_trust;

enum { BWL_DISTRUST_MAX = 120 };

/* Why a file is not trusted, and the command that corrects it, for the file or its directory. */
typedef struct bwl_distrust {
    char        why[BWL_DISTRUST_MAX];
    const char *command; /* a constant: "chmod 600"; NULL: there is none                        */
    bool        is_of_directory;
} bwl_distrust;

/* Checks the file that was opened by `path`, on its descriptor: the mode, the access control list,
 * the owner, and the directory that `path` is in (and the file's own directory, if `path` is a
 * symbolic link).  False: see *ret_why.  Any thread. */
bool bwl_trusted(int fd, const char *path, bwl_trust trust, bwl_distrust *ret_why);

/* The same for a regular file, as a fault: REFUSED, "the WHAT PATH is not trusted: WHY: COMMAND
 * it"; SYSTEM.  Any thread. */
int bwl_trusted_check(int fd, const char *what, const char *path, bwl_trust trust,
                      bwl_fault *fault);

/* As bwl_trusted with STEERS, for a file that was opened in the open directory `at` with
 * O_NOFOLLOW, and that a group may share: where the directory is open to its group on purpose
 * (below), members of it may own the file, and a file of the same group may be writable by it.  Any
 * thread. */
bool bwl_trusted_in(int fd, int at, bwl_distrust *ret_why);

/* True if a directory of this mode and owner is open to its group on purpose: group-writable, not
 * writable by everybody, and of root or this user.  Any thread. */
bool bwl_trusted_is_shared(unsigned mode, unsigned owner);
