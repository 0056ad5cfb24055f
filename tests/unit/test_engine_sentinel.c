/*
 * test_engine_sentinel.c -- which sentinel is asked, when the next one is, and what is heard.
 *
 * The sentinels are sockets that the test plays, line by line, in the same thread; the client is
 * one that never connects, for its reactor and its clock.
 */
#include "engine/sentinel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define HELLO     "%1\r\n+server\r\n+redis\r\n>3\r\n+subscribe\r\n++switch-master\r\n:1\r\n"
#define AT(port)  "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n" port "\r\n"
#define GREETING  "HELLO|3|SUBSCRIBE|+switch-master|"
#define QUESTION  "SENTINEL|GET-MASTER-ADDR-BY-NAME|m|"
#define SWITCH(s) ">3\r\n+message\r\n++switch-master\r\n+" s "\r\n"

enum { SENTINELS = 3 };

static bwl_client   *client;
static bwl_sentinel *sentinel;
static bwl_url_host  hosts[SENTINELS];
static int           listeners[SENTINELS];
static int           lines[SENTINELS]; /* our end of the connection to it; -1 */
static bwl_primary   primary;
static bwl_fault     failure;
static unsigned      found, failed;
static void (*then)(void); /* inside of heard */

static void heard(bwl_client *c, const bwl_primary *p, const bwl_fault *fault)
{
    assert_ptr_equal(c, client);
    if (p != NULL) {
        primary = *p;
        found++;
    } else {
        failure = *fault;
        failed++;
    }
    if (then != NULL)
        then();
}

static void stirred(bwl_client *c)
{
    assert_ptr_equal(c, client);
}

/* ---- the sentinels --------------------------------------------------------------------------- */

static void listen_as(unsigned i)
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;

    at.sin_port  = htons(hosts[i].port); /* 0 at first: a free one */
    listeners[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(setsockopt(listeners[i], SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)),
                     0);
    assert_int_equal(bind(listeners[i], (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listeners[i], 4), 0);
    assert_int_equal(getsockname(listeners[i], (struct sockaddr *)&at, &size), 0);
    hosts[i] = (bwl_url_host){ .name = "127.0.0.1", .port = ntohs(at.sin_port) };
}

static void vanish(unsigned i)
{
    (void)close(listeners[i]);
    listeners[i] = -1;
}

static void turn(void)
{
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 2, NULL), BWL_OK);
}

static bool is_called(unsigned i)
{
    lines[i] = accept4(listeners[i], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return lines[i] >= 0;
}

static void says(unsigned i, const char *text)
{
    assert_int_equal(send(lines[i], text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    turn();
}

static void hangs_up(unsigned i)
{
    (void)close(lines[i]);
    lines[i] = -1;
    turn();
}

/* The words that have come, each with a '|' behind it. */
static void expect(unsigned i, const char *wanted)
{
    char    bytes[2048];
    char    words[2048] = "";
    ssize_t size        = recv(lines[i], bytes, sizeof bytes - 1, 0);

    bytes[size > 0 ? size : 0] = '\0';
    for (char *line = strtok(bytes, "\r\n"); line != NULL; line = strtok(NULL, "\r\n"))
        if (line[0] != '*' && line[0] != '$') {
            strcat(words, line);
            strcat(words, "|");
        }
    assert_string_equal(words, wanted);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void make(bwl_sentinel_plan plan)
{
    plan.hosts       = hosts;
    plan.hosts_count = SENTINELS;
    plan.service     = "m";
    plan.heard       = heard;
    plan.stirred     = stirred;
    assert_int_equal(bwl_sentinel_new(&sentinel, client, &plan, NULL), BWL_OK);
}

static int begin(void **state)
{
    static const bwl_settings settings = { .answer_ms = 300 };
    bwl_fault                 fault;

    (void)state;
    found = failed = 0;
    then           = NULL;
    for (unsigned i = 0; i < SENTINELS; i++) {
        hosts[i] = (bwl_url_host){ .port = 0 };
        listen_as(i);
        lines[i] = -1;
    }
    if (bwl_client_open(&client, &settings, false, "redis://127.0.0.1:1", &fault) < 0)
        return -1;
    bwl_client_lock(client);
    make((bwl_sentinel_plan){ .user = NULL });
    return 0;
}

static int end(void **state)
{
    (void)state;
    bwl_sentinel_free(sentinel);
    bwl_client_unlock(client);
    bwl_client_close(client);
    for (unsigned i = 0; i < SENTINELS; i++) {
        (void)close(listeners[i]);
        (void)close(lines[i]);
    }
    return 0;
}

/* Until what it waits for by time has come. */
static void await_its_time(void)
{
    bwl_ms at = bwl_sentinel_waits_until(sentinel);

    assert_true(at != BWL_NEVER);
    while (bwl_client_now(client) < at)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    bwl_sentinel_woken(sentinel);
    turn();
}

/* The first one has answered, and is listened to. */
static void watch_first(void)
{
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, HELLO AT("6379"));
    assert_int_equal(found, 1);
    expect(0, GREETING QUESTION);
}

/* ---- a round --------------------------------------------------------------------------------- */

static void test_first_that_answers_is_believed(void **state)
{
    (void)state;
    watch_first();
    assert_string_equal(primary.host, "127.0.0.1");
    assert_int_equal(primary.port, 6379);
    assert_int_equal(bwl_sentinel_waits_until(sentinel), BWL_NEVER);
    assert_false(is_called(1));
    assert_false(is_called(2));
}

static void test_answer_may_come_byte_by_byte(void **state)
{
    static const char all[] = HELLO AT("6379");

    (void)state;
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    for (size_t i = 0; all[i] != '\0'; i++) {
        assert_int_equal(found, 0);
        assert_int_equal(send(lines[0], &all[i], 1, MSG_NOSIGNAL), 1);
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 2, NULL), BWL_OK);
    }
    turn();
    assert_int_equal(found, 1);
}

static void test_next_is_asked_when_one_is_away(void **state)
{
    (void)state;
    vanish(0);
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(1));
    says(1, HELLO AT("6379"));
    assert_int_equal(found, 1);
}

