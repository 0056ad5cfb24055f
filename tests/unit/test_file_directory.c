/*
 * test_file_directory.c -- which lock directories are used, which are made, and which are refused
 * with what words.
 *
 * The directory of `file:` alone must lie in one of root's, so only root can play that.
 */
#include "engine/file/directory.h"
#include "file_fixture.h"

static bwl_file_directory opened;
static bwl_fault          fault;

static int set_up(void **state)
{
    opened = (bwl_file_directory){ .fd = -1 };
    fault  = (bwl_fault){ 0 };
    return make_directory(state);
}

static int tear_down(void **state)
{
    bwl_file_directory_close(&opened);
    (void)umask(022);
    return remove_directory(state);
}

static void expect_refused(int status, const char *word)
{
    assert_int_equal(status, BWL_STATUS_REFUSED);
    assert_int_equal(fault.status, BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, word));
    assert_int_equal(opened.fd, -1);
}

/* ---- a directory that was named -------------------------------------------------------------- */

static int open_named(const char *path)
{
    return bwl_file_directory_open(&opened, path, &fault);
}

static void test_file_directory_a_named_one_is_used_as_it_is(void **state)
{
    static const mode_t modes[] = { 0700, 0755, 0775, 02775, 01777, 03777 };

    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(mkdir(in("d"), 0700), 0);
        assert_int_equal(chmod(in("d"), modes[i]), 0);
        assert_int_equal(open_named(in("d")), BWL_OK);
        assert_false(opened.is_private);
        assert_false(opened.is_remote);
        assert_int_equal(opened.sharing.mode & 07777, modes[i]);
        assert_int_equal(mode_of("d"), modes[i]);
        bwl_file_directory_close(&opened);
        assert_int_equal(opened.fd, -1);
        assert_int_equal(rmdir(in("d")), 0);
    }
}

static void test_file_directory_a_named_one_must_exist(void **state)
{
    char type[PATH_SIZE];

    (void)snprintf(type, sizeof type, ".  Type: install -d -m 700 %s, or -m 1777 ", in("none"));
    expect_refused(open_named(in("none")), "does not exist");
    expect_refused(open_named(in("none")), type);
    assert_false(exists("none"));
}

static void test_file_directory_of_all_users_says_how_it_is_made(void **state)
{
    if (access("/run/lock/bowline", F_OK) == 0)
        skip();
    expect_refused(open_named("/run/lock/bowline"), "systemd-tmpfiles --create bowline.conf");
    expect_refused(open_named("/run/lock/bowline"), "install -d -m 1777 /run/lock/bowline");
}

static void test_file_directory_with_a_long_path_says_how_it_is_made(void **state)
{
    char long_name[128];

    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    expect_refused(open_named(in(long_name)), "Make it with mode 700, or 1777");
}

static void test_file_directory_a_file_is_none(void **state)
{
    put("f", "", 0);
    expect_refused(open_named(in("f")), "not a directory");
}

static void test_file_directory_a_link_to_one_is_none(void **state)
{
    char path[PATH_SIZE];

    assert_int_equal(mkdir(in("d"), 0700), 0);
    assert_int_equal(symlink("d", in("l")), 0);
    expect_refused(open_named(in("l")), "symbolic link");
    expect_refused(open_named(in("l")), "Name the directory that it leads to: readlink -f");
    (void)snprintf(path, sizeof path, "%s//", in("l"));
    expect_refused(open_named(path), "symbolic link");
}

static void test_file_directory_behind_a_link_of_others_is_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(directory, 01777), 0);
    assert_int_equal(mkdir(in("t"), 0700), 0);
    assert_int_equal(mkdir(in("t/d"), 0700), 0);
    assert_int_equal(symlink("t", in("l")), 0);
    assert_int_equal(open_named(in("l/d")), BWL_OK);
    bwl_file_directory_close(&opened);
    assert_int_equal(lchown(in("l"), NOBODY, NOBODY), 0);
    expect_refused(open_named(in("l/d")), "/l is a symbolic link of user 65534");
}

