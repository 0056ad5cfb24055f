/*
 * test_file_record.c -- the bytes of a lock file, and what is made of bytes that are not ours.
 */
#include "engine/file/record.h"
#include "engine/file/ticket.h"
#include "file_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

/* In the C library's place: what the next calls of pwrite do; a number of bytes, or an error. */
static const int *answers;

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    int answer = answers != NULL && *answers != 0 ? *answers++ : (int)size;

    if (answer < 0) {
        errno = -answer;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, (size_t)answer < size ? (size_t)answer : size, at);
}

static const char example_text[] = "uid=1000\npid=4711\nhost=vm-1\nprogram=back%20up\nboot=b-1\n";
static bwl_file_self   example;
static bwl_file_record record;

static int set_up(void **state)
{
    example = (bwl_file_self){ .size = sizeof example_text - 1 };
    memcpy(example.text, example_text, example.size);
    memset(&record, 0xee, sizeof record);
    answers = NULL;
    return make_directory(state);
}

static int head_of(int fd, bwl_file_head *ret_head)
{
    *ret_head = (bwl_file_head){ 77, 77 };
    return bwl_file_read_head(fd, ret_head);
}

/* ---- tickets --------------------------------------------------------------------------------- */

static void test_file_record_a_new_file_has_drawn_and_granted_nothing(void **state)
{
    bwl_file_head head;
    int           fd = open_in("file");

    assert_int_equal(head_of(fd, &head), 0);
    assert_int_equal(head.drawn, 0);
    assert_int_equal(head.granted, 0);
    assert_false(bwl_file_read_record(fd, &record));
    (void)close(fd);
}

static void test_file_record_zeros_are_a_new_file(void **state)
{
    static const char   zeros[BWL_FILE_BYTES];
    static const size_t sizes[] = { 1, 8, 18, 25, 26, 512 };
    bwl_file_head       head;

    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        put("file", zeros, sizes[i]);
        int fd = open_in("file");
        assert_int_equal(head_of(fd, &head), 0);
        assert_int_equal(head.drawn, 0);
        (void)close(fd);
    }
}

static void test_file_record_many_zeros_may_be_the_beginning_of_something(void **state)
{
    static const char zeros[BWL_FILE_BYTES + 1];
    bwl_file_head     head;

    put("file", zeros, sizeof zeros);
    int fd = open_in("file");
    assert_int_equal(head_of(fd, &head), EBADMSG);
    (void)close(fd);
}

static void test_file_record_what_is_no_file_of_ours_is_told_apart(void **state)
{
    static const char *const texts[] = {
        "x",
        "123\n",
        "4711 a pid file\n",
        "\1\0\0\0\0\0\0\0bowline 2\n\0\0\0\0\0\0\0\0",
        "\1\0\0\0\0\0\0\0Bowline 1\n\0\0\0\0\0\0\0\0",
        "12345678bowline 1",
    };
    static const size_t sizes[] = { 1, 4, 16, 26, 26, 17 };
    bwl_file_head       head;

    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put("file", texts[i], sizes[i]);
        int fd = open_in("file");
        assert_int_equal(head_of(fd, &head), EBADMSG);
        assert_int_equal(head.drawn, 77);
        (void)close(fd);
    }
}

static void test_file_record_an_unreadable_file_says_why(void **state)
{
    bwl_file_head head;

    assert_int_equal(head_of(-1, &head), EBADF);
    assert_int_equal(bwl_file_write_drawn(-1, 1), EBADF);
    assert_int_equal(bwl_file_write_granted(-1, 1, &example, 1), EBADF);
    assert_int_equal(bwl_file_write_both(-1, 1, &example, 1), EBADF);
}

static void test_file_record_the_next_ticket_grows_whatever_the_clock_does(void **state)
{
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ 0, 0 }, 1000), 1000);
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ 999, 0 }, 1000), 1000);
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ 1000, 0 }, 1000), 1001);
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ 5000, 10 }, 1000), 5001);
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ 10, 5000 }, 1000), 5001);
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ 0, 0 }, 0), 1); /* never 0 */
}

static void test_file_record_numbers_that_nobody_can_have_drawn_end_it(void **state)
{
    const uint64_t max = BWL_FILE_TICKET_MAX;

    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ max - 1, 0 }, 5), max);
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ max, 0 }, 5), 0);
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ UINT64_MAX, 0 }, 5), 0);
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ 0, max }, 5), 0);
    assert_int_equal(bwl_file_next_ticket(&(bwl_file_head){ 0, UINT64_MAX }, 5), 0);
}