static void test_next_is_asked_when_one_is_silent(void **state)
{
    (void)state;
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    assert_false(is_called(1));
    await_its_time();
    assert_true(is_called(1));
    says(1, HELLO AT("6379"));
    assert_int_equal(found, 1);
}

static void test_next_is_asked_when_one_hangs_up(void **state)
{
    (void)state;
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    hangs_up(0);
    assert_true(is_called(1));
}

static void test_round_ends_when_nobody_is_there(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SENTINELS; i++)
        vanish(i);
    bwl_sentinel_seek(sentinel);
    turn();
    assert_int_equal(found, 0);
    assert_int_equal(failed, 1);
    assert_int_equal(failure.status, BWL_STATUS_UNREACHABLE);
    assert_non_null(strstr(failure.text, "sentinel 127.0.0.1:"));
}

static void test_silence_of_all_is_told_once(void **state)
{
    (void)state;
    bwl_sentinel_seek(sentinel);
    bwl_sentinel_seek(sentinel);
    for (unsigned i = 0; i < SENTINELS; i++) {
        turn();
        assert_true(is_called(i));
        assert_int_equal(failed, 0);
        await_its_time();
    }
    assert_int_equal(failed, 1);
    assert_int_equal(failure.status, BWL_STATUS_UNREACHABLE);
}

/* ---- what they say --------------------------------------------------------------------------- */

static void each_says(const char *text)
{
    bwl_sentinel_seek(sentinel);
    for (unsigned i = 0; i < SENTINELS; i++) {
        turn();
        assert_true(is_called(i));
        says(i, text);
    }
    assert_int_equal(failed, 1);
    assert_int_equal(failure.status, BWL_STATUS_REFUSED);
}

static void test_unknown_service_is_a_refusal(void **state)
{
    (void)state;
    each_says(HELLO "_\r\n");
    assert_non_null(strstr(failure.text, "knows no service \"m\""));
}

static void test_one_that_does_not_know_it_does_not_decide(void **state)
{
    (void)state;
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, HELLO "_\r\n");
    assert_true(is_called(1));
    says(1, HELLO AT("6379"));
    assert_int_equal(found, 1);
    assert_int_equal(failed, 0);
}

static void test_refusal_outweighs_absence(void **state)
{
    (void)state;
    vanish(1);
    vanish(2);
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, HELLO "_\r\n");
    assert_int_equal(failure.status, BWL_STATUS_REFUSED);
}

static void test_ordinary_server_is_no_sentinel(void **state)
{
    (void)state;
    each_says(HELLO "-ERR unknown command 'SENTINEL'\r\n");
    assert_non_null(strstr(failure.text, "this is no sentinel"));
}

static void test_password_that_is_wanted_is_said(void **state)
{
    (void)state;
    each_says("-NOAUTH HELLO must be called with the client already authenticated\r\n");
    assert_non_null(strstr(failure.text, "sentinel-password-file="));
}

static void test_password_is_given_and_never_quoted(void **state)
{
    (void)state;
    bwl_sentinel_free(sentinel);
    make((bwl_sentinel_plan){ .user = "ann", .password = "hunter2" });
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    expect(0, "HELLO|3|AUTH|ann|hunter2|SUBSCRIBE|+switch-master|" QUESTION);
    says(0, "-ERR hunter2 is what you said\r\n");
    vanish(2);
    assert_true(is_called(1));
    says(1, "-WRONGPASS hunter2\r\n");
    assert_int_equal(failed, 1);
    assert_null(strstr(failure.text, "hunter2"));
}

static void test_garbage_is_a_reason_to_ask_the_next(void **state)
{
    static const char *const bad[] = { "HTTP/1.1 400 Bad Request\r\n\r\n", HELLO "+OK\r\n",
                                       HELLO "*2\r\n+a b\r\n+1\r\n" };

    (void)state;
    bwl_sentinel_seek(sentinel);
    for (unsigned i = 0; i < SENTINELS; i++) {
        turn();
        assert_true(is_called(i));
        says(i, bad[i]);
    }
    assert_int_equal(found, 0);
    assert_int_equal(failed, 1);
}

