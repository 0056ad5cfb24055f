/*
 * test_file_place.c -- which files a name stands for: bare names in the lock directory, paths where
 * they are.
 */
#include "core/text.h"
#include "engine/file/place.h"
#include "file_fixture.h"

static bwl_file_directory locks;
static bwl_file_place     place;
static bwl_file           queue;
static bwl_file           named;
static bwl_fault          fault;

static int set_up(void **state)
{
    (void)make_directory(state);
    assert_int_equal(bwl_file_directory_open(&locks, directory, &fault), BWL_OK);
    queue = (bwl_file){ .fd = -1 };
    named = (bwl_file){ .fd = -1 };
    return 0;
}

static void close_files(void)
{
    if (queue.fd >= 0)
        (void)close(queue.fd);
    if (named.fd >= 0)
        (void)close(named.fd);
    queue.fd = -1;
    named.fd = -1;
}

static int tear_down(void **state)
{
    close_files();
    bwl_file_place_free(&place);
    bwl_file_directory_close(&locks);
    (void)umask(022);
    return remove_directory(state);
}

static void be_at(const char *name)
{
    close_files();
    bwl_file_place_free(&place);
    assert_int_equal(bwl_file_place_init(&place, &locks, name, strlen(name), &fault), BWL_OK);
}

static int open_at(const char *name)
{
    be_at(name);
    return bwl_file_place_open(&place, &queue, &named, &fault);
}

static bool is_still(void)
{
    return bwl_file_place_is_still(&place, &queue, &named);
}

