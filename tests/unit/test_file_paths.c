/*
 * test_file_paths.c -- the file of a lock name that is a path, and whose symbolic links are
 * followed on the way.
 */
#include "file_rows.h"
#include "tests/lib/suite.h"

#include <limits.h>

/* ---- where a path leads ---------------------------------------------------------------------- */

TEST(paths_name_these_files)
{
    static const row rows[] = {
        { "d d;f d/x", "@/d/x", .made = "d/x.bowline" },
        { "d d", "@/./d//x", .made = "d/x.bowline" },
        { "d d", "@/d/../d/./x", .made = "d/x.bowline" },
        { "d d 500", "@/d", .made = "d.bowline" },
        { "d d", "@/d/", .made = "d.bowline" },
        { "d d", "@/d/.", .made = "d.bowline" },
        { "d d;d d/e", "@/d/e/..", .made = "d.bowline" },
        { "d d;d d/e", "@/d/e/", .made = "d/e.bowline" },
        { "f r 400", "@/r", .made = "r.bowline" },
        { "p p", "@/p", .made = "p.bowline" },
        { "d d 1777;d t;f t/x;l d/l ../t/x", "@/d/l", .made = "t/x.bowline",
          .missing = "d/l.bowline" },
        { "d d;d t;l d/l @/t", "@/d/l/x", .made = "t/x.bowline" },
        { "d d;d t;l d/l @/t", "@/d/l/", .made = "t.bowline" },
        { "d d;d t;l d/l @/t;l d/m l/none;l d/k m", "@/d/l/../d/k", .made = "t/none.bowline" },
        { "f x", "@/x/y", .text = "Not a directory" },
        { "f x;l l x", "@/l/y", .text = "Not a directory" },
        { NULL, "@/none/y", .text = "none/y: No such file" },
        { "l loop loop", "@/loop", .text = "ymbolic link" }, /* musl has other words than glibc */
    };

    PLAY(rows);
}

/* In a directory where other users can make links, their links are not followed anywhere. */
#define REFUSED_LINK(where) .text = where " is a symbolic link of user 65534", .shown = true

TEST(links_of_others_are_not_followed)
{
    static const row rows[] = {
        { "d d 1777;d t;l d/l @/t/x;o d/l 65534", "@/d/l", REFUSED_LINK("/d/l"), .missing = "t/x" },
        { "d d 777;d t;f t/x;l d/l @/t/x;o d/l 65534", "@/d/l", REFUSED_LINK("/d/l"),
          .missing = "t/x.bowline" },
        { "d d 775;d t;l d/l @/t;o d/l 65534", "@/d/l/x", REFUSED_LINK("/d/l"), .missing = "t/x" },
        { "d d 1755;d t;l d/l @/t;o d/l 65534", "@/d/l/", REFUSED_LINK("/d/l"),
          .missing = "t.bowline" },
        { "d d 3775;d t;l d/l @/t/x;o d/l 65534", "@/t/../d/l", REFUSED_LINK("/d/l"),
          .missing = "t/x" },
        { "d d 757;d t;l d/l @/t;o d/l 65534", "@/d/l/x", REFUSED_LINK("/d/l") },
        { "d d 755;d t;l d/l @/t/x;o d/l 65534", "@/d/l", .made = "t/x.bowline" },
        { "d d 2755;d t;l d/l @/t;o d/l 65534", "@/d/l/x", .made = "t/x.bowline" },
        { "d d 1777;l d/a b;l d/b @/x;o d/b 65534", "@/d/a", REFUSED_LINK("/d/b") },
        { "d d 1777;l d/x.bowline ../y;o d/x.bowline 65534", "@/d/x", .text = "symbolic link",
          .missing = "y" },
    };

    PLAY(rows);
}