static void test_file_directory_where_strangers_can_replace_files_is_refused(void **state)
{
    assert_int_equal(mkdir(in("d"), 0700), 0);
    assert_int_equal(chmod(in("d"), 0777), 0);
    expect_refused(open_named(in("d")), "chmod +t");
    assert_int_equal(chmod(in("d"), 0702), 0);
    expect_refused(open_named(in("d")), "chmod +t");
}

static void test_file_directory_a_path_without_end_is_refused(void **state)
{
    char path[BWL_FILE_PATH_MAX + 1];

    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(open_named(path), BWL_STATUS_SYSTEM);
    assert_int_equal(opened.fd, -1);
}

static void test_file_directory_a_relative_path_is_meant_from_here(void **state)
{
    char *before = getcwd(NULL, 0);

    assert_int_equal(mkdir(in("d"), 0700), 0);
    assert_int_equal(chdir(directory), 0);
    assert_int_equal(open_named("d/"), BWL_OK);
    assert_string_equal(opened.path, in("d"));
    assert_int_equal(chdir(before), 0);
    bwl_file_directory_close(&opened);
    assert_int_equal(open_named(opened.path), BWL_OK); /* it may be opened anew by its own path */
    free(before);
}

static void test_file_directory_the_root_is_one(void **state)
{
    assert_int_equal(open_named("///"), BWL_OK);
    assert_string_equal(opened.path, "/");
}

static void test_file_directory_that_is_removed_is_gone(void **state)
{
    assert_int_equal(mkdir(in("d"), 0700), 0);
    assert_int_equal(open_named(in("d")), BWL_OK);
    assert_false(bwl_file_directory_is_gone(&opened));
    assert_int_equal(rmdir(in("d")), 0);
    assert_true(bwl_file_directory_is_gone(&opened));
}

static int open_without_standard_input(void *arg)
{
    (void)close(STDIN_FILENO);
    return open_named(arg) == BWL_OK && opened.fd > STDERR_FILENO ? 0 : 1;
}

static void test_file_directory_is_never_standard_input(void **state)
{
    assert_int_equal(in_child(open_without_standard_input, directory), 0);
}

static void test_file_directory_closes_on_exec(void **state)
{
    assert_int_equal(open_named(directory), BWL_OK);
    assert_int_equal(fcntl(opened.fd, F_GETFD), FD_CLOEXEC);
}

static void test_file_directory_this_disk_is_not_remote(void **state)
{
    int fd = open(directory, O_PATH | O_CLOEXEC);

    assert_false(bwl_file_is_remote(fd));
    (void)close(fd);
    assert_true(bwl_file_is_remote(-1)); /* what cannot be told is polled */
}

/* ---- the directory of `file:` alone ---------------------------------------------------------- */

static const char *own(void)
{
    static char leaf[32];

    (void)snprintf(leaf, sizeof leaf, "bowline-%u", geteuid());
    return leaf;
}

static int open_own(bool make)
{
    return bwl_file_directory_open_own(&opened, directory, make, &fault);
}

static void needs_root(void)
{
    if (geteuid() != 0)
        skip();
}

static void test_file_directory_our_own_is_made_for_us_alone(void **state)
{
    static const mode_t masks[] = { 0, 022, 077, 0777 };

    needs_root();
    for (unsigned i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        (void)umask(masks[i]);
        assert_int_equal(open_own(true), BWL_OK);
        assert_true(opened.is_private);
        assert_int_equal(mode_of(own()), 0700);
        assert_string_equal(opened.path, in(own()));
        bwl_file_directory_close(&opened);
        assert_int_equal(open_own(true), BWL_OK); /* and is there the next time */
        bwl_file_directory_close(&opened);
        assert_int_equal(rmdir(in(own())), 0);
    }
}

static void test_file_directory_to_look_nothing_is_made(void **state)
{
    assert_int_equal(open_own(false), BWL_OK);
    assert_int_equal(opened.fd, -1);
    assert_false(exists(own()));
}

static void test_file_directory_our_own_is_refused_if_others_may_enter(void **state)
{
    static const mode_t modes[] = { 0755, 0710, 0701, 0770, 01777 };

    needs_root();
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(mkdir(in(own()), 0700), 0);
        assert_int_equal(chmod(in(own()), modes[i]), 0);
        expect_refused(open_own(true), "chmod 700");
        assert_int_equal(rmdir(in(own())), 0);
    }
}