static void expect_refused(int status, const char *word)
{
    assert_int_equal(status, BWL_STATUS_REFUSED);
    if (strstr(fault.text, word) == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", fault.text, word);
    assert_int_equal(queue.fd, -1);
    assert_int_equal(named.fd, -1);
}

/* ---- the encoding ---------------------------------------------------------------------------- */

static char encoded[BWL_FILE_ENCODING_MAX];

static const char *encode(const char *name)
{
    bwl_file_encode(encoded, name, strlen(name));
    return encoded;
}

static void test_file_place_names_are_encoded_so(void **state)
{
    static const char *const pairs[][2] = {
        { "nightly", "nightly" },
        { "a/b", "a%2Fb" },
        { ".", "%2E" },
        { "..", "%2E." },
        { ".hidden", "%2Ehidden" },
        { "a.b", "a.b" },
        { "a+", "a%2B" },
        { "50%", "50%25" },
        { "a b", "a%20b" },
        { "x.bowline", "x.bowline" },
        { "A", "A" },
        { "\xc3\xa4", "%C3%A4" },
        { "~a_b-c", "~a_b-c" },
        { "...", "%2E.." },
    };

    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_string_equal(encode(pairs[i][0]), pairs[i][1]);
    char full[] = "%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%nnn";
    assert_string_equal(strchr(encode(full), '+'), "+/n");
    full[sizeof full - 2] = '\0';
    assert_int_equal(strlen(encode(full)), BWL_FILE_PIECE_MAX);
}

/* What no entry of a directory may be, and what would let two encodings meet. */
static void check_pieces(const char *path)
{
    for (const char *piece = path; piece != NULL;) {
        const char *slash = strchr(piece, '/');
        size_t      size  = slash != NULL ? (size_t)(slash - piece) : strlen(piece);
        assert_in_range(size, 1, BWL_FILE_LEAF_MAX);
        assert_int_not_equal(piece[0], '.');
        const char *plus = memchr(piece, '+', size);
        if (slash != NULL)
            assert_ptr_equal(plus, slash - 1);
        else
            assert_null(plus);
        piece = slash != NULL ? slash + 1 : NULL;
    }
}

/* There is a way back: so no two names have the same encoding. */
static void check_way_back(const char *name, size_t size)
{
    char   joined[BWL_FILE_ENCODING_MAX];
    char   decoded[BWL_NAME_MAX + 1];
    size_t length = 0;

    bwl_file_encode(encoded, name, size);
    check_pieces(encoded);
    for (const char *c = encoded; *c != '\0'; c++)
        if (*c != '+' && *c != '/')
            joined[length++] = *c;
    assert_true(bwl_percent_decode(decoded, sizeof decoded, joined, length));
    assert_int_equal(strlen(decoded), size);
    assert_memory_equal(decoded, name, size);
}

static void test_file_place_every_name_of_three_bytes_has_a_way_back(void **state)
{
    static const char bytes[] = "./+%~a2E0 \xff";

    for (unsigned i = 0; i < sizeof bytes - 1; i++)
        for (unsigned j = 0; j < sizeof bytes - 1; j++)
            for (unsigned k = 0; k < sizeof bytes - 1; k++) {
                char name[] = { bytes[i], bytes[j], bytes[k] };
                check_way_back(name, 1);
                check_way_back(name, 2);
                check_way_back(name, 3);
            }
}

/* Where long encodings are split there may stand a dot, or the middle of an escape. */
static void test_file_place_every_long_name_has_a_way_back(void **state)
{
    static const char bytes[] = "..../%+ \xff az";
    char              name[BWL_NAME_MAX];

    srandom(1);
    for (unsigned round = 0; round < 2000; round++) {
        size_t size = 60 + (size_t)random() % (BWL_NAME_MAX - 59);
        for (size_t i = 0; i < size; i++)
            name[i] = bytes[(size_t)random() % (sizeof bytes - 1)];
        check_way_back(name, size);
    }
    for (size_t plain = 0; plain <= BWL_NAME_MAX; plain++) {
        memset(name, '/', sizeof name);
        memset(name, '.', plain);
        check_way_back(name, sizeof name);
        memset(name, 'a', plain);
        memset(name + plain, '.', sizeof name - plain);
        check_way_back(name, sizeof name);
    }
}

/* ---- bare names ------------------------------------------------------------------------------ */

static void test_file_place_a_bare_name_is_one_file(void **state)
{
    assert_int_equal(open_at("jobs/nightly"), BWL_OK);
    assert_true(exists("jobs%2Fnightly"));
    assert_int_equal(named.fd, -1);
    assert_true(is_still());
    ino_t first = queue.inode;
    assert_int_equal(open_at("jobs/nightly"), BWL_OK);
    assert_int_equal(queue.inode, first);
    assert_int_equal(open_at("jobs/nightly "), BWL_OK);
    assert_int_not_equal(queue.inode, first);
}

static void test_file_place_a_long_name_is_a_file_in_directories(void **state)
{
    char name[BWL_NAME_MAX + 1];
    char piece[BWL_FILE_LEAF_MAX + 1];

    memset(name, ' ', BWL_NAME_MAX);
    name[BWL_NAME_MAX] = '\0';
    for (unsigned i = 0; i < 3; i++) /* made, found, found */
        assert_int_equal(open_at(name), BWL_OK);
    assert_true(is_still());
    assert_int_equal(fcntl(queue.fd, F_GETFD), FD_CLOEXEC);
    bwl_file_encode(encoded, name, BWL_NAME_MAX);
    assert_true(exists(encoded));
    memcpy(piece, encoded, strcspn(encoded, "/"));
    piece[strcspn(encoded, "/")] = '\0';
    assert_int_equal(mode_of(piece), 0700);
    unsigned before = count_descriptors();
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(open_at(name), BWL_OK);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(unlink(in(encoded)), 0);
    assert_false(is_still());
}

static void test_file_place_directories_of_long_names_are_as_shared_as_the_one_above(void **state)
{
    static const mode_t modes[] = { 0755, 02775, 01777 };
    char                name[BWL_NAME_MAX + 1];

    memset(name, ' ', BWL_NAME_MAX);
    name[BWL_NAME_MAX] = '\0';
    (void)umask(077);
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        name[0] = (char)('a' + i);
        assert_int_equal(chmod(directory, modes[i]), 0);
        bwl_file_directory_close(&locks);
        assert_int_equal(bwl_file_directory_open(&locks, directory, &fault), BWL_OK);
        assert_int_equal(open_at(name), BWL_OK);
        bwl_file_encode(encoded, name, BWL_NAME_MAX);
        *strchr(encoded, '/') = '\0';
        assert_int_equal(mode_of(encoded), modes[i]);
    }
}

