/*
 * test_file_share.c -- shared holds and permits on file: beside flock(1), stopped users, removed
 * files, and on a network file system.  (Their order: tests/conformance/test_engines_shares.c.)
 */
#include "file_users.h"
#include "tests/lib/suite.h"

#include <dlfcn.h>

FIXTURE(begin, end)

/* The users of `letters` ask for: "x" an exclusive hold, "s" a shared one, "p" the only permit. */
static void ask(const char *letters)
{
    for (unsigned i = 0; letters[i] != '\0'; i++) {
        asks[i].permits = letters[i] != 'x';
        asks[i].limit   = letters[i] == 'p';
    }
}

TEST_OF(readers_hold_together_and_let_in_a_writer, &name, &path, &shared, &remote, &remote_path)
{
    ask("ssxs");
    uint64_t fence = takes(0);
    assert_int_equal(takes(1), fence);
    assert_int_equal(once(2), BOWLINE_BUSY);
    assert_int_equal(once(3), BOWLINE_OK);
    waits(2);
    assert_int_equal(once(3), BOWLINE_BUSY);
    waits(3);
    leave(0);
    for (unsigned i = 0; i < 40; i++) { /* 0 began the period, but 1 still shares the lock */
        pass(128);
        still_waits(2);
        still_waits(3);
    }
    leave(1);
    (void)gets_eventually(2);
    assert_true(fence_of(2) > fence);
    still_waits(3);
    leave(2);
    (void)gets_eventually(3);
    assert_true(fence_of(3) > fence + 1);
}

/* The event of a release is pushed to the first waiter of the client only. */
TEST_OF(one_event_lets_in_all_readers_of_a_client, &name)
{
    bowline_client *own = users[2].client;

    ask("xss");
    users[2].client = users[1].client;
    (void)takes(0);
    waits(1);
    waits(2);
    pass(60000); /* the next time they try by themselves is far away */
    still_waits(1);
    leave(0);
    (void)gets(1);
    (void)gets(2);
    users[2].client = own;
}

TEST_OF(flock_of_others_shares_and_excludes, &name, &path)
{
    bowline_holder all[3] = { { .size = sizeof all[0] } };
    int fd = open(in(((const kind *)*state)->leaf), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);

    ask("sxp");
    assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), 0);
    assert_int_equal(once(1), BOWLINE_BUSY);
    (void)takes(0);
    assert_int_equal(bowline_holders(users[3].client, lock_name, all, 3, &error), 2);
    assert_true(all[0].fence == fence_of(0) && !all[0].foreign && all[0].since_ms == 0);
    assert_true(all[1].fence == 0 && all[1].foreign && all[1].mode == BOWLINE_SHARED);
    assert_int_not_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* and it has lost its own */
    leave(0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(once(0), BOWLINE_BUSY);
    assert_int_equal(once(2), BOWLINE_BUSY);
    waits(0);
    assert_int_equal(flock(fd, LOCK_UN), 0); /* this causes no event */
    pass(128);
    (void)gets(0);
    (void)close(fd);
}

/* User 1 is stopped. */
TEST_OF(stopped_waiter_is_overtaken_by_another_kind, &name, &path)
{
    static const char *const rows[] = { "xxs", "xsx", "xsp", "xps", "xpp", "sxs" };

    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        ask(rows[i]);
        (void)takes(0);
        waits(1);
        waits(2);
        leave(0);
        (void)gets_eventually(2);
        uint64_t fence  = fence_of(2);
        int      status = run_user(1); /* it joins again: only a reader may have the lock at once */
        assert_int_equal(status, strcmp(rows[i], "xsp") == 0 ? BOWLINE_OK : PENDING);
        leave(2);
        if (status == PENDING)
            assert_true(gets(1) > fence);
        leave(1);
    }
}

/* A stopped reader does not keep those behind it waiting, if others share the lock. */
TEST_OF(stopped_reader_is_passed_by_readers, &name)
{
    ask("xsss");
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    still_waits(2); /* 1 begins the period */
    uint64_t fence = gets(1);
    assert_int_equal(gets_eventually(3), 0);
    assert_int_equal(fence_of(3), fence);
}

