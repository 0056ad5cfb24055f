/*
 * test_redis_who.c -- who we say that we are, when it is said again, and what others have said.
 */
#include "redis_fixture.h"

#include <sys/prctl.h>
#include <sys/wait.h>

static char text[4096];

static int play_queue(void **state)
{
    (void)play(state);
    close_client();
    open_client("lease=30s&timeout=5s&protocol=queue");
    memset(store->session, 'S', BWL_QUEUE_SESSION_SIZE);
    return 0;
}

/* The words of what is said, with bars between; the script by its name. */
static const char *introduction(void)
{
    char            bytes[BWL_QUEUE_GREETING_ROOM];
    bwl_resp_writer writer = { .bytes = bytes, .capacity = sizeof bytes };
    bwl_resp_value  value;
    size_t          size = 0;

    bwl_redis_introduce(store, &writer, "");
    assert_false(writer.overflowed);
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, writer.size);
    assert_true(bwl_resp_next(&cursor, &value));
    while (bwl_resp_next(&cursor, &value))
        size += (size_t)snprintf(
            text + size, sizeof text - size, "%.*s|",
            bwl_resp_text_is(&value, bwl_scripts[BWL_SCRIPT_QUEUE_FLOOR].text) ? 5
                                                                               : (int)value.size,
            bwl_resp_text_is(&value, bwl_scripts[BWL_SCRIPT_QUEUE_FLOOR].text) ? "FLOOR"
                                                                               : value.text);
    return text;
}

static void test_redis_who_says_user_process_host_and_program(void **state)
{
    char host[64];
    char wanted[400];

    (void)state;
    assert_int_equal(gethostname(host, sizeof host), 0);
    (void)snprintf(client->program, sizeof client->program, "nightly");
    (void)snprintf(wanted, sizeof wanted,
                   "EVAL|FLOOR|2|bowline:f|bowline:who:SSSSSSSSS|90000|uid|%u|pid|%d|"
                   "host|%s|program|nightly|",
                   (unsigned)geteuid(), (int)getpid(), host);
    assert_string_equal(introduction(), wanted);
}

static void test_redis_who_program_is_what_the_kernel_calls_it(void **state)
{
    char name[16];
    char wanted[40];

    /* Under valgrind it is valgrind's name: the kernel is asked here too, by its other door. */
    (void)state;
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    (void)snprintf(wanted, sizeof wanted, "|program|%s|", name);
    assert_non_null(strstr(introduction(), wanted));
}

/* A name may end on a terminal. */
static void test_redis_who_control_characters_are_not_said(void **state)
{
    (void)state;
    (void)snprintf(client->program, sizeof client->program, "a\033[31mb\n");
    assert_non_null(strstr(introduction(), "|program|a?[31mb?|"));
}

static void test_redis_who_is_said_again_after_a_while_if_there_is_a_connection(void **state)
{
    (void)state;
    (void)introduction();
    store->phase = BWL_REDIS_READY;
    assert_false(bwl_redis_is_to_introduce(store));
    store->introduced_at -= 20000;
    assert_true(bwl_redis_is_to_introduce(store));
    store->phase = BWL_REDIS_DOWN;
    assert_false(bwl_redis_is_to_introduce(store));
}

static void test_redis_who_is_what_the_session_says(void **state)
{
    bwl_holder     holder = { .held = true };
    bwl_redis_look look   = { .uid = 4711, .pid = 12, .host = "elsewhere\n", .program = "cron" };

    (void)state;
    bwl_redis_fill_in_who(&holder, &look);
    assert_int_equal(holder.pid, 12);
    assert_string_equal(holder.user, "4711"); /* whoever that is, there */
    assert_string_equal(holder.host, "elsewhere?");
    assert_string_equal(holder.program, "cron");
    holder = (bwl_holder){ .held = true };
    bwl_redis_fill_in_who(&holder, &(bwl_redis_look){ .host = "x" });
    assert_string_equal(holder.host, "");
}

/* It has the connection of its parent, and nothing to say on it. */
static void test_redis_who_is_not_taken_back_by_a_child(void **state)
{
    char byte;
    int  status;

    (void)state;
    store->phase = BWL_REDIS_READY;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    store->conn.stream.source.fd = ends[0];
    store->lingers               = true;
    bwl_client_unlock(client);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bwl_client_close(client);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    bwl_client_lock(client);
    assert_int_equal(status, 0);
    assert_int_equal(recv(ends[1], &byte, 1, 0), -1); /* nothing, and no end */
    store->phase                 = BWL_REDIS_DOWN;
    store->conn.stream.source.fd = -1;
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_redis_who_says_user_process_host_and_program,
                                        play_queue, play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_who_program_is_what_the_kernel_calls_it,
                                        play_queue, play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_who_control_characters_are_not_said, play_queue,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(
            test_redis_who_is_said_again_after_a_while_if_there_is_a_connection, play_queue,
            play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_who_is_what_the_session_says, play_queue,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_who_is_not_taken_back_by_a_child, play_queue,
                                        play_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
