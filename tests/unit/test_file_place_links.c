/*
 * test_file_place_links.c -- a name that is a path, where other users have put symbolic links: what
 * they lead to is neither made nor locked.
 *
 * Links of another user can be made by root alone: else these tests are skipped.
 */
#include "engine/file/place.h"
#include "file_fixture.h"

static bwl_file_place place;
static bwl_file       queue;
static bwl_file       named;
static bwl_fault      fault;

/* A shared directory "d", and "t", which is not. */
static int set_up(void **state)
{
    (void)make_directory(state);
    queue = (bwl_file){ .fd = -1 };
    named = (bwl_file){ .fd = -1 };
    assert_int_equal(mkdir(in("d"), 0700), 0);
    assert_int_equal(chmod(in("d"), 01777), 0);
    assert_int_equal(mkdir(in("t"), 0700), 0);
    put("t/x", "", 0);
    return 0;
}

static int tear_down(void **state)
{
    if (queue.fd >= 0)
        (void)close(queue.fd);
    if (named.fd >= 0)
        (void)close(named.fd);
    bwl_file_place_free(&place);
    return remove_directory(state);
}

static void be_at(const char *path)
{
    bwl_file_place_free(&place);
    assert_int_equal(bwl_file_place_init(&place, NULL, path, strlen(path), &fault), BWL_OK);
}

static int open_at(const char *path)
{
    be_at(path);
    return bwl_file_place_open(&place, &queue, &named, &fault);
}

static int peek_at(const char *path)
{
    be_at(path);
    return bwl_file_place_peek(&place, &queue, &named, &fault);
}

static void make_link_of_nobody(const char *to, const char *leaf)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(symlink(to, in(leaf)), 0);
    assert_int_equal(lchown(in(leaf), NOBODY, NOBODY), 0);
}

static void expect_refused(int status, const char *word)
{
    assert_int_equal(status, BWL_STATUS_REFUSED);
    if (strstr(fault.text, word) == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", fault.text, word);
    assert_int_equal(queue.fd, -1);
    assert_int_equal(named.fd, -1);
}

static void test_file_place_links_of_others_make_nothing(void **state)
{
    make_link_of_nobody(in("t/created"), "d/dangling");
    unsigned before = count_descriptors();
    expect_refused(open_at(in("d/dangling")), "d/dangling is a symbolic link of user 65534");
    expect_refused(peek_at(in("d/dangling")), "d/dangling is a symbolic link of user 65534");
    assert_int_equal(count_descriptors(), before);
    assert_false(exists("t/created"));
    assert_false(exists("t/created.bowline"));
}

static void test_file_place_links_of_others_lock_nothing(void **state)
{
    make_link_of_nobody(in("t/x"), "d/there");
    expect_refused(open_at(in("d/there")), "d/there is a symbolic link of user 65534");
    expect_refused(peek_at(in("d/there")), "d/there is a symbolic link of user 65534");
    assert_false(exists("t/x.bowline"));
}

static void test_file_place_links_of_others_on_the_way_are_not_followed(void **state)
{
    make_link_of_nobody(in("t"), "d/middle");
    expect_refused(open_at(in("d/middle/y")), "d/middle is a symbolic link of user 65534");
    expect_refused(open_at(in("d/middle/")), "d/middle is a symbolic link of user 65534");
    expect_refused(peek_at(in("d/middle/x")), "d/middle is a symbolic link of user 65534");
    assert_false(exists("t/y"));
    assert_false(exists("t.bowline"));
}

static void test_file_place_links_of_others_do_not_name_our_file(void **state)
{
    assert_int_equal(open_at(in("d/x")), BWL_OK);
    assert_true(bwl_file_place_is_still(&place, &queue, &named));
    assert_int_equal(rename(in("d/x"), in("y")), 0);
    make_link_of_nobody("../y", "d/x");
    assert_false(bwl_file_place_is_still(&place, &queue, &named));
}

static void test_file_place_links_instead_of_the_file_beside_are_refused(void **state)
{
    make_link_of_nobody(in("created"), "d/x.bowline");
    expect_refused(open_at(in("d/x")), "symbolic link");
    assert_false(exists("created"));
}

static void test_file_place_links_of_our_own_make_what_they_lead_to(void **state)
{
    assert_int_equal(symlink(in("t/created"), in("d/ours")), 0);
    assert_int_equal(open_at(in("d/ours")), BWL_OK);
    assert_true(exists("t/created"));
    assert_true(exists("t/created.bowline"));
    assert_true(bwl_file_place_is_still(&place, &queue, &named));
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_file_place_links_of_others_make_nothing),
        test(test_file_place_links_of_others_lock_nothing),
        test(test_file_place_links_of_others_on_the_way_are_not_followed),
        test(test_file_place_links_of_others_do_not_name_our_file),
        test(test_file_place_links_instead_of_the_file_beside_are_refused),
        test(test_file_place_links_of_our_own_make_what_they_lead_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
