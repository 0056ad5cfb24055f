/*
 * trusted_file.c -- see trusted_file.h.
 *
 * The checks, in this order; the first that fails is reported:
 *
 *      directory   of this user or root; not writable by others, unless it is sticky
 *      link        a symbolic link belongs to this user or root; then the directory of its target
 *      owner       this user or root
 *      mode        who may write (and read), where an access control list may say more
 *
 * The owner and the mode are read from the open descriptor: they are those of the bytes that the
 * caller reads.  A directory in which no other user can rename entries keeps the name on that file.
 *
 * The mode alone is not enough.  With an access control list its group bits are the mask: the most
 * that any entry may permit.  systemd grants a service's user a credential by such a list on a file
 * of root, whose mode is then -r--r-----, though no group can read it.
 */
#include "base/trusted_file.h"

#include "base/fault.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The kernel's format of the list: a version, then entries, all little-endian. */
enum { ACL_VERSION = 2, ENTRIES_MAX = 32 };

enum {
    ACL_OWNER       = 0x01,
    ACL_USER        = 0x02,
    ACL_OWNER_GROUP = 0x04,
    ACL_GROUP       = 0x08,
    ACL_MASK        = 0x10,
    ACL_OTHERS      = 0x20,
};

enum { MAY_READ = 4, MAY_WRITE = 2, MAY_ANY = 7 };

typedef struct acl_entry {
    uint16_t tag;
    uint16_t permissions;
    uint32_t id;
} acl_entry;

typedef struct acl {
    uint32_t  version;
    acl_entry entries[ENTRIES_MAX];
} acl;

_Static_assert(sizeof(acl_entry) == 8, "as the kernel packs them");
_Static_assert(sizeof(acl) == 4 + 8 * ENTRIES_MAX, "as the kernel packs them");

/* The permissions that the file's own group, and other users, must not have. */
typedef struct limits {
    unsigned group;
    unsigned others;
} limits;

static bool is_us_or_root(uid_t user)
{
    return user == 0 || user == geteuid();
}

/* Always returns false, for use in a return. */
__attribute__((format(printf, 3, 4))) static bool
distrust(bwl_distrust *ret_why, const char *command, const char *why, ...)
{
    va_list arguments;

    va_start(arguments, why);
    (void)vsnprintf(ret_why->why, sizeof ret_why->why, why, arguments); /* truncates */
    va_end(arguments);
    ret_why->command         = command;
    ret_why->is_of_directory = false;
    return false;
}

/* ---- the mode, and the access control list --------------------------------------------------- */

static unsigned mask_of(const acl *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (le16toh(list->entries[i].tag) == ACL_MASK)
            return le16toh(list->entries[i].permissions);
    return MAY_ANY;
}

/* The forbidden permissions that the entry grants. */
static unsigned excess_of(const acl_entry *entry, unsigned mask, limits must_not)
{
    uint16_t tag         = le16toh(entry->tag);
    uint32_t id          = le32toh(entry->id);
    unsigned permissions = le16toh(entry->permissions);

    if (tag == ACL_OWNER || tag == ACL_MASK)
        return 0;
    if (tag == ACL_OTHERS)
        return permissions & must_not.others;
    if (tag == ACL_OWNER_GROUP)
        return permissions & mask & must_not.group;
    if (tag == ACL_USER && is_us_or_root(id))
        return 0;
    return permissions & mask & must_not.others;
}

/* The number of entries; 0: no list; -1: a list of an unknown format. */
static ssize_t read_list(acl *ret_list, int fd)
{
    ssize_t size = fgetxattr(fd, "system.posix_acl_access", ret_list, sizeof *ret_list);

    if (size < 0)
        return errno == ENODATA || errno == ENOTSUP ? 0 : -1;
    size_t bytes = (size_t)size - sizeof ret_list->version;
    if (size <= (ssize_t)sizeof ret_list->version || le32toh(ret_list->version) != ACL_VERSION ||
        bytes % sizeof(acl_entry) != 0)
        return -1;
    return (ssize_t)(bytes / sizeof(acl_entry));
}