static void test_file_record_drawing_leaves_what_was_granted(void **state)
{
    bwl_file_head head;
    int           fd = open_in("file");

    assert_int_equal(bwl_file_write_both(fd, 1000, &example, 5), 0);
    assert_int_equal(bwl_file_write_drawn(fd, 1002), 0);
    assert_int_equal(head_of(fd, &head), 0);
    assert_int_equal(head.drawn, 1002);
    assert_int_equal(head.granted, 1000);
    assert_true(bwl_file_read_record(fd, &record));
    assert_int_equal(record.fence, 1000);
    (void)close(fd);
}

static void test_file_record_granting_leaves_what_was_drawn(void **state)
{
    bwl_file_head head;
    int           fd = open_in("file");

    assert_int_equal(bwl_file_write_drawn(fd, 1002), 0);
    assert_int_equal(bwl_file_write_granted(fd, 1001, &example, 5), 0);
    assert_int_equal(head_of(fd, &head), 0);
    assert_int_equal(head.drawn, 1002);
    assert_int_equal(head.granted, 1001);
    assert_true(bwl_file_read_record(fd, &record));
    assert_int_equal(record.fence, 1001);
    (void)close(fd);
}

/* ---- the record ------------------------------------------------------------------------------ */

/* Others read this format: it does not change by accident. */
static void test_file_record_the_format_is_what_the_header_says(void **state)
{
    static const char wanted[] = "\x08\x07\x06\x05\x04\x03\x02\x01"
                                 "bowline 1\n"
                                 "\x08\x07\x06\x05\x04\x03\x02\x01"
                                 "fence=72623859790382856\n"
                                 "uid=1000\npid=4711\nhost=vm-1\nprogram=back%20up\nboot=b-1\n"
                                 "since=123456\n"
                                 "end=72623859790382856\n";
    char              bytes[BWL_FILE_BYTES + 1];
    int               fd = open_in("file");

    assert_int_equal(bwl_file_write_both(fd, UINT64_C(0x0102030405060708), &example, 123456), 0);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), BWL_FILE_BYTES);
    assert_memory_equal(bytes, wanted, sizeof wanted - 1);
    for (size_t i = sizeof wanted - 1; i < BWL_FILE_BYTES; i++)
        assert_int_equal(bytes[i], 0);
    (void)close(fd);
}

static void test_file_record_comes_back_as_it_was_written(void **state)
{
    int fd = open_in("file");

    assert_int_equal(bwl_file_write_both(fd, 1000, &example, 123456), 0);
    assert_true(bwl_file_read_record(fd, &record));
    assert_int_equal(record.fence, 1000);
    assert_int_equal(record.uid, 1000);
    assert_int_equal(record.pid, 4711);
    assert_int_equal(record.since, 123456);
    assert_string_equal(record.host, "vm-1");
    assert_string_equal(record.program, "back up");
    assert_string_equal(record.boot, "b-1");
    (void)close(fd);
}

static void test_file_record_says_who_we_are(void **state)
{
    bwl_file_self  self = { 0 };
    struct utsname system;
    char           boot[BWL_FILE_BOOT_MAX];
    int            fd = open_in("file");

    assert_int_equal(prctl(PR_SET_NAME, "a%b c\n"), 0);
    bwl_file_self_learn(&self, "");
    bwl_file_boot_learn(boot);
    assert_int_equal(uname(&system), 0);
    assert_int_equal(bwl_file_write_both(fd, 1, &self, 1), 0);
    assert_true(bwl_file_read_record(fd, &record));
    assert_int_equal(record.uid, geteuid());
    assert_int_equal(record.pid, getpid());
    assert_int_equal(strlen(boot), 36);
    assert_string_equal(record.boot, boot);
    assert_string_equal(record.program, "a%b c");
    assert_memory_equal(record.host, system.nodename, strlen(record.host));
    (void)close(fd);
}

static void test_file_record_a_shorter_one_leaves_nothing_of_a_longer_one(void **state)
{
    char bytes[BWL_FILE_BYTES];
    int  fd = open_in("file");

    assert_int_equal(bwl_file_write_both(fd, BWL_FILE_TICKET_MAX, &example, INT64_MAX), 0);
    assert_int_equal(bwl_file_write_granted(fd, 1, &example, 1), 0);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), sizeof bytes);
    size_t size = strlen(bytes + BWL_FILE_HEAD_BYTES);
    for (size_t i = BWL_FILE_HEAD_BYTES + size; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 0);
    assert_true(bwl_file_read_record(fd, &record));
    assert_int_equal(record.fence, 1);
    (void)close(fd);
}

