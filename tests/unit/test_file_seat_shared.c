/*
 * test_file_seat_shared.c -- in a directory that users share, a lock file can be removed by whoever
 * made it.  The lock is not split by that.
 */
#include "engine/file/who.h"
#include "api/engines.h"
#include "runtime/lock.h"
#include "seat_fixture.h"

static int shared_seats(void **state, const char *name)
{
    (void)make_directory(state);
    assert_int_equal(chmod(directory, 01777), 0);
    bwl_settings asked = { 0 };
    char         url[PATH_SIZE];

    (void)snprintf(url, sizeof url, "file:%s", directory);
    assert_int_equal(bwl_shard_open(&client, bwl_engines, &asked, false, url, &fault), BWL_OK);
    bwl_shard_lock(client);
    make_seats(name);
    return 0;
}

static int shared_seats_of_a_name(void **state)
{
    return shared_seats(state, "n");
}

/* The directory is made by shared_seats: a path in it is known only then. */
static int shared_seats_of_a_path(void **state)
{
    (void)shared_seats_of_a_name(state);
    for (unsigned i = 0; i < SEATS; i++)
        bwl_lock_drop_handle(locks[i]);
    make_seats(in("x"));
    return 0;
}

static void remove_files(void)
{
    static const char *const leaves[] = { "n", "x", "x.bowline" };

    for (unsigned i = 0; i < sizeof leaves / sizeof leaves[0]; i++)
        (void)unlink(in(leaves[i]));
}

static void waits_for_a_mark(unsigned i)
{
    assert_int_equal(join(i, WAITS), BWL_NO);
    assert_int_equal(number, LOCAL_WILL_NOT); /* a mark that goes is told to nobody */
}

/* Whether flock(1) would get the lock file. */
static bool is_flocked(const bwl_file_seat *s)
{
    const bwl_file *file = s->named.fd >= 0 ? &s->named : &s->queue;
    char            path[32];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    int  fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = flock(fd, LOCK_EX | LOCK_NB) != 0;
    (void)close(fd);
    return is;
}

static void test_file_seat_shared_lock_is_held_though_its_file_was_removed(void **state)
{
    (void)takes(0);
    remove_files();
    assert_int_equal(join(1, ONCE), BWL_NO);
    waits_for_a_mark(1);
    gets_not(1);
    assert_int_equal(number, LOCAL_WILL_NOT);
    assert_false(is_flocked(seats[1])); /* who waits keeps nothing */
    leave(0);
    (void)gets(1);
    assert_true(is_flocked(seats[1]));
    assert_int_equal(join(2, ONCE), BWL_NO);
    leave(1);
    (void)takes(2);
}

static void test_file_seat_shared_file_that_was_removed_is_of_nobody_who_waited(void **state)
{
    (void)takes(0);
    waits(1);
    remove_files();
    leave(0);
    assert_int_equal(try(1), BWL_LATER); /* it was given a file without a name */
    (void)takes(2);
    assert_int_equal(join(1, ONCE), BWL_NO);
}

static void test_file_seat_shared_descriptors_are_closed(void **state)
{
    unsigned before = count_descriptors();

    (void)takes(0);
    assert_true(seats[0]->marked);
    assert_int_equal(join(1, ONCE), BWL_NO);
    remove_files();
    assert_int_equal(join(1, ONCE), BWL_NO);
    leave(0);
    assert_int_equal(count_descriptors(), before);
    assert_false(seats[0]->marked);
}

static void test_file_seat_shared_hold_survives_in_a_copy_of_its_descriptors(void **state)
{
    int fds[2];

    (void)takes(0);
    int count = client->host.engine->fds(locks[0], fds);
    assert_int_equal(count, 2);
    for (int i = 0; i < count; i++)
        fds[i] = dup(fds[i]);
    bwl_file_mark_close(&seats[0]->place.mark); /* as if we were killed */
    (void)close(seats[0]->queue.fd);
    seats[0]->queue   = (bwl_file){ .fd = -1 };
    seats[0]->queued  = false;
    seats[0]->flocked = false;
    seats[0]->marked  = false;
    assert_int_equal(join(1, ONCE), BWL_NO);
    remove_files();
    assert_int_equal(join(1, ONCE), BWL_NO);
    for (int i = 0; i < count; i++)
        assert_int_equal(close(fds[i]), 0);
    (void)takes(1);
}

/* As a child of a fork has, which has not closed them yet. */
static void test_file_seat_shared_release_ends_it_in_copies_too(void **state)
{
    (void)takes(0);
    int copy = dup(seats[0]->place.mark.fd);
    assert_true(copy >= 0);
    leave(0);
    (void)takes(1);
    assert_int_equal(close(copy), 0);
}

