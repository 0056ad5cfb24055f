/*
 * test_file_who.c -- bowline_who on file: it finds every kind of holder, and changes nothing.
 */
#include "engine/file/holder.h"
#include "file_users.h"
#include "tests/lib/suite.h"

#include <inttypes.h>
#include <sys/utsname.h>

FIXTURE(begin, end)

static bowline_holder holder;

static const bowline_holder *who(void)
{
    memset(&holder, 0xee, sizeof holder);
    holder.size = sizeof holder;
    int status  = bowline_who(users[3].client, lock_name, &holder, &error);
    assert_status(BOWLINE_OK, status, &error);
    return &holder;
}

static const char *host(void)
{
    static struct utsname system;

    assert_int_equal(uname(&system), 0);
    return system.nodename;
}

static void expect_nobody(void)
{
    static const bowline_holder nobody = { .size = sizeof nobody };

    assert_memory_equal(who(), &nobody, offsetof(bowline_holder, name));
    assert_string_equal(holder.name, lock_name);
    assert_string_equal(holder.user, "");
    assert_string_equal(holder.host, "");
    assert_string_equal(holder.program, "");
    assert_string_equal(holder.note, "");
}

static void expect_us(uint64_t fence, int64_t since_ms)
{
    assert_int_equal(who()->held, 1);
    assert_int_equal(holder.foreign, 0);
    assert_int_equal(holder.fence, fence);
    assert_int_equal(holder.pid, getpid());
    assert_int_equal(holder.left_ms, INT64_MAX);
    assert_int_equal(holder.since_ms, since_ms);
    assert_string_not_equal(holder.user, "");
    assert_memory_equal(holder.host, host(), strlen(holder.host));
    assert_string_equal(holder.program, "test%a b");
    assert_string_equal(holder.note, "");
}

static void expect_foreign(pid_t pid, const char *word)
{
    assert_int_equal(who()->held, 1);
    assert_int_equal(holder.foreign, 1);
    assert_int_equal(holder.pid, pid);
    assert_int_equal(holder.fence, 0);
    assert_non_null(strstr(holder.note, word));
    assert_string_not_equal(holder.user, "");
    assert_string_equal(holder.program, "outsider");
}

/* ---- bowline --------------------------------------------------------------------------------- */

TEST_OF(holder_is_shown_and_nothing_is_changed, &name, &path)
{
    const char *queue      = *state == &name ? "n" : "x.bowline";
    char        before[26] = "";
    char        after[26]  = "";

    assert_int_equal(prctl(PR_SET_NAME, "test%a b\n"), 0);
    expect_nobody();
    assert_false(exists(queue));
    uint64_t fence = takes(0);
    int      fd    = open_in(queue);
    waits(1);
    pass(60);
    assert_int_equal(pread(fd, before, sizeof before, 0), sizeof before);
    expect_us(fence, 60);
    assert_int_equal(pread(fd, after, sizeof after, 0), sizeof after);
    assert_memory_equal(after, before, sizeof after);
    leave(0);
    assert_int_equal(who()->held, 1); /* about to be taken */
    assert_int_equal(holder.fence, 0);
    fence = gets(1);
    pass(30);
    expect_us(fence, 30);
    leave(1);
    expect_nobody();
    (void)close(fd);
}

TEST_OF(overtaken_waiter_is_not_the_holder, &name)
{
    assert_int_equal(prctl(PR_SET_NAME, "test%a b"), 0);
    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
    (void)gets_eventually(2);
    expect_us(fence_of(2), 0);
    leave(2);
    expect_nobody(); /* the next newcomer gets it */
}

/* ---- what the file says ---------------------------------------------------------------------- */

/* Writes the lines of a record; "!" is replaced by the fence, "&" by our pid, "$" by our host. */
static void write_record(const char *text)
{
    char bytes[512 - 26] = "";
    int  fd              = open_in("n");

    for (size_t size = 0; *text != '\0'; text++) {
        char value[128] = { *text };
        if (*text == '!')
            (void)snprintf(value, sizeof value, "%" PRIu64, fence_of(0));
        else if (*text == '&')
            (void)snprintf(value, sizeof value, "%d", getpid());
        else if (*text == '$')
            (void)snprintf(value, sizeof value, "%.63s", host());
        memcpy(bytes + size, value, strlen(value));
        size += strlen(value);
    }
    assert_int_equal(pwrite(fd, bytes, sizeof bytes, 26), sizeof bytes);
    (void)close(fd);
}

