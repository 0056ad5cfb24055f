/*
 * test_file.c -- the engine file: as a whole: its URLs, its holds, its children.
 */
#include <bowline/bowline.h>

#include "file_fixture.h"

#include <pthread.h>

static bowline_client *client;
static bowline_error   error;
static char            url[128];

static int set_up(void **state)
{
    (void)make_directory(state);
    (void)snprintf(url, sizeof url, "file:%s", directory);
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error), BOWLINE_OK);
    return 0;
}

static int tear_down(void **state)
{
    bowline_close(client);
    return remove_directory(state);
}

static bowline_hold *must_acquire(bowline_client *c, const char *name, int64_t wait_ms)
{
    bowline_hold *hold;
    int status = bowline_acquire(&hold, c, name, BOWLINE_ACQUIRE(.wait_ms = wait_ms), &error);

    if (status != BOWLINE_OK)
        fail_msg("%s", error.text);
    return hold;
}

static int try_once(const char *name)
{
    bowline_hold *hold;
    int           status = bowline_acquire(&hold, client, name, NULL, &error);

    if (status == BOWLINE_OK)
        (void)bowline_release(hold, NULL);
    return status;
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static int open_url(const char *text)
{
    bowline_client *c;
    int             status = bowline_open(&c, BOWLINE_OPTIONS(.url = text), &error);

    if (status == BOWLINE_OK)
        bowline_close(c);
    return status;
}

static void test_file_urls_that_are_meant(void **state)
{
    char text[PATH_SIZE];

    assert_int_equal(open_url("file:"), BOWLINE_OK); /* its directory is made when it is needed */
    assert_int_equal(open_url("file:?wait=5s"), BOWLINE_OK);
    assert_int_equal(open_url(url), BOWLINE_OK);
    (void)snprintf(text, sizeof text, "file://%s/", directory);
    assert_int_equal(open_url(text), BOWLINE_OK);
    (void)snprintf(text, sizeof text, "file://%s?wait=forever&lease=5s&max-hold=1h", directory);
    assert_int_equal(open_url(text), BOWLINE_OK);
}

static void test_file_urls_that_are_mistakes(void **state)
{
    static const char *const texts[] = {
        "file://host/tmp", "file://tmp",      "file://user@/tmp", "file://:80/tmp",
        "file://",         "file:/tmp?key=x", "file:?wait=never",
    };

    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (open_url(texts[i]) != BOWLINE_USAGE)
            fail_msg("%s is not a mistake", texts[i]);
}

static void test_file_a_directory_that_cannot_be_trusted_is_refused(void **state)
{
    char text[PATH_SIZE];

    (void)snprintf(text, sizeof text, "%s/none", url);
    assert_int_equal(open_url(text), BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "does not exist"));
    assert_int_equal(chmod(directory, 0777), 0);
    assert_int_equal(open_url(url), BOWLINE_REFUSED);
}

/* ---- holds ----------------------------------------------------------------------------------- */

static void test_file_two_clients_take_turns(void **state)
{
    bowline_client *other;

    assert_int_equal(bowline_open(&other, BOWLINE_OPTIONS(.url = url), NULL), BOWLINE_OK);
    bowline_hold *hold  = must_acquire(other, "n", 0);
    uint64_t      fence = bowline_hold_fence(hold);
    assert_int_equal(try_once("n"), BOWLINE_BUSY);
    assert_non_null(strstr(error.text, "pid"));
    assert_int_equal(bowline_hold_left_ms(hold), INT64_MAX);
    assert_int_equal(bowline_extend(hold, 1000, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    hold = must_acquire(client, "n", 0);
    assert_true(bowline_hold_fence(hold) > fence);
    bowline_close(other);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

static void test_file_what_the_system_refuses_is_told(void **state)
{
    assert_int_equal(symlink("elsewhere", in("n")), 0);
    assert_int_equal(try_once("n"), BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "symbolic link"));
    assert_int_equal(try_once(in("none/x")), BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "none/x"));
}

static void test_file_closing_gives_back_and_leaves_the_queue(void **state)
{
    bowline_client *other;

    assert_int_equal(bowline_open(&other, BOWLINE_OPTIONS(.url = url), NULL), BOWLINE_OK);
    (void)must_acquire(other, "n", 0);
    bowline_hold *hold;
    assert_int_equal(bowline_acquire(&hold, client, "n", BOWLINE_ACQUIRE(.wait_ms = 20), &error),
                     BOWLINE_TIMEOUT);
    bowline_close(other);
    assert_int_equal(try_once("n"), BOWLINE_OK);
}

static void test_file_leaves_no_descriptor_behind(void **state)
{
    bowline_hold *hold;

    unsigned before = count_descriptors();
    (void)must_acquire(client, "n", 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(try_once("n"), BOWLINE_BUSY);
        assert_int_equal(bowline_acquire(&hold, client, "n", BOWLINE_ACQUIRE(.wait_ms = 5), &error),
                         BOWLINE_TIMEOUT);
    }
    bowline_close(client);
    assert_int_equal(count_descriptors(), before - 1); /* the directory */
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error), BOWLINE_OK);
}