/* The forbidden permissions that others have; *ret_by_list: an access control list grants them. */
static unsigned find_excess(bool *ret_by_list, int fd, const struct stat *is, limits must_not)
{
    unsigned group  = (is->st_mode >> 3) & MAY_ANY;
    unsigned others = is->st_mode & must_not.others;
    acl      list;
    /* The group bits are the mask: without them no entry grants anything. */
    ssize_t count = group != 0 ? read_list(&list, fd) : 0;

    *ret_by_list = count != 0;
    if (count < 0)
        return others | (group & (must_not.group | must_not.others));
    if (count == 0)
        return others | (group & must_not.group);
    unsigned mask = mask_of(&list, (size_t)count), found = 0;
    for (size_t i = 0; i < (size_t)count; i++)
        found |= excess_of(&list.entries[i], mask, must_not);
    return found;
}

static bool check_mode(int fd, const struct stat *is, limits must_not, bwl_distrust *ret_why)
{
    bool        by_list;
    unsigned    found   = find_excess(&by_list, fd, is, must_not);
    const char *who     = (is->st_mode & must_not.others) != 0 ? "everybody" : "its group";
    const char *command = "chmod go-w";

    if (found == 0)
        return true;
    if (by_list) {
        who     = "another user or group, by its access control list,";
        command = "setfacl -b";
    } else if (must_not.others == MAY_ANY) {
        command = must_not.group == MAY_ANY ? "chmod 600" : "chmod g-w,o=";
    }
    return distrust(ret_why, command, "%s can %s it (mode %04o)", who,
                    (found & MAY_WRITE) != 0  ? "write to"
                    : (found & MAY_READ) != 0 ? "read"
                                              : "run",
                    (unsigned)is->st_mode & 07777u);
}

/* ---- the directory --------------------------------------------------------------------------- */

/* The directory part of a path: "." if there is none. */
static bool directory_of(char ret_directory[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t      size  = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);

    if (size >= PATH_MAX)
        return false;
    memcpy(ret_directory, slash == NULL ? "." : path, size);
    ret_directory[size] = '\0';
    return true;
}

bool bwl_trusted_is_shared(unsigned mode, unsigned owner)
{
    return is_us_or_root(owner) && (mode & S_IWGRP) != 0 && (mode & S_IWOTH) == 0;
}

/* A user who can write to the directory can replace the file; in a sticky directory, only its
 * owner. */
static bool check_directory(const struct stat *is, bwl_distrust *ret_why)
{
    unsigned mode = (unsigned)is->st_mode & 07777u;

    if (!is_us_or_root(is->st_uid)) {
        (void)distrust(ret_why, "ls -ld",
                       "its directory belongs to user %u, who can put another file in its place",
                       (unsigned)is->st_uid);
    } else if ((mode & (S_IWGRP | S_IWOTH)) != 0 && (mode & S_ISVTX) == 0) {
        (void)distrust(ret_why, "chmod go-w",
                       "%s can put another file in its place (its directory has mode %04o)",
                       (mode & S_IWOTH) != 0 ? "everybody" : "a group", mode);
    } else {
        return true;
    }
    ret_why->is_of_directory = true;
    return false;
}

static bool check_directory_of(const char *path, bwl_distrust *ret_why)
{
    char        directory[PATH_MAX];
    struct stat is;

    if (!directory_of(directory, path) || stat(directory, &is) != 0)
        return distrust(ret_why, NULL, "its directory cannot be looked at: %s", strerror(errno));
    return check_directory(&is, ret_why);
}