#define RECORD(fence, uid, pid, host, program, since, end_)                                   \
    "fence=" fence "\nuid=" uid "\npid=" pid "\nhost=" host "\nprogram=" program "\nboot=b\n" \
    "since=" since "\nend=" end_ "\n"

/* A record that is incomplete, or not of the ticket of the holder, is not read: then only the pid
 * of the kernel is known. */
TEST_OF(damaged_records_are_not_read, &name)
{
    static const char *const texts[] = {
        "",
        "garbage",
        "fence=!",
        "\n\n\n\n\n\n\n\n",
        "uid=1\nfence=!\npid=&\nhost=h\nprogram=p\nboot=b\nsince=1\nend=!\n",
        RECORD("!", "1", "&", "h", "p", "1", "1"),
        RECORD("1", "1", "&", "h", "p", "1", "!"),
        RECORD("1", "1", "&", "h", "p", "1", "1"),
        RECORD("0", "1", "&", "h", "p", "1", "0"),
        RECORD("", "1", "&", "h", "p", "1", ""),
        RECORD("0!", "1", "&", "h", "p", "1", "0!"),
        RECORD("-!", "1", "&", "h", "p", "1", "-!"),
        RECORD("!", "4294967296", "&", "h", "p", "1", "!"),
        RECORD("!", "1", "2147483648", "h", "p", "1", "!"),
        RECORD("!", "1", "&", "%zz", "p", "1", "!"),
        RECORD("!", "1", "&", "h", "%00", "1", "!"),
        RECORD("!", "1", "&", "h", "p", "9223372036854775808", "!"),
    };

    (void)takes(0);
    write_record(RECORD("!", "4000000001", "&", "a%1B[2J", "%0Ab%7F", "1", "!"));
    assert_int_equal(who()->held, 1);
    assert_string_equal(holder.user, "4000000001"); /* has no name */
    assert_string_equal(holder.host, "a?[2J");      /* with control characters */
    assert_string_equal(holder.program, "?b?");
    assert_int_equal(holder.since_ms, 0); /* a time of another boot */
    for (unsigned i = 0; i < COUNT_OF(texts); i++) {
        write_record(texts[i]);
        assert_int_equal(who()->held, 1);
        assert_int_equal(holder.foreign, 0);
        assert_int_equal(holder.fence, fence_of(0));
        assert_int_equal(holder.pid, getpid());
        if (holder.user[0] != '\0' || holder.program[0] != '\0')
            fail_msg("read: %s", texts[i]);
    }
}

/* Any user of a shared directory can write it. */
TEST_OF(counter_above_all_tickets_is_ignored, &name)
{
    const uint64_t nonsense = UINT64_MAX;
    int            fd       = open_in("n");

    (void)takes(0);
    assert_int_equal(pwrite(fd, &nonsense, 8, 18), 8);
    assert_int_equal(who()->held, 1);
    assert_int_equal(holder.fence, 0);
    assert_int_equal(pwrite(fd, "garbage", 7, 8), 7);
    assert_int_equal(who()->held, 1);
    leave(0);
    expect_nobody();
    (void)close(fd);
}

TEST_OF(pid_is_that_of_the_kernel, &name)
{
    static const bwl_file none = { .fd = -1 };
    bwl_holder            seen;
    bwl_file              queue = { .fd = open_in("n") };

    uint64_t fence = takes(0);
    write_record(RECORD("!", "4000000001", "1", "$", "forged", "1", "!"));
    assert_int_equal(who()->pid, getpid());
    assert_int_equal(holder.fence, fence);
    assert_int_equal(holder.since_ms, 0);
    assert_string_not_equal(holder.user, "4000000001");
    assert_string_not_equal(holder.program, "forged");
    assert_string_equal(holder.note, "the lock file says pid 1, the kernel does not");

    /* where no flock is visible: a record of another file; of another host */
    assert_null(bwl_file_find_holder(&queue, &none, false, &seen));
    assert_int_equal(seen.pid, 0);
    assert_string_equal(seen.note, "pid 1 by the lock file, the kernel does not say");
    write_record(RECORD("!", "0", "1", "elsewhere", "p", "1", "!"));
    assert_null(bwl_file_find_holder(&queue, &none, false, &seen));
    assert_int_equal(seen.pid, 1);
    assert_string_equal(seen.host, "elsewhere");
    assert_string_equal(seen.note, "");
    (void)close(queue.fd);
}

/* ---- holders that have ended ----------------------------------------------------------------- */