/* As in add_text: 127 characters at most for each text, 39 of the boot. */
static void test_file_record_the_longest_fits(void **state)
{
    char          text[BWL_FILE_RECORD_BYTES];
    char          long_text[128];
    bwl_file_self self;
    int           fd = open_in("file");

    memset(long_text, 'x', 127);
    long_text[127] = '\0';
    int size       = snprintf(text, sizeof text,
                              "uid=4294967295\npid=2147483647\nhost=%s\nprogram=%s\nboot=%.39s\n",
                              long_text, long_text, long_text);
    self           = (bwl_file_self){ .size = (size_t)size };
    memcpy(self.text, text, self.size);
    assert_int_equal(bwl_file_write_both(fd, BWL_FILE_TICKET_MAX, &self, INT64_MAX), 0);
    assert_false(bwl_file_read_record(fd, &record)); /* decoded, the texts are too long */
    (void)close(fd);
}

static void test_file_record_half_of_one_and_half_of_another_is_none(void **state)
{
    char a[BWL_FILE_BYTES];
    char b[BWL_FILE_BYTES];
    int  fd = open_in("file");

    assert_int_equal(bwl_file_write_both(fd, 1000, &example, 5), 0);
    assert_int_equal(pread(fd, a, sizeof a, 0), sizeof a);
    assert_int_equal(bwl_file_write_both(fd, 1001, &example, 5), 0);
    assert_int_equal(pread(fd, b, sizeof b, 0), sizeof b);
    for (size_t cut = BWL_FILE_HEAD_BYTES + 10; cut < BWL_FILE_HEAD_BYTES + 70; cut++) {
        char half[BWL_FILE_BYTES];
        memcpy(half, a, cut);
        memcpy(half + cut, b + cut, sizeof half - cut);
        put("half", half, sizeof half);
        int half_fd = open_in("half");
        assert_false(bwl_file_read_record(half_fd, &record));
        (void)close(half_fd);
    }
    (void)close(fd);
}

static bool is_record(const char *text)
{
    char bytes[BWL_FILE_BYTES] = { 0 };

    memcpy(bytes + BWL_FILE_HEAD_BYTES, text, strlen(text));
    put("file", bytes, sizeof bytes);
    int  fd    = open_in("file");
    bool found = bwl_file_read_record(fd, &record);
    (void)close(fd);
    return found;
}

static void expect_none(const char *text)
{
    if (is_record(text))
        fail_msg("taken for a record: %s", text);
}

#define RECORD(fence, uid, pid, host, program, boot, since, end)                                \
    "fence=" fence "\nuid=" uid "\npid=" pid "\nhost=" host "\nprogram=" program "\nboot=" boot \
    "\nsince=" since "\nend=" end "\n"

static void test_file_record_garbage_is_none(void **state)
{
    assert_true(is_record(RECORD("1", "1", "1", "h", "p", "b", "1", "1")));
    expect_none("");
    expect_none("garbage");
    expect_none("fence=1");
    expect_none("\n\n\n\n\n\n\n\n");
    expect_none(RECORD("0", "1", "1", "h", "p", "b", "1", "0"));
    expect_none(RECORD("", "1", "1", "h", "p", "b", "1", ""));
    expect_none(RECORD("1", "1", "1", "h", "p", "b", "1", "2"));
    expect_none(RECORD("01", "1", "1", "h", "p", "b", "1", "01"));
    expect_none(RECORD("-1", "1", "1", "h", "p", "b", "1", "-1"));
    expect_none(RECORD("4611686018427387904", "1", "1", "h", "p", "b", "1", "4611686018427387904"));
    expect_none(RECORD("1", "4294967296", "1", "h", "p", "b", "1", "1"));
    expect_none(RECORD("1", "1", "2147483648", "h", "p", "b", "1", "1"));
    expect_none(RECORD("1", "1", "1", "%zz", "p", "b", "1", "1"));
    expect_none(RECORD("1", "1", "1", "h", "%00", "b", "1", "1"));
    expect_none(RECORD("1", "1", "1", "h", "p", "b", "9223372036854775808", "1"));
    expect_none("uid=1\nfence=1\npid=1\nhost=h\nprogram=p\nboot=b\nsince=1\nend=1\n");
}

/* Every byte, changed in every bit: read or not, but nothing worse, and never with another ticket.
 * */
