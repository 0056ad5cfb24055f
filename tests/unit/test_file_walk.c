/*
 * test_file_walk.c -- following a path: which entry it leads to, and whose links are obeyed.
 */
#include "engine/file/walk.h"
#include "file_fixture.h"

#include <sys/syscall.h>

/* In the C library's place: what others do just before the next entry is looked at. */
static void (*meanwhile)(void);

int fstatat(int at, const char *path, struct stat *ret_st, int flags)
{
    void (*now)(void) = meanwhile;

    meanwhile = NULL;
    if (now != NULL)
        now();
    return (int)syscall(SYS_newfstatat, at, path, ret_st, flags);
}

static bwl_file_way way;
static bwl_fault    fault;

static int set_up(void **state)
{
    way = (bwl_file_way){ .at = -1 };
    return make_directory(state);
}

static int tear_down(void **state)
{
    bwl_file_way_free(&way);
    return remove_directory(state);
}

static int follow(const char *path)
{
    bwl_file_way_free(&way);
    return bwl_file_walk(&way, path, true, &fault);
}

static void expect_way(const char *path, const char *leads_to)
{
    assert_int_equal(follow(path), BWL_OK);
    assert_string_equal(way.path, leads_to);
    assert_string_equal(way.leaf, strrchr(leads_to, '/') + 1);
}

static void expect_error(const char *path, int error)
{
    bwl_file_way_free(&way);
    unsigned before = count_descriptors();
    assert_int_equal(follow(path), BWL_STATUS_SYSTEM);
    assert_int_equal(errno, error);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(way.at, -1);
}

static void expect_refused(const char *path, const char *link)
{
    bwl_file_way_free(&way);
    unsigned before = count_descriptors();
    assert_int_equal(follow(path), BWL_STATUS_REFUSED);
    assert_int_equal(errno, ELOOP);
    assert_non_null(strstr(fault.text, link));
    assert_non_null(strstr(fault.text, "is a symbolic link of user"));
    assert_int_equal(count_descriptors(), before);
}

static void make(const char *leaf, mode_t mode)
{
    assert_int_equal(mkdir(in(leaf), 0700), 0);
    assert_int_equal(chmod(in(leaf), mode), 0);
}

static void make_link(const char *to, const char *leaf)
{
    assert_int_equal(symlink(to, in(leaf)), 0);
}

/* ---- where it leads -------------------------------------------------------------------------- */

static void test_file_walk_ends_at_the_last_entry(void **state)
{
    struct stat st;
    struct stat of;

    make("d", 0700);
    put("d/x", "", 0);
    expect_way(in("d/x"), in("d/x"));
    assert_int_equal(fstat(way.at, &st), 0);
    assert_int_equal(stat(in("d"), &of), 0);
    assert_int_equal(st.st_ino, of.st_ino);
    expect_way(in("d/none"), in("d/none"));
    expect_way(in("./d//x"), in("d/x"));
    expect_way(in("d/../d/./x"), in("d/x"));
}

static void test_file_walk_that_ends_in_a_directory_ends_above_it(void **state)
{
    make("d", 0700);
    make("d/e", 0700);
    expect_way(in("d"), in("d"));
    expect_way(in("d/"), in("d"));
    expect_way(in("d/."), in("d"));
    expect_way(in("d/e/.."), in("d"));
    assert_int_equal(faccessat(way.at, way.leaf, F_OK, 0), 0);
    expect_way("/", "/");
    assert_string_equal(bwl_file_way_entry(&way), ".");
    expect_way("/..", "/");
    expect_way(in("d/e/"), in("d/e"));
    assert_string_equal(bwl_file_way_entry(&way), "e");
}

static void test_file_walk_follows_links_of_our_own(void **state)
{
    make("d", 01777);
    make("t", 0700);
    put("t/x", "", 0);
    make_link("../t/x", "d/relative");
    make_link(in("t"), "d/absolute");
    make_link("absolute/none", "d/dangling");
    make_link("dangling", "d/twice");
    expect_way(in("d/relative"), in("t/x"));
    expect_way(in("d/absolute/x"), in("t/x"));
    expect_way(in("d/absolute/"), in("t"));
    expect_way(in("d/absolute/../d/twice"), in("t/none"));
    bwl_file_way_free(&way);
    assert_int_equal(bwl_file_walk(&way, in("d/absolute"), false, &fault), BWL_OK);
    assert_string_equal(way.path, in("d/absolute"));
    bwl_file_way_free(&way);
    assert_int_equal(bwl_file_walk(&way, in("d/absolute/x"), false, &fault), BWL_OK);
    assert_string_equal(way.path, in("t/x"));
}

