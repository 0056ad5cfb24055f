/*
 * private.h -- whether a file can be read by us alone.
 */
#ifndef BOWLINE_CLI_PRIVATE_H
#define BOWLINE_CLI_PRIVATE_H

#include <stdbool.h>
#include <sys/stat.h>

/* `is` is what fstat says of `fd`.  True if nobody can read or write it but its owner, root and
 * us. */
bool private_is(int fd, const struct stat *is);

#endif