static void test_file_directory_our_own_is_refused_if_another_made_it(void **state)
{
    needs_root();
    assert_int_equal(mkdir(in(own()), 0700), 0);
    assert_int_equal(chown(in(own()), NOBODY, NOBODY), 0);
    expect_refused(open_own(true), "belongs to user 65534");
}

static void test_file_directory_our_own_is_refused_if_it_is_a_link(void **state)
{
    needs_root();
    assert_int_equal(mkdir(in("d"), 0700), 0);
    assert_int_equal(symlink("d", in(own())), 0);
    expect_refused(open_own(true), "not a directory");
    assert_int_equal(unlink(in(own())), 0);
    put(own(), "", 0);
    expect_refused(open_own(true), "not a directory");
}

static void test_file_directory_the_one_above_must_keep_ours_in_its_place(void **state)
{
    needs_root();
    assert_int_equal(chmod(directory, 0777), 0);
    expect_refused(open_own(true), "mode 0777");
    assert_int_equal(chmod(directory, 0775), 0);
    expect_refused(open_own(true), "mode 0775");
    assert_int_equal(chmod(directory, 01777), 0);
    assert_int_equal(open_own(true), BWL_OK);
    bwl_file_directory_close(&opened);
    assert_int_equal(chown(directory, NOBODY, NOBODY), 0);
    expect_refused(open_own(true), "owner 65534");
}

static void test_file_directory_the_one_above_must_exist(void **state)
{
    int status = bwl_file_directory_open_own(&opened, "/nonexistent/bowline-test", true, &fault);

    expect_refused(status, "/nonexistent/bowline-test");
}

/* The words are a command that root can copy. */
static int open_own_as_nobody(void *arg)
{
    (void)arg;
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return 1;
    return open_own(true) == BWL_STATUS_REFUSED &&
                   strstr(fault.text, "install -d -m 700 -o 65534") != NULL
               ? 0
               : 2;
}

static void test_file_directory_that_cannot_be_made_says_what_to_type(void **state)
{
    needs_root();
    assert_int_equal(chmod(directory, 0755), 0);
    assert_int_equal(in_child(open_own_as_nobody, NULL), 0);
}

#define with_directory_of(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_directory_of(test_file_directory_a_named_one_is_used_as_it_is),
        with_directory_of(test_file_directory_of_all_users_says_how_it_is_made),
        with_directory_of(test_file_directory_with_a_long_path_says_how_it_is_made),
        with_directory_of(test_file_directory_a_named_one_must_exist),
        with_directory_of(test_file_directory_a_file_is_none),
        with_directory_of(test_file_directory_a_link_to_one_is_none),
        with_directory_of(test_file_directory_behind_a_link_of_others_is_refused),
        with_directory_of(test_file_directory_where_strangers_can_replace_files_is_refused),
        with_directory_of(test_file_directory_a_path_without_end_is_refused),
        with_directory_of(test_file_directory_a_relative_path_is_meant_from_here),
        with_directory_of(test_file_directory_the_root_is_one),
        with_directory_of(test_file_directory_that_is_removed_is_gone),
        with_directory_of(test_file_directory_is_never_standard_input),
        with_directory_of(test_file_directory_closes_on_exec),
        with_directory_of(test_file_directory_this_disk_is_not_remote),
        with_directory_of(test_file_directory_our_own_is_made_for_us_alone),
        with_directory_of(test_file_directory_to_look_nothing_is_made),
        with_directory_of(test_file_directory_our_own_is_refused_if_others_may_enter),
        with_directory_of(test_file_directory_our_own_is_refused_if_another_made_it),
        with_directory_of(test_file_directory_our_own_is_refused_if_it_is_a_link),
        with_directory_of(test_file_directory_the_one_above_must_keep_ours_in_its_place),
        with_directory_of(test_file_directory_the_one_above_must_exist),
        with_directory_of(test_file_directory_that_cannot_be_made_says_what_to_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