static int heir_pid[2]; /* a pipe */

/* Takes the lock, and has a child that inherits it and waits for the end of the other pipe. */
static void hand_over(void *arg)
{
    bowline_client *client;
    bowline_hold   *hold;

    if (bowline_open(&client, BOWLINE_OPTIONS(.url = url), NULL) != BOWLINE_OK ||
        bowline_acquire(&hold, client, lock_name, NULL, NULL) != BOWLINE_OK)
        _exit(1);
    pid_t heir = fork();
    if (heir == 0) {
        (void)prctl(PR_SET_PDEATHSIG, 0);
        heir = getpid();
        (void)!write(heir_pid[1], &heir, sizeof heir);
        (void)alarm(60);
        for (;;)
            (void)pause();
    }
}

static int look_as_nobody(void *arg)
{
    static bowline_client *client; /* static: the process ends without closing it */
    if (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0 ||
        bowline_open(&client, BOWLINE_OPTIONS(.url = url), NULL) != BOWLINE_OK)
        return 1;
    if (bowline_who(client, lock_name, &holder, NULL) != BOWLINE_OK)
        return 2;
    return holder.held && holder.pid == 0 &&
                   (strstr(holder.note, "has ended") != NULL ||
                    strstr(holder.note, "does not say") != NULL)
               ? 0
               : 3;
}

TEST_OF(child_that_inherited_a_hold_is_shown, &name)
{
    pid_t heir;

    assert_int_equal(pipe2(heir_pid, O_CLOEXEC), 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t child = start_child(hand_over, NULL);
    assert_int_equal(read(heir_pid[0], &heir, sizeof heir), sizeof heir);
    assert_int_equal(who()->pid, child);
    assert_string_equal(holder.note, "");
    end_child(child);
    assert_int_equal(who()->held, 1);
    assert_int_equal(holder.pid, heir);
    assert_non_null(strstr(holder.note, "has ended, a child holds on"));
    if (geteuid() == 0) { /* the child is invisible, and the dead process is not shown */
        assert_int_equal(chmod(directory, 0755), 0);
        assert_int_equal(chmod(in("n"), 0644), 0);
        assert_int_equal(in_child(look_as_nobody, NULL), 0);
    }
    end_child(heir);
    assert_int_equal(once(1), BOWLINE_OK);
    (void)close(heir_pid[0]);
    (void)close(heir_pid[1]);
}

/* ---- locks of other programs ----------------------------------------------------------------- */

static void lock_by_flock(void *arg)
{
    (void)prctl(PR_SET_NAME, "outsider");
    if (flock(open(arg, O_RDONLY | O_CREAT | O_CLOEXEC, 0666), LOCK_EX | LOCK_NB) != 0)
        _exit(1);
}

static void lock_by_fcntl(void *arg)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    (void)prctl(PR_SET_NAME, "outsider");
    if (fcntl(open(arg, O_RDWR | O_CREAT | O_CLOEXEC, 0666), F_SETLK, &all) != 0)
        _exit(1);
}

/* As "exec 9>n; flock 9" in a shell: the process that took the lock has ended. */
static void inherit_flock(void *arg)
{
    int how;

    (void)prctl(PR_SET_NAME, "outsider");
    int   fd    = open(arg, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
    pid_t taker = fork();
    if (taker == 0)
        _exit(flock(fd, LOCK_EX | LOCK_NB));
    if (waitpid(taker, &how, 0) != taker || how != 0)
        _exit(1);
}

TEST_OF(locks_of_other_programs_are_foreign, &name, &path)
{
    const char *leaf = ((const kind *)*state)->leaf;
    const struct {
        void (*lock)(void *arg);
        const char *word;
    } rows[]           = { { lock_by_flock, "flock" },
                           { inherit_flock, "flock" },
                           { lock_by_fcntl, "fcntl" } };
    unsigned count     = *state == &name ? 3 : 2; /* fcntl is visible on the queue file only */
    int      bystander = open_in(leaf);           /* it is open here too, and not locked */

    for (unsigned i = 0; i < count; i++) {
        pid_t child = start_child(rows[i].lock, (void *)(uintptr_t)in(leaf));
        expect_foreign(child, rows[i].word);
        waits(0);
        expect_foreign(child, rows[i].word);
        leave(0);
        end_child(child);
        expect_nobody();
    }
    pid_t child = start_child(lock_by_flock, (void *)(uintptr_t)in("other"));
    expect_nobody(); /* another file */
    end_child(child);
    (void)close(bystander);
}