TEST(links_of_the_owner_of_root_and_of_the_process_are_followed)
{
    static const row rows[] = {
        { "d d 1777;o d 65534;l d/l x;o d/l 65534", "@/d/l", .made = "d/x.bowline" },
        { "d d 1777;o d 65534;l d/l x;o d/l 1", "@/d/l", .text = "of user 1," },
        { "m . 755;d d 1777;o d 65534;l d/l x", "@/d/l", .uid = 1, .made = "d/x.bowline" },
        { "m . 755;d d 1777;o d 65534;l d/l x;o d/l 65534", "@/d/l", .uid = 1,
          .made = "d/x.bowline" },
        { "m . 755;d d 1777;o d 65534;l d/l x;o d/l 1", "@/d/l", .uid = 1, .made = "d/x.bowline" },
        /* below a directory that another user made in a shared one: only links of root and of the
         * process are followed */
        { "m . 1777;d d 755;d d/e 755;l d/e/l x;o d 65534;o d/e 65534;o d/e/l 65534", "@/d/e/l",
          REFUSED_LINK("/e/l") },
        { "m . 1777;d d 755;d d/e 755;l d/l e;o d 65534;o d/e 65534;o d/l 65534", "@/d/l/x",
          REFUSED_LINK("/d/l") },
        { "m . 1777;d d 755;d d/e 755;l d/e/l x;o d 65534;o d/e 65534;o d/e/l 65534",
          "@/d/e/../e/l", REFUSED_LINK("/e/l") },
        { "m . 1777;d d 755;l d/l x;o d 65534", "@/d/l", .made = "d/x.bowline" },
        { "m . 755;d d 755;d d/e 755;l d/e/l x;o d 65534;o d/e 65534;o d/e/l 65534", "@/d/e/l",
          .made = "d/e/x.bowline" },
        /* the lock directory */
        { "m . 1777;d t;d t/d;l l t", NULL, .place = "l/d", .made = "t/d/n" },
        { "m . 1777;d t;d t/d;l l t;o l 65534", NULL, .place = "l/d", REFUSED_LINK("/l") },
    };

    PLAY(rows);
}

FIXTURE(begin, end)

TEST_OF(link_of_another_user_is_not_the_file_that_is_locked, &path)
{
    needs_root();
    (void)takes(0);
    waits(1);
    do_steps("m . 1777");
    assert_int_equal(rename(in("x"), in("y")), 0);
    do_steps("l x y;o x 65534");
    leave(0);
    expect_refused(run_user(1), "is a symbolic link of user 65534");
}

/* As many links as the kernel follows, and no more. */
TEST_OF(forty_links_are_followed, &path)
{
    char step[32];

    do_steps("f 0");
    for (unsigned i = 1; i <= 41; i++) {
        (void)snprintf(step, sizeof step, "l %u %u", i, i - 1);
        do_step(step);
    }
    (void)snprintf(lock_name, sizeof lock_name, "%s", in("40"));
    assert_int_equal(once(0), BOWLINE_OK);
    assert_true(exists("0.bowline"));
    (void)snprintf(lock_name, sizeof lock_name, "%s", in("41"));
    assert_int_equal(once(0), BOWLINE_REFUSED);
    assert_int_equal(open(in("41"), O_RDONLY | O_CLOEXEC), -1);
}

/* A link and the rest of the path together are as long as a path may be, or longer; likewise an
 * entry. */
TEST_OF(path_that_a_link_makes_too_long_is_an_error, &path)
{
    char target[PATH_MAX];

    memset(target, '/', 4000);
    target[4000] = '\0';
    assert_int_equal(symlink(target, in("l")), 0);
    (void)snprintf(lock_name, sizeof lock_name, "%s/%0150d", in("l"), 0);
    assert_int_equal(once(0), BOWLINE_REFUSED);
    memset(target, 'x', 300);
    target[300] = '\0';
    assert_int_equal(symlink(target, in("k")), 0);
    (void)snprintf(lock_name, sizeof lock_name, "%s", in("k"));
    assert_int_equal(once(0), BOWLINE_REFUSED);
}

static void replace_d(void)
{
    assert_int_equal(rename(in("d"), in("moved")), 0);
    do_steps("d d");
}

/* Its entry is not that of the directory at the end of the path. */
TEST_OF(directory_that_is_moved_during_the_walk_is_missing, &path)
{
    do_steps("d d");
    (void)snprintf(lock_name, sizeof lock_name, "%s", in("d/."));
    disturbance = (struct disturbance){ .of = LOOK_UP, .before = replace_d };
    assert_int_equal(once(0), BOWLINE_REFUSED);
    assert_null(disturbance.before);
    assert_int_equal(once(0), BOWLINE_OK);
}

TEST_OF(relative_path_starts_in_the_directory_of_the_call, &path)
{
    (void)snprintf(lock_name, sizeof lock_name, "./x");
    assert_int_equal(chdir(directory), 0);
    (void)takes(0);
    waits(1);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(unlink(in("x")), 0);
    leave(0);
    (void)gets(1);
    assert_true(exists("x"));
}
