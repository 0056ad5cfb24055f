/*
 * test_verbs_lease.c -- an extend that finds the lock lost, or is under way when the lock is
 * released.
 *
 * The server answers in a thread of its own: yes to every command, except what the test sets.
 */
#include "redis_fixture.h"

#include "api/handles.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

static bowline_client     *caller;
static bowline_error       error;
static pthread_t           thread;
static int                 server_fd; /* the server's end, for the thread alone */
static const char *_Atomic to_extend; /* what is answered; "": nothing          */
static const char *_Atomic to_delete;
static atomic_uint         heard_count; /* commands that were dealt with              */

static const char *answer_to(const char *command)
{
    if (strstr(command, "HELLO") != NULL)
        return HELLO INFO; /* which were asked for together */
    if (strstr(command, bwl_scripts[BWL_SCRIPT_EXTEND_IF_MINE].sha1) != NULL)
        return to_extend;
    if (strstr(command, bwl_scripts[BWL_SCRIPT_DELETE_IF_MINE].sha1) != NULL)
        return to_delete;
    return "+OK\r\n";
}

/* One command at a time is what these tests send. */
static void *serve(void *arg)
{
    char    command[2048];
    ssize_t size;

    (void)poll(&(struct pollfd){ .fd = listener, .events = POLLIN }, 1, 5000);
    server_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    while ((size = recv(server_fd, command, sizeof command - 1, 0)) > 0) {
        command[size]      = '\0';
        const char *answer = answer_to(command);
        if (send(server_fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
            break;
        atomic_fetch_add(&heard_count, 1);
    }
    close(server_fd);
    return arg;
}

static int open_caller(const char *options)
{
    char url[200];

    (void)snprintf(url, sizeof url, "unix://%s?protocol=token&%s", socket_path, options);
    return bowline_open(&caller, BOWLINE_OPTIONS(.url = url), &error);
}

static int serve_one(void **state)
{
    (void)state;
    to_extend = ":1\r\n";
    to_delete = ":1\r\n";
    error     = (bowline_error){ 0 };
    client    = NULL;
    server    = -1;
    (void)snprintf(directory, sizeof directory, "/tmp/bowline-verbs-XXXXXX");
    assert_non_null(mkdtemp(directory));
    (void)snprintf(socket_path, sizeof socket_path, "%s/s", directory);
    listen_again();
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
    return open_caller("lease=30s&timeout=300ms") == BOWLINE_OK ? 0 : -1;
}

static int serve_no_more(void **state)
{
    bowline_close(caller);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return play_is_over(state);
}

static bowline_hold *take(const char *name)
{
    bowline_hold *hold;

    assert_int_equal(bowline_acquire(&hold, caller, name, NULL, &error), BOWLINE_OK);
    return hold;
}

static void test_verbs_lease_that_is_gone_is_lost_to_who_extends(void **state)
{
    bowline_hold *hold = take("n");

    (void)state;
    to_extend = ":0\r\n";
    assert_int_equal(bowline_extend(hold, 0, &error), BOWLINE_LOST);
    assert_non_null(strstr(error.text, "n is not ours any more"));
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    assert_int_equal(bowline_extend(hold, 0, &error), BOWLINE_LOST);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_LOST);
    bwl_client_lock(caller->inner);
    assert_int_equal(caller->inner->locks_count, 0);
    bwl_client_unlock(caller->inner);
}

/* The extension has been told CANCELLED, and may be finished before or after the hold is gone. */
static void test_verbs_lease_is_given_back_although_an_extension_is_under_way(void **state)
{
    bowline_operation *op;

    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        bowline_hold *hold   = take(late ? "late" : "early");
        unsigned      before = atomic_load(&heard_count);
        to_extend            = "";
        assert_int_equal(bowline_extend_start(&op, hold, 60000, &error), BOWLINE_OK);
        while (atomic_load(&heard_count) == before)
            pass(1);
        to_extend = ":1\r\n";
        to_delete = ":1\r\n:1\r\n"; /* the answer to the extension comes late */
        if (late) {
            assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
            assert_int_equal(bowline_finish(op, &error), BOWLINE_CANCELLED);
        } else {
            bowline_operation *release;
            assert_int_equal(bowline_release_start(&release, hold, &error), BOWLINE_OK);
            assert_int_equal(bowline_finish(op, &error), BOWLINE_CANCELLED);
            assert_int_equal(bowline_finish(release, &error), BOWLINE_OK);
        }
        to_delete = ":1\r\n";
    }
    bwl_client_lock(caller->inner);
    assert_int_equal(caller->inner->locks_count, 0);
    bwl_client_unlock(caller->inner);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, serve_one, serve_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_verbs_lease_that_is_gone_is_lost_to_who_extends),
        CASE(test_verbs_lease_is_given_back_although_an_extension_is_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