static void test_loading_is_for_now(void **state)
{
    (void)state;
    vanish(1);
    vanish(2);
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, "-LOADING it comes\r\n");
    assert_int_equal(failed, 1);
    assert_int_equal(failure.status, BWL_STATUS_UNREACHABLE);
}

/* ---- watching -------------------------------------------------------------------------------- */

static void test_switch_is_heard(void **state)
{
    (void)state;
    watch_first();
    says(0, SWITCH("m 127.0.0.1 6379 127.0.0.1 6380"));
    assert_int_equal(found, 2);
    assert_int_equal(primary.port, 6380);
    says(0, SWITCH("m 127.0.0.1 6379 127.0.0.1 6380") SWITCH("n 127.0.0.1 1 127.0.0.1 2"));
    assert_int_equal(found, 2); /* nothing new */
}

static void test_second_seek_asks_on_the_same_line(void **state)
{
    (void)state;
    watch_first();
    bwl_sentinel_seek(sentinel);
    turn();
    expect(0, QUESTION);
    says(0, AT("6379"));
    assert_int_equal(found, 2);
}

static void test_second_seek_goes_on_to_others(void **state)
{
    (void)state;
    watch_first();
    bwl_sentinel_seek(sentinel);
    turn();
    hangs_up(0);
    assert_true(is_called(1));
    says(1, HELLO AT("6380"));
    assert_int_equal(found, 2);
    assert_int_equal(primary.port, 6380);
}

/* What was said while nobody listened is asked for. */
static void test_broken_watch_is_taken_up_by_the_next(void **state)
{
    (void)state;
    watch_first();
    client->watches = true;
    hangs_up(0);
    assert_false(is_called(1)); /* a moment later */
    await_its_time();
    assert_true(is_called(1));
    says(1, HELLO AT("6379"));
    assert_int_equal(found, 1); /* nobody waits, and it is where it was */
    hangs_up(1);
    await_its_time();
    assert_true(is_called(2));
    says(2, HELLO AT("6380"));
    assert_int_equal(found, 2);
    assert_int_equal(primary.port, 6380);
}

static void test_broken_watch_is_let_be_when_nobody_wants_to_know(void **state)
{
    (void)state;
    watch_first();
    client->watches = false;
    hangs_up(0);
    await_its_time();
    assert_false(is_called(1));
    assert_int_equal(bwl_sentinel_waits_until(sentinel), BWL_NEVER);
}

static void test_word_without_a_question_ends_it(void **state)
{
    (void)state;
    watch_first();
    says(0, AT("6380"));
    assert_int_equal(found, 1);
    assert_int_equal(recv(lines[0], &(char){ 0 }, 1, 0), 0); /* hung up */
}

static void rest_now(void)
{
    bwl_sentinel_rest(sentinel);
}

static void test_rest_inside_of_what_is_heard(void **state)
{
    (void)state;
    then = rest_now;
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, HELLO AT("6379") SWITCH("m 127.0.0.1 6379 127.0.0.1 6380"));
    assert_int_equal(found, 1);
    assert_int_equal(bwl_sentinel_waits_until(sentinel), BWL_NEVER);
}

static void test_copy_asks_the_same(void **state)
{
    bwl_sentinel *copy;

    (void)state;
    assert_int_equal(bwl_sentinel_copy(&copy, client, sentinel), BWL_OK);
    bwl_sentinel_free(sentinel);
    sentinel = copy;
    assert_string_equal(bwl_sentinel_service(sentinel), "m");
    watch_first();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_first_that_answers_is_believed),
        CASE(test_answer_may_come_byte_by_byte),
        CASE(test_next_is_asked_when_one_is_away),
        CASE(test_next_is_asked_when_one_is_silent),
        CASE(test_next_is_asked_when_one_hangs_up),
        CASE(test_round_ends_when_nobody_is_there),
        CASE(test_silence_of_all_is_told_once),
        CASE(test_unknown_service_is_a_refusal),
        CASE(test_one_that_does_not_know_it_does_not_decide),
        CASE(test_refusal_outweighs_absence),
        CASE(test_ordinary_server_is_no_sentinel),
        CASE(test_password_that_is_wanted_is_said),
        CASE(test_password_is_given_and_never_quoted),
        CASE(test_garbage_is_a_reason_to_ask_the_next),
        CASE(test_loading_is_for_now),
        CASE(test_switch_is_heard),
        CASE(test_second_seek_asks_on_the_same_line),
        CASE(test_second_seek_goes_on_to_others),
        CASE(test_broken_watch_is_taken_up_by_the_next),
        CASE(test_broken_watch_is_let_be_when_nobody_wants_to_know),
        CASE(test_word_without_a_question_ends_it),
        CASE(test_rest_inside_of_what_is_heard),
        CASE(test_copy_asks_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
