/*
 * test_trusted_file.c -- which files may control bowline.  Files of another user need root.
 */
#include "base/trusted_file.h"
#include "tests/lib/suite.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { OTHER_USER = 54321, OTHER_GROUP = 54322 };

static char         root[64];
static bwl_distrust why;

static int begin(void **state)
{
    (void)snprintf(root, sizeof root, "/tmp/bowline-trusted-XXXXXX");
    return mkdtemp(root) != NULL && chdir(root) == 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)chmod(root, 0700);
    for (const char *const *name = (const char *const[]){ "f", "link", "dir/f", NULL };
         *name != NULL; name++)
        (void)unlink(*name);
    (void)rmdir("dir");
    return chdir("/") == 0 ? rmdir(root) : -1;
}

static void make(const char *name, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static bool trusts(const char *path, bwl_trust trust)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    memset(&why, 0, sizeof why);
    bool is = bwl_trusted(fd, path, trust, &why);
    assert_int_equal(close(fd), 0);
    return is;
}

static bool trusts_in(const char *directory)
{
    int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(at, "f", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    assert_true(fd >= 0);
    memset(&why, 0, sizeof why);
    bool is = bwl_trusted_in(fd, at, &why);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(at), 0);
    return is;
}

static void assert_says(const char *text, const char *command)
{
    assert_non_null(strstr(why.why, text));
    assert_non_null(why.command);
    assert_string_equal(why.command, command);
}

/* ---- the mode -------------------------------------------------------------------------------- */

FIXTURE(begin, end)

TEST(mode_decides_for_each_use)
{
    static const struct {
        mode_t mode;
        bool   steers, key, secret;
    } rows[] = {
        { 0600, true, true, true },    { 0400, true, true, true },    { 0640, true, true, false },
        { 0644, true, false, false },  { 0604, true, false, false },  { 0601, true, false, false },
        { 0660, false, false, false }, { 0620, false, false, false }, { 0602, false, false, false },
        { 0666, false, false, false },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        make("f", rows[i].mode);
        assert_int_equal(trusts("f", BWL_TRUST_STEERS), rows[i].steers);
        assert_int_equal(trusts("f", BWL_TRUST_KEY), rows[i].key);
        assert_int_equal(trusts("f", BWL_TRUST_SECRET), rows[i].secret);
    }
}

TEST(refused_mode_names_the_access_and_the_command_to_fix_it)
{
    make("f", 0666);
    assert_false(trusts("f", BWL_TRUST_STEERS));
    assert_says("everybody can write to it (mode 0666)", "chmod go-w");
    make("f", 0660);
    assert_false(trusts("f", BWL_TRUST_STEERS));
    assert_says("its group can write to it (mode 0660)", "chmod go-w");
    make("f", 0640);
    assert_false(trusts("f", BWL_TRUST_SECRET));
    assert_says("its group can read it (mode 0640)", "chmod 600");
    make("f", 0644);
    assert_false(trusts("f", BWL_TRUST_KEY));
    assert_says("everybody can read it (mode 0644)", "chmod g-w,o=");
    assert_false(why.is_of_directory);
}

TEST(fault_is_one_sentence)
{
    bwl_fault fault = { 0 };

    make("f", 0666);
    int fd = open("f", O_RDONLY | O_CLOEXEC);
    assert_int_equal(bwl_trusted_check(fd, "CA file", "f", BWL_TRUST_STEERS, &fault),
                     BWL_STATUS_REFUSED);
    assert_string_equal(fault.text, "the CA file f is not trusted: everybody can write to it (mode "
                                    "0666): chmod go-w it");
    assert_int_equal(chmod("f", 0600), 0);
    assert_int_equal(bwl_trusted_check(fd, "CA file", "f", BWL_TRUST_STEERS, &fault), BWL_OK);
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(bwl_trusted_check(fd, "CA file", "f", BWL_TRUST_STEERS, &fault),
                     BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, ": chmod go-w its directory"));
    assert_int_equal(close(fd), 0);
}

/* ---- the access control list ----------------------------------------------------------------- */

typedef struct entry {
    uint16_t tag, permissions;
    uint32_t id;
} entry;

enum { OWNER = 1, USER = 2, OWNER_GROUP = 4, GROUP = 8, MASK = 16, OTHERS = 32 };