static void test_file_who_is_asked_of_the_directory_that_is_not_there(void **state)
{
    bowline_client *ours;
    bowline_holder  holder = { .size = sizeof holder };

    assert_int_equal(bowline_open(&ours, NULL, NULL), BOWLINE_OK);
    assert_int_equal(bowline_who(ours, in("x"), &holder, &error), BOWLINE_OK);
    assert_int_equal(holder.held, 0);
    bowline_close(ours);
}

/* ---- children -------------------------------------------------------------------------------- */

static const int *passed_fds;
static int        passed_count;

static void keep_fds(void *arg)
{
    for (int fd = 3; fd < 256; fd++) {
        bool is_passed = fd == *(int *)arg;
        for (int i = 0; i < passed_count; i++)
            is_passed = is_passed || fd == passed_fds[i];
        if (!is_passed && fcntl(fd, F_GETFD) >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0)
            (void)close(fd); /* as exec does */
    }
}

static void expect_handed_over(const char *name, int count)
{
    int           fds[BOWLINE_HOLD_INHERIT_FDS_MAX];
    int           none = -1;
    bowline_hold *hold = must_acquire(client, name, 0);

    passed_count = bowline_hold_inherit_fds(hold, fds);
    passed_fds   = fds;
    assert_int_equal(passed_count, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
    pid_t child = start_child(keep_fds, &none);

    /* As if we had been killed: closed, not unlocked. */
    for (int i = 0; i < count; i++) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        assert_int_equal(dup3(null, fds[i], O_CLOEXEC), fds[i]);
        (void)close(null);
    }
    assert_int_equal(try_once(name), BOWLINE_BUSY);
    end_child(child);
    assert_int_equal(try_once(name), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

static void test_file_a_hold_of_a_name_survives_in_a_child(void **state)
{
    expect_handed_over("n", 1);
}

static void test_file_a_hold_of_a_path_survives_in_a_child(void **state)
{
    expect_handed_over(in("x"), 2);
}

static void test_file_release_ends_it_in_children_too(void **state)
{
    int           none = -1;
    bowline_hold *hold = must_acquire(client, "n", 0);
    passed_count       = 0;
    pid_t child        = start_child(keep_fds, &none);

    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    assert_int_equal(try_once("n"), BOWLINE_OK);
    end_child(child);
}

static int close_in_child(void *arg)
{
    if (bowline_release(arg, NULL) != BOWLINE_FORKED)
        return 1;
    bowline_close(client);
    return 0;
}

static void test_file_a_child_that_closes_the_client_unlocks_nothing(void **state)
{
    bowline_client *other;
    bowline_hold   *hold = must_acquire(client, "n", 0);

    assert_int_equal(bowline_open(&other, BOWLINE_OPTIONS(.url = url), NULL), BOWLINE_OK);
    assert_int_equal(in_child(close_in_child, hold), 0);
    bowline_hold *second;
    assert_int_equal(bowline_acquire(&second, other, "n", NULL, &error), BOWLINE_BUSY);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    second = must_acquire(other, "n", 0);
    bowline_close(other);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void *acquire_and_release(void *arg)
{
    bowline_hold *hold;

    for (unsigned i = 0; i < 200; i++) {
        if (bowline_acquire(&hold, client, arg, BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER),
                            NULL) != BOWLINE_OK ||
            bowline_release(hold, NULL) != BOWLINE_OK)
            return arg;
    }
    return NULL;
}

static void test_file_threads_of_one_client_take_turns(void **state)
{
    pthread_t threads[8];
    char      names[2][PATH_SIZE];
    void     *failed;

    (void)snprintf(names[0], PATH_SIZE, "n");
    (void)snprintf(names[1], PATH_SIZE, "%s", in("x"));
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, acquire_and_release, names[i % 2]), 0);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

#define with_client(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_client(test_file_urls_that_are_meant),
        with_client(test_file_urls_that_are_mistakes),
        with_client(test_file_a_directory_that_cannot_be_trusted_is_refused),
        with_client(test_file_two_clients_take_turns),
        with_client(test_file_what_the_system_refuses_is_told),
        with_client(test_file_closing_gives_back_and_leaves_the_queue),
        with_client(test_file_leaves_no_descriptor_behind),
        with_client(test_file_who_is_asked_of_the_directory_that_is_not_there),
        with_client(test_file_a_hold_of_a_name_survives_in_a_child),
        with_client(test_file_a_hold_of_a_path_survives_in_a_child),
        with_client(test_file_release_ends_it_in_children_too),
        with_client(test_file_a_child_that_closes_the_client_unlocks_nothing),
        with_client(test_file_threads_of_one_client_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