/* No other user may be able to change which file the name leads to. */
static bool check_name(int fd, const char *path, const struct stat *is, bwl_distrust *ret_why)
{
    char        target[PATH_MAX], self[40];
    struct stat by_name;

    if (lstat(path, &by_name) != 0)
        return distrust(ret_why, NULL, "it was removed while it was opened");
    if (!S_ISLNK(by_name.st_mode)) {
        if (by_name.st_dev == is->st_dev && by_name.st_ino == is->st_ino)
            return true;
        return distrust(ret_why, NULL, "it was replaced while it was opened");
    }
    if (!is_us_or_root(by_name.st_uid))
        return distrust(ret_why, "ls -l", "it is a symbolic link of user %u",
                        (unsigned)by_name.st_uid);
    /* A pipe has no directory: "pipe:[4711]". */
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(self, target, sizeof target - 1);
    if (size <= 0 || target[0] != '/')
        return true;
    target[size] = '\0';
    if (check_directory_of(target, ret_why))
        return true;
    ret_why->is_of_directory = false; /* it is not the directory that the name is in */
    ret_why->command         = "readlink -f";
    return false;
}

/* ---- the rule -------------------------------------------------------------------------------- */

static limits limits_of(bwl_trust trust)
{
    switch (trust) {
    case BWL_TRUST_STEERS: return (limits){ MAY_WRITE, MAY_WRITE };
    case BWL_TRUST_KEY: return (limits){ MAY_WRITE, MAY_ANY };
    case BWL_TRUST_SECRET: return (limits){ MAY_ANY, MAY_ANY };
    }
    bwl_unreachable("no such trust");
}

static bool check_owner(const struct stat *is, bwl_distrust *ret_why)
{
    return is_us_or_root(is->st_uid) ||
           distrust(ret_why, "ls -l", "it belongs to user %u, not to user %u or root",
                    (unsigned)is->st_uid, (unsigned)geteuid());
}

bool bwl_trusted(int fd, const char *path, bwl_trust trust, bwl_distrust *ret_why)
{
    struct stat is;

    if (fstat(fd, &is) != 0)
        return distrust(ret_why, NULL, "it cannot be looked at: %s", strerror(errno));
    return check_directory_of(path, ret_why) && check_name(fd, path, &is, ret_why) &&
           check_owner(&is, ret_why) && check_mode(fd, &is, limits_of(trust), ret_why);
}

bool bwl_trusted_in(int fd, int at, bwl_distrust *ret_why)
{
    struct stat is, directory;
    limits      must_not = limits_of(BWL_TRUST_STEERS);

    if (fstat(fd, &is) != 0 || fstat(at, &directory) != 0)
        return distrust(ret_why, NULL, "it cannot be looked at: %s", strerror(errno));
    if (!bwl_trusted_is_shared(directory.st_mode, (unsigned)directory.st_uid))
        return check_directory(&directory, ret_why) && check_owner(&is, ret_why) &&
               check_mode(fd, &is, must_not, ret_why);
    if (is.st_gid == directory.st_gid)
        must_not.group = 0;
    return check_mode(fd, &is, must_not, ret_why);
}

int bwl_trusted_check(int fd, const char *what, const char *path, bwl_trust trust, bwl_fault *fault)
{
    bwl_distrust why;
    struct stat  is;

    if (fstat(fd, &is) != 0)
        return bwl_fail_errno(fault, "cannot look at the %s %.100s", what, path);
    if (!S_ISREG(is.st_mode))
        return bwl_fail(fault, BWL_STATUS_REFUSED, "the %s %.100s is no regular file", what, path);
    if (bwl_trusted(fd, path, trust, &why))
        return BWL_OK;
    if (why.command == NULL)
        return bwl_fail(fault, BWL_STATUS_REFUSED, "the %s %.80s is not trusted: %s", what, path,
                        why.why);
    return bwl_fail(fault, BWL_STATUS_REFUSED, "the %s %.80s is not trusted: %s: %s %s", what, path,
                    why.why, why.command, why.is_of_directory ? "its directory" : "it");
}