TEST_OF(removed_file_of_a_share_keeps_out_a_writer, &shared, &shared_path)
{
    static const char *const leaves[] = { "n", "x", "x.bowline" };

    ask("sxsx");
    (void)takes(0);
    for (unsigned i = 0; i < COUNT_OF(leaves); i++)
        (void)unlink(in(leaves[i]));
    assert_int_equal(once(1), BOWLINE_BUSY);
    (void)takes(2); /* beside the other reader, though by another file */
    leave(0);
    assert_int_equal(once(1), BOWLINE_BUSY);
    leave(2);
    (void)takes(1);
    for (unsigned i = 0; i < COUNT_OF(leaves); i++)
        (void)unlink(in(leaves[i]));
    assert_int_equal(once(2), BOWLINE_BUSY);
    leave(1);
    assert_int_equal(once(2), BOWLINE_OK);
}

/* ---- the kernel's list of locks -------------------------------------------------------------- */

/* How often the next passes over /proc/locks have the locks of the lock file: "2011" is twice, not
 * at all, and then once.  Behind the text: as the kernel has them. */
static const char *passes  = "";
static unsigned    watched = 0; /* all passes since then */
static ino_t       lock_file;

/* Copies the list, and returns that as the file. */
static FILE *list_with(FILE *list, unsigned times)
{
    FILE         *copy = tmpfile();
    char          line[256];
    unsigned long inode;

    assert_non_null(copy);
    while (fgets(line, sizeof line, list) != NULL) {
        bool is_ours =
            sscanf(line, "%*d: %*s %*s %*s %*d %*x:%*x:%lu", &inode) == 1 && inode == lock_file;
        for (unsigned i = 0; i < (is_ours ? times : 1); i++)
            assert_true(fputs(line, copy) >= 0);
    }
    (void)fclose(list);
    rewind(copy);
    return copy;
}

FILE *fopen(const char *restrict name_of, const char *restrict mode)
{
    FILE *(*real)(const char *, const char *) = NULL;
    void *found                               = dlsym(RTLD_NEXT, "fopen");

    memcpy(&real, &found, sizeof real);
    FILE *file = real(name_of, mode);
    if (file == NULL || strcmp(name_of, "/proc/locks") != 0)
        return file;
    watched++;
    return *passes != '\0' ? list_with(file, (unsigned)(*passes++ - '0')) : file;
}

static void expect_one_sharer(const char *in_passes, unsigned count)
{
    bowline_holder all[3] = { { .size = sizeof all[0] } };

    passes  = in_passes;
    watched = 0;
    assert_int_equal(bowline_holders(users[3].client, lock_name, all, 3, &error), 1);
    assert_int_equal(all[0].pid, getpid());
    assert_int_equal(all[0].foreign, 0);
    assert_string_equal(all[0].note, "");
    assert_int_equal(watched, count + 2); /* the holder is looked for once more */
}

/* The kernel may write a line twice, or leave one out, while other locks come and go. */
TEST_OF(list_that_changes_is_read_until_two_passes_agree, &name, &path)
{
    struct stat    st;
    bowline_holder holder = { .size = sizeof holder };

    ask("s");
    (void)takes(0);
    int fd = open_in(((const kind *)*state)->leaf);
    assert_int_equal(fstat(fd, &st), 0);
    (void)close(fd);
    lock_file = st.st_ino;
    expect_one_sharer("11", 2);
    expect_one_sharer("211", 3);
    expect_one_sharer("011", 3);
    expect_one_sharer("121011", 6);
    passes = "";
    leave(0);
    ask("x");
    (void)takes(0);
    watched = 0;
    passes  = "001";
    assert_int_equal(bowline_who(users[3].client, lock_name, &holder, &error), BOWLINE_OK);
    assert_int_equal(holder.pid, getpid());
    assert_int_equal(watched, 3);
    passes = "";
    leave(0);
}

TEST_OF(lock_that_one_pass_leaves_out_is_listed, &path)
{
    const char    *leaf   = ((const kind *)*state)->leaf;
    bowline_list  *list   = NULL;
    bowline_holder holder = { .size = sizeof holder };
    struct stat    st;
    unsigned       count = 0;
    int            fd    = open(in(leaf), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);

    assert_int_equal(fstat(fd, &st), 0);
    lock_file = st.st_ino;
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* of a program that is not bowline */
    for (const char *const *in_passes = (const char *const[]){ "01", "10", "11", NULL };
         *in_passes != NULL; in_passes++) {
        passes = *in_passes;
        assert_int_equal(bowline_list_start(&list, users[3].client, NULL, &error), BOWLINE_OK);
        while (bowline_list_next(&holder, list, &error) == 1)
            count++;
        bowline_list_free(list);
    }
    passes = "";
    assert_int_equal(count, 3);
    (void)close(fd);
}