static void test_file_record_any_damage_is_survived(void **state)
{
    char bytes[BWL_FILE_BYTES];
    int  fd = open_in("file");

    assert_int_equal(bwl_file_write_both(fd, 1000, &example, 123456), 0);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), sizeof bytes);
    for (size_t i = BWL_FILE_HEAD_BYTES; i < 140; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            char was = bytes[i];
            bytes[i] = (char)(was ^ 1 << bit);
            assert_int_equal(pwrite(fd, bytes, sizeof bytes, 0), sizeof bytes);
            if (bwl_file_read_record(fd, &record))
                assert_int_equal(record.fence, 1000);
            bytes[i] = was;
        }
    }
    (void)close(fd);
}

/* ---- a file system without room -------------------------------------------------------------- */

/* Writes with room for so many bytes; returns the error. */
static int write_both_into(int fd, rlim_t bytes)
{
    struct rlimit before;
    struct rlimit less;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = (struct rlimit){ bytes, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    int error = bwl_file_write_both(fd, 4711, &example, 5);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    return error;
}

static void test_file_record_the_beginning_of_a_head_is_taken_back(void **state)
{
    bwl_file_head head;
    int           fd = open_in("file");

    for (rlim_t room = 1; room < 18; room++) {
        assert_int_equal(write_both_into(fd, room), EFBIG);
        assert_int_equal(head_of(fd, &head), 0);
        assert_int_equal(head.drawn, 0);
    }
    assert_int_equal(bwl_file_write_both(fd, 4712, &example, 5), 0);
    assert_int_equal(head_of(fd, &head), 0);
    assert_int_equal(head.granted, 4712);
    (void)close(fd);
}

static void test_file_record_is_written_in_pieces_and_though_signals_interrupt(void **state)
{
    static const int pieces[] = { -EINTR, 5, -EINTR, -EINTR, 100, 0 };
    bwl_file_head    head;
    int              fd = open_in("file");

    answers = pieces;
    assert_int_equal(bwl_file_write_both(fd, 4711, &example, 5), 0);
    assert_int_equal(*answers, 0);
    assert_int_equal(head_of(fd, &head), 0);
    assert_int_equal(head.granted, 4711);
    assert_true(bwl_file_read_record(fd, &record));
    assert_int_equal(record.fence, 4711);
    (void)close(fd);
}

/* It was there before: a part of another one has not made it worse. */
static void test_file_record_a_head_that_is_whole_is_not_taken_back(void **state)
{
    static const int pieces[] = { 2, -ENOSPC, 0 };
    bwl_file_head    head;
    int              fd = open_in("file");

    assert_int_equal(bwl_file_write_drawn(fd, 4711), 0);
    answers = pieces;
    assert_int_equal(bwl_file_write_drawn(fd, 4711), ENOSPC);
    assert_int_equal(*answers, 0);
    assert_int_equal(head_of(fd, &head), 0);
    assert_int_equal(head.drawn, 4711);
    (void)close(fd);
}

static void test_file_record_a_head_without_its_record_stays(void **state)
{
    bwl_file_head head;
    int           fd = open_in("file");

    assert_int_equal(write_both_into(fd, 100), EFBIG);
    assert_int_equal(head_of(fd, &head), 0);
    assert_int_equal(head.drawn, 4711);
    assert_false(bwl_file_read_record(fd, &record));
    (void)close(fd);
}

#define with_example(test) cmocka_unit_test_setup_teardown(test, set_up, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_example(test_file_record_a_new_file_has_drawn_and_granted_nothing),
        with_example(test_file_record_zeros_are_a_new_file),
        with_example(test_file_record_many_zeros_may_be_the_beginning_of_something),
        with_example(test_file_record_what_is_no_file_of_ours_is_told_apart),
        with_example(test_file_record_an_unreadable_file_says_why),
        with_example(test_file_record_the_next_ticket_grows_whatever_the_clock_does),
        with_example(test_file_record_numbers_that_nobody_can_have_drawn_end_it),
        with_example(test_file_record_drawing_leaves_what_was_granted),
        with_example(test_file_record_granting_leaves_what_was_drawn),
        with_example(test_file_record_the_format_is_what_the_header_says),
        with_example(test_file_record_comes_back_as_it_was_written),
        with_example(test_file_record_says_who_we_are),
        with_example(test_file_record_a_shorter_one_leaves_nothing_of_a_longer_one),
        with_example(test_file_record_the_longest_fits),
        with_example(test_file_record_half_of_one_and_half_of_another_is_none),
        with_example(test_file_record_garbage_is_none),
        with_example(test_file_record_any_damage_is_survived),
        with_example(test_file_record_the_beginning_of_a_head_is_taken_back),
        with_example(test_file_record_is_written_in_pieces_and_though_signals_interrupt),
        with_example(test_file_record_a_head_that_is_whole_is_not_taken_back),
        with_example(test_file_record_a_head_without_its_record_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