static void test_file_walk_follows_forty_links_as_the_kernel_does(void **state)
{
    char to[8];
    char leaf[8];

    put("0", "", 0);
    for (unsigned i = 1; i <= 41; i++) {
        (void)snprintf(to, sizeof to, "%u", i - 1);
        (void)snprintf(leaf, sizeof leaf, "%u", i);
        make_link(to, leaf);
    }
    expect_way(in("40"), in("0"));
    expect_error(in("41"), ELOOP);
    assert_int_equal(open(in("41"), O_RDONLY | O_CLOEXEC), -1);
    assert_int_equal(errno, ELOOP);
}

static void test_file_walk_says_what_is_wrong_with_a_path(void **state)
{
    char long_name[400];
    char long_path[5000];

    put("x", "", 0);
    make_link("loop", "loop");
    make_link("x", "link");
    expect_error(in("x/y"), ENOTDIR);
    expect_error(in("link/y"), ENOTDIR);
    expect_error(in("none/y"), ENOENT);
    expect_error(in("loop"), ELOOP);
    assert_non_null(strstr(fault.text, "/loop"));
    (void)snprintf(long_name, sizeof long_name, "%s/%0300d", directory, 0);
    expect_error(long_name, ENAMETOOLONG);
    memset(long_path, '/', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    expect_error(long_path, ENAMETOOLONG);
}

/* A link and what follows it in the path are as long together as a path may be, or longer. */
static void test_file_walk_a_link_that_makes_the_path_too_long_is_an_error(void **state)
{
    char target[4000];
    char path[PATH_SIZE];

    memset(target, '/', sizeof target - 1);
    target[sizeof target - 1] = '\0';
    make_link(target, "long");
    expect_way(in("long"), "/");
    (void)snprintf(path, sizeof path, "%s/%0150d", in("long"), 0);
    expect_error(path, ENAMETOOLONG);
}

static void replace_d(void)
{
    assert_int_equal(rename(in("d"), in("moved")), 0);
    make("d", 0700);
}

static void remove_d(void)
{
    assert_int_equal(rmdir(in("d")), 0);
}

/* Its entry is not that of the directory where the path has ended. */
static void test_file_walk_a_directory_that_is_moved_meanwhile_is_not_there(void **state)
{
    make("d", 0700);
    meanwhile = replace_d;
    expect_error(in("d/"), ENOENT);
    assert_null(meanwhile);
    expect_way(in("d/"), in("d"));
    bwl_file_way_free(&way);
    meanwhile = remove_d;
    expect_error(in("d/."), ENOENT);
    assert_null(meanwhile);
}

static void test_file_walk_a_directory_is_shared_if_others_can_make_entries(void **state)
{
    assert_true(bwl_file_is_shared(01777));
    assert_true(bwl_file_is_shared(01755));
    assert_true(bwl_file_is_shared(0775));
    assert_true(bwl_file_is_shared(0757));
    assert_false(bwl_file_is_shared(0755));
    assert_false(bwl_file_is_shared(02755));
}

/* ---- whose links are followed ---------------------------------------------------------------- */

/* Links and directories of others can be made by root alone. */
static bool cannot_give_away(void)
{
    if (geteuid() != 0)
        skip();
    return geteuid() != 0;
}

static void give(const char *leaf, uid_t to)
{
    assert_int_equal(lchown(in(leaf), to, to), 0);
}

static int follow_as(void *arg)
{
    if (setegid(1) != 0 || seteuid(1) != 0)
        return 100;
    return -bwl_file_walk(&way, arg, true, &fault);
}

static int status_as_another(const char *path)
{
    return -in_child(follow_as, (void *)(uintptr_t)path);
}

static void test_file_walk_a_link_of_others_in_a_shared_directory_is_refused(void **state)
{
    static const mode_t shared[] = { 01777, 0777, 0775, 01755, 03775 };

    if (cannot_give_away())
        return;
    make("t", 0755);
    make("d", 0755);
    make_link(in("t/created"), "d/last");
    make_link(in("t"), "d/middle");
    give("d/last", NOBODY);
    give("d/middle", NOBODY);
    for (unsigned i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        assert_int_equal(chmod(in("d"), shared[i]), 0);
        expect_refused(in("d/last"), "/d/last ");
        expect_refused(in("d/middle/x"), "/d/middle ");
        expect_refused(in("d/middle/"), "/d/middle ");
        expect_refused(in("t/../d/last"), "/d/last ");
    }
    assert_int_equal(chmod(in("d"), 0755), 0); /* nobody else can put links there now */
    expect_way(in("d/last"), in("t/created"));
    expect_way(in("d/middle/x"), in("t/x"));
}

static void test_file_walk_a_link_to_a_link_of_others_is_refused(void **state)
{
    if (cannot_give_away())
        return;
    make("d", 01777);
    make_link("theirs", "d/ours");
    make_link("target", "d/theirs");
    give("d/theirs", NOBODY);
    expect_refused(in("d/ours"), "/d/theirs ");
}

static void
test_file_walk_links_of_root_and_of_the_owner_of_the_directory_are_followed(void **state)
{
    if (cannot_give_away())
        return;
    assert_int_equal(chmod(directory, 0755), 0);
    make("d", 01777);
    give("d", NOBODY);
    make_link("x", "d/by-owner");
    give("d/by-owner", NOBODY);
    make_link("x", "d/by-root");
    make_link("x", "d/by-caller");
    give("d/by-caller", 1);
    expect_way(in("d/by-owner"), in("d/x"));
    expect_way(in("d/by-root"), in("d/x"));
    expect_refused(in("d/by-caller"), "/d/by-caller ");
    assert_int_equal(status_as_another(in("d/by-owner")), BWL_OK);
    assert_int_equal(status_as_another(in("d/by-root")), BWL_OK);
    assert_int_equal(status_as_another(in("d/by-caller")), BWL_OK);
}

/* Root follows no link in what another user made in /tmp, whoever owns that directory. */
static void test_file_walk_links_in_a_directory_that_others_made_are_refused(void **state)
{
    if (cannot_give_away())
        return;
    assert_int_equal(chmod(directory, 01777), 0);
    make("theirs", 0755);
    make("theirs/deep", 0755);
    make_link("x", "theirs/deep/link");
    make_link("deep", "theirs/middle");
    make_link("x", "theirs/by-root");
    give("theirs", NOBODY);
    give("theirs/deep", NOBODY);
    give("theirs/deep/link", NOBODY);
    give("theirs/middle", NOBODY);
    expect_refused(in("theirs/deep/link"), "/deep/link ");
    expect_refused(in("theirs/middle/x"), "/theirs/middle ");
    expect_refused(in("theirs/deep/../deep/link"), "/deep/link ");
    expect_way(in("theirs/deep/x"), in("theirs/deep/x"));
    expect_way(in("theirs/by-root"), in("theirs/x"));
    assert_int_equal(chmod(directory, 0755), 0); /* then it was made on our behalf */
    expect_way(in("theirs/deep/link"), in("theirs/deep/x"));
}

static void test_file_walk_what_may_not_be_searched_is_permission_denied(void **state)
{
    if (cannot_give_away())
        return;
    assert_int_equal(chmod(directory, 0700), 0);
    assert_int_equal(status_as_another(in("d/x")), BWL_STATUS_REFUSED);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_file_walk_ends_at_the_last_entry),
        test(test_file_walk_that_ends_in_a_directory_ends_above_it),
        test(test_file_walk_follows_links_of_our_own),
        test(test_file_walk_follows_forty_links_as_the_kernel_does),
        test(test_file_walk_says_what_is_wrong_with_a_path),
        test(test_file_walk_a_link_that_makes_the_path_too_long_is_an_error),
        test(test_file_walk_a_directory_that_is_moved_meanwhile_is_not_there),
        test(test_file_walk_a_directory_is_shared_if_others_can_make_entries),
        test(test_file_walk_a_link_of_others_in_a_shared_directory_is_refused),
        test(test_file_walk_a_link_to_a_link_of_others_is_refused),
        test(test_file_walk_links_of_root_and_of_the_owner_of_the_directory_are_followed),
        test(test_file_walk_links_in_a_directory_that_others_made_are_refused),
        test(test_file_walk_what_may_not_be_searched_is_permission_denied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