static void test_file_seat_shared_holder_is_seen_though_its_file_was_removed(void **state)
{
    bwl_holder holder;

    assert_int_equal(client->host.engine->who(locks[3], &holder, &fault), BWL_OK);
    assert_false(holder.held);
    (void)takes(0);
    assert_int_equal(client->host.engine->who(locks[3], &holder, &fault), BWL_OK);
    assert_string_equal(holder.note, "");
    remove_files();
    assert_int_equal(client->host.engine->who(locks[3], &holder, &fault), BWL_OK);
    assert_true(holder.held);
    assert_int_equal(holder.left_ms, BWL_NEVER);
    assert_non_null(strstr(holder.note, "removed"));
    leave(0);
    assert_int_equal(client->host.engine->who(locks[3], &holder, &fault), BWL_OK);
    assert_false(holder.held);
}

/* ---- two users ------------------------------------------------------------------------------- */

static char shared_url[PATH_SIZE];

static bool become_nobody(void)
{
    return setegid(NOBODY) == 0 && seteuid(NOBODY) == 0;
}

/* Takes the name as another user, or says why not. */
static int take_as_nobody(void *arg)
{
    bwl_settings asked = { 0 };

    (void)arg;
    if (!become_nobody())
        return 100;
    if (bwl_shard_open(&client, bwl_engines, &asked, false, shared_url, &fault) != BWL_OK)
        return 101;
    bwl_shard_lock(client);
    make_seats("n");
    return (int)join(0, ONCE);
}

static void take_and_stay(void *arg)
{
    if (take_as_nobody(arg) != BWL_YES)
        _exit(1);
}

/* Nobody else may read or write what root makes with this umask, but for what is shared. */
static int two_users(void **state)
{
    (void)shared_seats_of_a_name(state);
    (void)snprintf(shared_url, sizeof shared_url, "file:%s", directory);
    (void)umask(077);
    return 0;
}

static void test_file_seat_shared_by_two_users_is_held_by_one(void **state)
{
    if (geteuid() != 0)
        skip();
    (void)takes(0); /* root makes the file */
    assert_int_equal(in_child(take_as_nobody, NULL), BWL_NO);
    leave(0);
    pid_t child = start_child(take_and_stay, NULL);
    assert_int_equal(join(1, ONCE), BWL_NO);
    end_child(child);
    (void)takes(1);
}

static void test_file_seat_shared_by_two_users_whoever_makes_the_file(void **state)
{
    struct stat st;

    if (geteuid() != 0)
        skip();
    pid_t child = start_child(take_and_stay, NULL);
    assert_int_equal(stat(in("n"), &st), 0);
    assert_int_equal(st.st_uid, NOBODY);
    assert_int_equal(join(1, ONCE), BWL_NO);
    end_child(child);
    (void)takes(1);
    assert_int_equal(in_child(take_as_nobody, NULL), BWL_NO);
    leave(1);
    assert_int_equal(in_child(take_as_nobody, NULL), BWL_YES);
}

/* Nobody else can remove files there: what it costs is saved. */
static void test_file_seat_shared_with_nobody_has_no_mark(void **state)
{
    (void)takes(0);
    assert_int_equal(seats[0]->place.mark.fd, 0);
}

#define with_shared_name(test) \
    cmocka_unit_test_setup_teardown(test, shared_seats_of_a_name, leave_all)
#define with_shared_path(test) \
    cmocka_unit_test_setup_teardown(test, shared_seats_of_a_path, leave_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_shared_name(test_file_seat_shared_lock_is_held_though_its_file_was_removed),
        with_shared_path(test_file_seat_shared_lock_is_held_though_its_file_was_removed),
        with_shared_name(test_file_seat_shared_file_that_was_removed_is_of_nobody_who_waited),
        with_shared_path(test_file_seat_shared_file_that_was_removed_is_of_nobody_who_waited),
        with_shared_name(test_file_seat_shared_descriptors_are_closed),
        with_shared_path(test_file_seat_shared_descriptors_are_closed),
        with_shared_name(test_file_seat_shared_hold_survives_in_a_copy_of_its_descriptors),
        with_shared_name(test_file_seat_shared_release_ends_it_in_copies_too),
        with_shared_path(test_file_seat_shared_release_ends_it_in_copies_too),
        with_shared_name(test_file_seat_shared_holder_is_seen_though_its_file_was_removed),
        with_shared_path(test_file_seat_shared_holder_is_seen_though_its_file_was_removed),
        cmocka_unit_test_setup_teardown(test_file_seat_shared_by_two_users_is_held_by_one,
                                        two_users, leave_all),
        cmocka_unit_test_setup_teardown(test_file_seat_shared_by_two_users_whoever_makes_the_file,
                                        two_users, leave_all),
        with_name(test_file_seat_shared_with_nobody_has_no_mark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