/* False: this file system has no lists. */
static bool list(const entry *named, size_t count, unsigned group, unsigned mask)
{
    struct {
        uint32_t version;
        entry    entries[12];
    } acl           = { .version = htole32(2) };
    size_t   used   = 0;
    uint16_t last   = 0;
    entry    base[] = { { OWNER, 6, UINT32_MAX },
                        { OWNER_GROUP, (uint16_t)group, UINT32_MAX },
                        { MASK, (uint16_t)mask, UINT32_MAX },
                        { OTHERS, 0, UINT32_MAX } };

    /* The kernel requires the order of their tags. */
    for (unsigned tag = OWNER; tag <= OTHERS; tag *= 2) {
        last = (uint16_t)tag;
        for (size_t i = 0; i < 4; i++)
            if (base[i].tag == last)
                acl.entries[used++] = base[i];
        for (size_t i = 0; i < count; i++)
            if (named[i].tag == last)
                acl.entries[used++] = named[i];
    }
    for (size_t i = 0; i < used; i++)
        acl.entries[i] = (entry){ htole16(acl.entries[i].tag), htole16(acl.entries[i].permissions),
                                  htole32(acl.entries[i].id) };
    if (setxattr("f", "system.posix_acl_access", &acl, 4 + used * sizeof(entry), 0) == 0)
        return true;
    assert_int_equal(errno, ENOTSUP);
    return false;
}

TEST(access_control_list_decides_if_there_is_one)
{
    const uint32_t us = (uint32_t)geteuid();
    const struct {
        entry    named[2];
        size_t   count;
        unsigned group, mask;
        bool     steers, secret;
    } rows[] = {
        { { { USER, 4, us } }, 1, 0, 4, true, true },
        { { { USER, 6, us } }, 1, 0, 6, true, true },
        { { { USER, 4, OTHER_USER } }, 1, 0, 4, true, false },
        { { { USER, 6, OTHER_USER } }, 1, 0, 6, false, false },
        { { { USER, 6, OTHER_USER } }, 1, 0, 4, true, false }, /* less, by the mask */
        { { { USER, 0, OTHER_USER } }, 1, 0, 6, true, true },
        { { { GROUP, 4, OTHER_GROUP } }, 1, 0, 4, true, false },
        { { { GROUP, 2, OTHER_GROUP } }, 1, 0, 6, false, false },
        { { { USER, 4, us } }, 1, 4, 4, true, false },
        { { { USER, 4, us } }, 1, 2, 6, false, false },
        { { { USER, 6, us }, { USER, 6, OTHER_USER } }, 2, 0, 6, false, false },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        make("f", 0600);
        if (!list(rows[i].named, rows[i].count, rows[i].group, rows[i].mask))
            skip();
        assert_int_equal(trusts("f", BWL_TRUST_STEERS), rows[i].steers);
        assert_int_equal(trusts("f", BWL_TRUST_SECRET), rows[i].secret);
        assert_int_equal(unlink("f"), 0);
    }
    make("f", 0600);
    assert_true(list(&(entry){ USER, 6, OTHER_USER }, 1, 0, 6));
    assert_false(trusts("f", BWL_TRUST_STEERS));
    assert_says("by its access control list, can write to it", "setfacl -b");
}

/* ---- the directory, and links ---------------------------------------------------------------- */

TEST(directory_where_others_can_replace_the_file_is_refused)
{
    make("f", 0600);
    assert_int_equal(chmod(".", 0777), 0);
    assert_false(trusts("f", BWL_TRUST_STEERS));
    assert_says("everybody can put another file in its place", "chmod go-w");
    assert_true(why.is_of_directory);
    assert_int_equal(chmod(".", 0770), 0);
    assert_false(trusts("f", BWL_TRUST_SECRET));
    assert_says("a group can put another file in its place", "chmod go-w");
    assert_int_equal(chmod(".", 01777), 0); /* sticky: no other user can replace our files */
    assert_true(trusts("f", BWL_TRUST_SECRET));
    assert_int_equal(chmod(".", 0755), 0);
    assert_true(trusts("f", BWL_TRUST_SECRET));
}

