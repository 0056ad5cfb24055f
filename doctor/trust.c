#include "doctor/trust.h"

#include "base/trusted_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Fills in why, and what to type for the file or its directory.  Returns false. */
static bool describe(trust_fault *ret_fault, const char *path, const bwl_distrust *why)
{
    const char *slash = why->is_of_directory ? strrchr(path, '/') : NULL;
    int         size  = (int)strlen(path);

    if (why->is_of_directory) {
        size = slash == path ? 1 : slash != NULL ? (int)(slash - path) : 1;
        path = slash != NULL ? path : ".";
    }
    (void)snprintf(ret_fault->why, sizeof ret_fault->why, "%s", why->why);
    ret_fault->type[0] = '\0';
    if (why->command != NULL)
        (void)snprintf(ret_fault->type, sizeof ret_fault->type, "type: %s %.*s", why->command, size,
                       path);
    return false;
}

bool trust_may_steer(int fd, const char *path, trust_fault *ret_fault)
{
    bwl_distrust why;

    return bwl_trusted(fd, path, BWL_TRUST_STEERS, &why) || describe(ret_fault, path, &why);
}

bool trust_is_private(int fd, const char *path, trust_fault *ret_fault)
{
    bwl_distrust why;

    return bwl_trusted(fd, path, BWL_TRUST_SECRET, &why) || describe(ret_fault, path, &why);
}

bool trust_may_be_shared(int fd, int at, const char *path, trust_fault *ret_fault)
{
    bwl_distrust why;

    return bwl_trusted_in(fd, at, &why) || describe(ret_fault, path, &why);
}

bool trust_is_shared_directory(int at)
{
    struct stat is;

    return fstat(at, &is) == 0 && (is.st_mode & S_ISGID) != 0 &&
           bwl_trusted_is_shared(is.st_mode, (unsigned)is.st_uid);
}
