/*
 * private.c -- see private.h.
 *
 * The mode alone does not tell.  With an access control list its group bits are the list's mask:
 * the most that anybody in the list may do.  systemd hands a credential to a service's user by such
 * a list on a file of root's, which then shows as -r--r-----, though no group can read it.
 */
#include "private.h"

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The list as the kernel gives it: a version, then entries, all of it little-endian. */
enum { ACL_VERSION = 2, ENTRIES_MAX = 16 };

enum {
    ACL_OWNER = 0x01,
    ACL_USER  = 0x02,
    ACL_MASK  = 0x10,
};

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

/* An entry for a group, or for everybody else, lets nobody in only if it permits nothing. */
static bool lets_in_a_stranger(const acl_entry *entry)
{
    uint16_t tag = le16toh(entry->tag);
    uint32_t id  = le32toh(entry->id);

    if (tag == ACL_OWNER || tag == ACL_MASK)
        return false;
    if (tag == ACL_USER && (id == 0 || id == (uint32_t)geteuid()))
        return false;
    return entry->permissions != 0;
}

bool private_is(int fd, const struct stat *is)
{
    acl list;

    if ((is->st_mode & (S_IRWXG | S_IRWXO)) == 0)
        return true;
    /* No list, none here, or one that is too long for us: then the group bits are what they say. */
    ssize_t size = fgetxattr(fd, "system.posix_acl_access", &list, sizeof list);
    if (size < (ssize_t)sizeof list.version || le32toh(list.version) != ACL_VERSION)
        return false;
    size_t bytes = (size_t)size - sizeof list.version;
    if (bytes == 0 || bytes % sizeof(acl_entry) != 0)
        return false;
    for (size_t i = 0; i < bytes / sizeof(acl_entry); i++)
        if (lets_in_a_stranger(&list.entries[i]))
            return false;
    return true;
}