TEST(link_is_followed_and_its_target_directory_counts)
{
    assert_int_equal(mkdir("dir", 0700), 0);
    make("dir/f", 0600);
    assert_int_equal(symlink("dir/f", "link"), 0);
    assert_true(trusts("link", BWL_TRUST_SECRET));
    assert_int_equal(chmod("dir", 0777), 0);
    assert_false(trusts("link", BWL_TRUST_STEERS));
    assert_says("everybody can put another file in its place", "readlink -f");
    assert_int_equal(chmod("dir", 0700), 0);
    assert_int_equal(chmod("dir/f", 0606), 0);
    assert_false(trusts("link", BWL_TRUST_STEERS));
}

TEST(name_that_means_another_file_now_is_refused)
{
    make("f", 0600);
    int fd = open("f", O_RDONLY | O_CLOEXEC);
    assert_int_equal(unlink("f"), 0);
    assert_false(bwl_trusted(fd, "f", BWL_TRUST_STEERS, &why));
    assert_non_null(strstr(why.why, "removed while it was opened"));
    make("f", 0600);
    assert_false(bwl_trusted(fd, "f", BWL_TRUST_STEERS, &why));
    assert_non_null(strstr(why.why, "replaced while it was opened"));
    assert_int_equal(close(fd), 0);
}

TEST(pipe_is_trusted_by_its_owner)
{
    char name[32];
    int  fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", fds[0]);
    assert_true(bwl_trusted(fds[0], name, BWL_TRUST_SECRET, &why));
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
}

/* ---- other users ----------------------------------------------------------------------------- */

static void needs_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("skipped: only root can make files of another user\n");
    skip();
}

TEST(file_of_another_user_is_refused)
{
    needs_root();
    make("f", 0600);
    assert_int_equal(chown("f", OTHER_USER, 0), 0);
    for (bwl_trust trust = BWL_TRUST_STEERS; trust <= BWL_TRUST_SECRET; trust++) {
        assert_false(trusts("f", trust));
        assert_says("it belongs to user 54321, not to user 0 or root", "ls -l");
    }
    assert_false(trusts_in("."));
}

TEST(directory_of_another_user_is_refused)
{
    needs_root();
    assert_int_equal(mkdir("dir", 0700), 0);
    make("dir/f", 0600);
    assert_int_equal(chown("dir", OTHER_USER, 0), 0);
    assert_false(trusts("dir/f", BWL_TRUST_STEERS));
    assert_says("its directory belongs to user 54321", "ls -ld");
    assert_false(trusts_in("dir"));
    assert_int_equal(chmod("dir", 02775), 0); /* nor by its owner on our behalf */
    assert_false(trusts_in("dir"));
}

TEST(link_of_another_user_is_refused)
{
    needs_root();
    make("f", 0600);
    assert_int_equal(symlink("f", "link"), 0);
    assert_true(trusts("link", BWL_TRUST_SECRET));
    assert_int_equal(lchown("link", OTHER_USER, 0), 0);
    assert_false(trusts("link", BWL_TRUST_SECRET));
    assert_says("it is a symbolic link of user 54321", "ls -l");
}

TEST(file_of_root_is_trusted_by_others)
{
    needs_root();
    make("f", 0644);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(seteuid(OTHER_USER), 0);
    bool is_trusted = trusts("f", BWL_TRUST_STEERS);
    assert_int_equal(seteuid(0), 0);
    assert_true(is_trusted);
}

/* ---- shared by a group ----------------------------------------------------------------------- */

TEST(group_may_write_only_where_its_directory_is_shared)
{
    make("f", 0664);
    assert_int_equal(chmod(".", 0755), 0);
    assert_false(trusts_in("."));
    assert_says("its group can write to it", "chmod go-w");
    assert_int_equal(chmod(".", 02775), 0);
    assert_true(trusts_in("."));
    assert_int_equal(chmod(".", 02777), 0);
    assert_false(trusts_in("."));
    assert_int_equal(chmod(".", 03777), 0); /* sticky, but writable for all users */
    assert_false(trusts_in("."));
    assert_int_equal(chmod(".", 02775), 0);
    assert_int_equal(chmod("f", 0666), 0);
    assert_false(trusts_in("."));
}

TEST(shared_file_may_belong_to_another_user_but_not_to_another_group)
{
    needs_root();
    assert_int_equal(chmod(".", 02775), 0);
    make("f", 0664);
    assert_int_equal(chown("f", OTHER_USER, getegid()), 0);
    assert_true(trusts_in("."));
    assert_int_equal(chown("f", OTHER_USER, OTHER_GROUP), 0);
    assert_false(trusts_in("."));
}