static void test_file_place_no_link_is_followed_on_the_way_to_a_long_name(void **state)
{
    char name[BWL_NAME_MAX + 1];

    memset(name, ' ', BWL_NAME_MAX);
    name[BWL_NAME_MAX] = '\0';
    bwl_file_encode(encoded, name, BWL_NAME_MAX);
    *strchr(encoded, '/') = '\0';
    assert_int_equal(mkdir(in("elsewhere"), 0700), 0);
    assert_int_equal(symlink("elsewhere", in(encoded)), 0);
    expect_refused(open_at(name), "symbolic link");
}

static void test_file_place_notices_when_its_file_is_replaced(void **state)
{
    assert_int_equal(open_at("n"), BWL_OK);
    assert_int_equal(unlink(in("n")), 0);
    assert_false(is_still());
    put("n", "", 0);
    assert_false(is_still());

    assert_int_equal(open_at("n"), BWL_OK);
    assert_int_equal(rename(in("n"), in("m")), 0);
    assert_false(is_still());
    assert_int_equal(symlink("m", in("n")), 0); /* the same file, but by a link */
    assert_false(is_still());
}

static void test_file_place_to_peek_nothing_is_made(void **state)
{
    char name[BWL_NAME_MAX + 1];

    memset(name, ' ', BWL_NAME_MAX);
    name[BWL_NAME_MAX] = '\0';
    be_at("n");
    assert_int_equal(bwl_file_place_peek(&place, &queue, &named, &fault), BWL_OK);
    assert_int_equal(queue.fd, -1);
    be_at(name);
    assert_int_equal(bwl_file_place_peek(&place, &queue, &named, &fault), BWL_OK);
    assert_int_equal(queue.fd, -1);
    be_at(in("x"));
    assert_int_equal(bwl_file_place_peek(&place, &queue, &named, &fault), BWL_OK);
    assert_int_equal(queue.fd, -1);
    assert_int_equal(named.fd, -1);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(mkdir(directory, 0700), 0);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void test_file_place_these_names_are_paths(void **state)
{
    assert_true(bwl_file_is_path("/"));
    assert_true(bwl_file_is_path("/x"));
    assert_true(bwl_file_is_path("./x"));
    assert_true(bwl_file_is_path("./"));
    assert_true(bwl_file_is_path("../x"));
    assert_false(bwl_file_is_path("x"));
    assert_false(bwl_file_is_path("x/y"));
    assert_false(bwl_file_is_path("."));
    assert_false(bwl_file_is_path(".."));
    assert_false(bwl_file_is_path(".x"));
    assert_false(bwl_file_is_path("..x/y"));
    assert_false(bwl_file_is_path(".../x"));
    assert_false(bwl_file_is_path("~/x"));
}

static void test_file_place_a_path_is_that_file_and_one_beside_it(void **state)
{
    struct stat st;

    assert_int_equal(open_at(in("x")), BWL_OK);
    assert_int_equal(mode_of("x"), 0644);
    assert_int_equal(stat(in("x"), &st), 0);
    assert_int_equal(st.st_ino, named.inode);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(stat(in("x.bowline"), &st), 0);
    assert_int_equal(st.st_ino, queue.inode);
    assert_int_equal(fcntl(named.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(fcntl(named.fd, F_GETFD), FD_CLOEXEC);
    assert_true(is_still());
}

static void test_file_place_what_lies_beside_is_as_shared_as_its_directory(void **state)
{
    assert_int_equal(mkdir(in("s"), 0700), 0);
    assert_int_equal(chmod(in("s"), 01777), 0);
    assert_int_equal(open_at(in("s/x")), BWL_OK);
    assert_int_equal(mode_of("s/x.bowline"), 0666);
}

static void test_file_place_a_relative_path_stays_where_it_was_meant(void **state)
{
    char *before = getcwd(NULL, 0);

    assert_int_equal(mkdir(in("d"), 0700), 0);
    assert_int_equal(chdir(in("d")), 0);
    be_at(".//x");
    bwl_file_place other = place;
    place                = (bwl_file_place){ 0 };
    be_at("../y");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(bwl_file_place_open(&place, &queue, &named, &fault), BWL_OK);
    assert_true(exists("y"));
    assert_true(exists("y.bowline"));
    close_files();
    assert_int_equal(bwl_file_place_open(&other, &queue, &named, &fault), BWL_OK);
    assert_true(exists("d/x"));
    bwl_file_place_free(&other);
    assert_int_equal(chdir(before), 0);
    free(before);
}

static void test_file_place_by_whatever_link_it_is_one_queue(void **state)
{
    assert_int_equal(mkdir(in("d"), 0700), 0);
    put("d/x", "", 0);
    assert_int_equal(symlink("d/x", in("l")), 0);
    assert_int_equal(symlink("d", in("e")), 0);
    assert_int_equal(open_at(in("d/x")), BWL_OK);
    ino_t x = named.inode;
    ino_t q = queue.inode;
    assert_int_equal(open_at(in("l")), BWL_OK);
    assert_int_equal(named.inode, x);
    assert_int_equal(queue.inode, q);
    assert_true(is_still());
    assert_int_equal(open_at(in("e/../d//x")), BWL_OK);
    assert_int_equal(queue.inode, q);
    assert_false(exists("l.bowline"));
    assert_int_equal(unlink(in("l")), 0);
    assert_int_equal(symlink("none", in("l")), 0); /* dangling: what it points to is made */
    assert_int_equal(open_at(in("l")), BWL_OK);
    assert_true(exists("none.bowline"));
}

static void test_file_place_directories_and_read_only_files_can_be_locked(void **state)
{
    assert_int_equal(mkdir(in("d"), 0500), 0);
    assert_int_equal(open_at(in("d")), BWL_OK);
    assert_true(exists("d.bowline"));
    assert_true(is_still());
    ino_t q = queue.inode;
    assert_int_equal(open_at(in("d/")), BWL_OK);
    assert_int_equal(queue.inode, q);
    assert_int_equal(open_at(in("d/.")), BWL_OK);
    assert_int_equal(queue.inode, q);
    put("r", "r", 1);
    assert_int_equal(chmod(in("r"), 0400), 0);
    assert_int_equal(open_at(in("r")), BWL_OK);
    assert_int_equal(chmod(in("d"), 0700), 0);
}

static void test_file_place_a_fifo_is_not_waited_for(void **state)
{
    assert_int_equal(mkfifo(in("f"), 0600), 0);
    assert_int_equal(open_at(in("f")), BWL_OK);
    assert_true(is_still());
    close_files();
    assert_int_equal(bwl_file_place_peek(&place, &queue, &named, &fault), BWL_OK);
    assert_int_equal(open(in("f"), O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1); /* nobody reads it */
    assert_int_equal(errno, ENXIO);
}

static void test_file_place_two_names_of_one_file_would_be_two_queues(void **state)
{
    put("x", "", 0);
    assert_int_equal(link(in("x"), in("y")), 0);
    expect_refused(open_at(in("y")), "hard links");
    expect_refused(open_at(in("x")), "hard links");
}

static void test_file_place_what_lies_beside_is_not_trusted(void **state)
{
    put("target", "precious", 8);
    assert_int_equal(symlink("target", in("x.bowline")), 0);
    unsigned before = count_descriptors();
    expect_refused(open_at(in("x")), "symbolic link");
    assert_int_equal(unlink(in("x.bowline")), 0);
    assert_int_equal(link(in("target"), in("x.bowline")), 0);
    expect_refused(open_at(in("x")), "hard links");
    assert_int_equal(count_descriptors(), before);
}

static void test_file_place_notices_when_either_file_is_replaced(void **state)
{
    assert_int_equal(open_at(in("x")), BWL_OK);
    assert_int_equal(unlink(in("x.bowline")), 0);
    assert_false(is_still());
    assert_int_equal(open_at(in("x")), BWL_OK);
    assert_true(is_still());
    assert_int_equal(unlink(in("x")), 0);
    assert_false(is_still());
    put("x", "", 0);
    assert_false(is_still());
    assert_int_equal(open_at(in("x")), BWL_OK);
    assert_int_equal(rename(in("x.bowline"), in("y")), 0);
    assert_int_equal(symlink("y", in("x.bowline")), 0);
    assert_false(is_still());
}

static int open_as_nobody(void *arg)
{
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return 1;
    if (bwl_file_place_open(&place, &queue, &named, &fault) != BWL_STATUS_REFUSED)
        return 2;
    return strstr(fault.text, "permission denied") != NULL && strstr(fault.text, arg) != NULL ? 0
                                                                                              : 3;
}

static void test_file_place_says_which_file_may_not_be_made(void **state)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(directory, 0755), 0);
    be_at(in("x"));
    assert_int_equal(in_child(open_as_nobody, "/x "), 0);
    put("x", "", 0);
    assert_int_equal(chmod(in("x"), 0644), 0);
    assert_int_equal(in_child(open_as_nobody, "/x.bowline, where its queue is kept,"), 0);
    assert_int_equal(chmod(in("x"), 0600), 0);
    assert_int_equal(in_child(open_as_nobody, "/x "), 0);
}

static void test_file_place_a_path_through_a_file_is_an_error(void **state)
{
    put("x", "", 0);
    assert_int_equal(open_at(in("x/y")), BWL_STATUS_SYSTEM);
    assert_int_equal(open_at(in("none/y")), BWL_STATUS_SYSTEM);
    assert_non_null(strstr(fault.text, "none/y"));
}

#define with_locks(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_place_names_are_encoded_so),
        cmocka_unit_test(test_file_place_every_name_of_three_bytes_has_a_way_back),
        cmocka_unit_test(test_file_place_every_long_name_has_a_way_back),
        with_locks(test_file_place_a_bare_name_is_one_file),
        with_locks(test_file_place_a_long_name_is_a_file_in_directories),
        with_locks(test_file_place_directories_of_long_names_are_as_shared_as_the_one_above),
        with_locks(test_file_place_no_link_is_followed_on_the_way_to_a_long_name),
        with_locks(test_file_place_notices_when_its_file_is_replaced),
        with_locks(test_file_place_to_peek_nothing_is_made),
        cmocka_unit_test(test_file_place_these_names_are_paths),
        with_locks(test_file_place_a_path_is_that_file_and_one_beside_it),
        with_locks(test_file_place_what_lies_beside_is_as_shared_as_its_directory),
        with_locks(test_file_place_a_relative_path_stays_where_it_was_meant),
        with_locks(test_file_place_by_whatever_link_it_is_one_queue),
        with_locks(test_file_place_directories_and_read_only_files_can_be_locked),
        with_locks(test_file_place_a_fifo_is_not_waited_for),
        with_locks(test_file_place_two_names_of_one_file_would_be_two_queues),
        with_locks(test_file_place_what_lies_beside_is_not_trusted),
        with_locks(test_file_place_notices_when_either_file_is_replaced),
        with_locks(test_file_place_says_which_file_may_not_be_made),
        with_locks(test_file_place_a_path_through_a_file_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
