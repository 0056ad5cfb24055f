/*
 * test_engine_sentinel.c -- which sentinel is asked, when the next one is, and what is heard.
 */
#include "sentinel_fixture.h"

#include <stdlib.h>

/* ---- a round --------------------------------------------------------------------------------- */

static void test_first_that_answers_is_believed(void **state)
{
    (void)state;
    watch_first();
    assert_string_equal(primary.host, "127.0.0.1");
    assert_int_equal(primary.port, 6379);
    assert_true(bwl_sentinel_waits_until(sentinel) != BWL_NEVER); /* to be asked again */
    assert_false(is_called(1));
    assert_false(is_called(2));
}

static void test_answer_may_come_byte_by_byte(void **state)
{
    static const char all[] = HELLO AT("6379");

    (void)state;
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(0));
    for (size_t i = 0; all[i] != '\0'; i++) {
        assert_int_equal(found, 0);
        assert_int_equal(send(lines[0], &all[i], 1, MSG_NOSIGNAL), 1);
        assert_int_equal(bwl_loop_run(&client->loop, bwl_shard_now(client) + 2, NULL), BWL_OK);
    }
    turn();
    assert_int_equal(found, 1);
}

static void test_next_is_asked_when_one_is_away(void **state)
{
    (void)state;
    vanish(0);
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(1));
    says(1, HELLO AT("6379"));
    assert_int_equal(found, 1);
}

static void test_next_is_asked_when_one_is_silent(void **state)
{
    (void)state;
    bwl_sentinel_discover(sentinel);
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
    bwl_sentinel_discover(sentinel);
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
    bwl_sentinel_discover(sentinel);
    turn();
    assert_int_equal(found, 0);
    assert_int_equal(failed, 1);
    assert_int_equal(failure.status, BWL_STATUS_UNREACHABLE);
    assert_non_null(strstr(failure.text, "sentinel 127.0.0.1:"));
}

static void test_silence_of_all_is_told_once(void **state)
{
    (void)state;
    bwl_sentinel_discover(sentinel);
    bwl_sentinel_discover(sentinel);
    for (unsigned i = 0; i < SENTINELS; i++) {
        turn();
        assert_true(is_called(i));
        assert_int_equal(failed, 0);
        await_its_time();
    }
    assert_int_equal(failed, 1);
    assert_int_equal(failure.status, BWL_STATUS_UNREACHABLE);
}

/* ---- a sentinel with two addresses ----------------------------------------------------------- */

static uint16_t swallows; /* the port of the first of them */

static void free_found(struct addrinfo *list)
{
    free(list->ai_next);
    free(list);
}

/* The first one swallows what it is sent; the second is that of the first sentinel. */
static int look_up(const char *host, const char *port, const struct addrinfo *hints,
                   struct addrinfo **ret_found)
{
    static struct sockaddr_in at[2];
    struct addrinfo          *list[2];

    (void)host;
    (void)port;
    if ((hints->ai_flags & AI_NUMERICHOST) != 0)
        return EAI_NONAME;
    for (unsigned i = 0; i < 2; i++) {
        at[i]                 = (struct sockaddr_in){ .sin_family = AF_INET };
        at[i].sin_port        = htons(i == 0 ? swallows : hosts[0].port);
        at[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        list[i]               = calloc(1, sizeof *list[i]);
        *list[i]              = (struct addrinfo){ .ai_family  = AF_INET,
                                                   .ai_addr    = (struct sockaddr *)&at[i],
                                                   .ai_addrlen = sizeof at[i] };
    }
    list[0]->ai_next = list[1];
    *ret_found       = list[0];
    return 0;
}

/* Its queue is full, and the kernel drops the rest. */
static int make_hole(int ret_fill[3])
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    for (int i = 0; i < 3; i++) {
        ret_fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(ret_fill[i], (struct sockaddr *)&at, size);
    }
    swallows = ntohs(at.sin_port);
    return fd;
}

/* As a host whose way by IPv6 leads nowhere. */
static void test_address_that_swallows_leaves_time_for_the_next(void **state)
{
    int fill[3];
    int hole = make_hole(fill);

    (void)state;
    vanish(1);
    vanish(2);
    bwl_sentinel_free(sentinel);
    hosts[0].name = "both";
    make((bwl_sentinel_plan){ .resolver = { look_up, free_found } });
    bwl_ms turn_ends = bwl_shard_now(client) + 30000 / SENTINELS;
    bwl_sentinel_discover(sentinel);
    while (bwl_sentinel_waits_until(sentinel) >= turn_ends && failed == 0) {
        turn();
        bwl_sentinel_woken(sentinel); /* the lookup, and then its first half */
    }
    await_its_time();
    assert_int_equal(failed, 0);
    assert_true(is_called(0));
    says(0, HELLO AT("6379"));
    assert_int_equal(found, 1);
    for (int i = 0; i < 3; i++)
        (void)close(fill[i]);
    (void)close(hole);
}

/* ---- what they say --------------------------------------------------------------------------- */

static void each_says(const char *text)
{
    bwl_sentinel_discover(sentinel);
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
    bwl_sentinel_discover(sentinel);
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
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, HELLO "_\r\n");
    assert_int_equal(failure.status, BWL_STATUS_REFUSED);
}

/* Somebody has mended it, or that one is away as well. */
static void test_refusal_of_a_former_round_is_over(void **state)
{
    (void)state;
    vanish(1);
    vanish(2);
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, HELLO "_\r\n");
    assert_int_equal(failure.status, BWL_STATUS_REFUSED);
    vanish(0);
    bwl_sentinel_discover(sentinel);
    turn();
    assert_int_equal(failed, 2);
    assert_int_equal(failure.status, BWL_STATUS_UNREACHABLE);
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
    bwl_sentinel_discover(sentinel);
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

static void test_name_of_a_user_may_be_long(void **state)
{
    char user[1901];
    char wanted[2048];

    (void)state;
    memset(user, 'u', sizeof user - 1);
    user[sizeof user - 1] = '\0';
    bwl_sentinel_free(sentinel);
    make((bwl_sentinel_plan){ .user = user, .password = "p" });
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(0));
    (void)snprintf(wanted, sizeof wanted, "HELLO|3|AUTH|%s|p|SUBSCRIBE|+switch-master|" QUESTION,
                   user);
    expect(0, wanted);
}

static void test_garbage_is_a_reason_to_ask_the_next(void **state)
{
    static const char *const bad[] = { "HTTP/1.1 400 Bad Request\r\n\r\n", HELLO "+OK\r\n",
                                       HELLO "*2\r\n+a b\r\n+1\r\n" };

    (void)state;
    bwl_sentinel_discover(sentinel);
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
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, "-LOADING it comes\r\n");
    assert_int_equal(failed, 1);
    assert_int_equal(failure.status, BWL_STATUS_UNREACHABLE);
}

/* ---- what was named is no good --------------------------------------------------------------- */

static bwl_ms soon(void)
{
    return bwl_shard_now(client) + 10000;
}

static void test_next_is_asked_when_one_is_doubted(void **state)
{
    (void)state;
    watch_first();
    assert_true(bwl_sentinel_try_next(sentinel, soon()));
    assert_int_equal(recv(lines[0], &(char){ 0 }, 1, 0), 0); /* hung up */
    turn();
    assert_true(is_called(1));
    says(1, HELLO AT("6380"));
    assert_int_equal(found, 2);
    assert_int_equal(primary.port, 6380);
    says(1, SWITCH("m 127.0.0.1 6380 127.0.0.1 6381"));
    assert_int_equal(found, 3); /* this one is listened to */
}

static void test_each_is_asked_once_however_often_one_is_doubted(void **state)
{
    (void)state;
    vanish(1);
    watch_first();
    assert_true(bwl_sentinel_try_next(sentinel, soon()));
    turn();
    assert_true(is_called(2));
    says(2, HELLO AT("6379"));
    assert_int_equal(found, 2);
    assert_false(bwl_sentinel_try_next(sentinel, soon()));
    assert_false(is_called(0));
    bwl_sentinel_discover(sentinel); /* anew */
    says(2, AT("6379"));
    assert_true(bwl_sentinel_try_next(sentinel, soon()));
    turn();
    assert_true(is_called(0));
}

static void test_doubt_ends_with_the_time(void **state)
{
    (void)state;
    watch_first();
    assert_false(bwl_sentinel_try_next(sentinel, bwl_shard_now(client)));
    turn();
    assert_false(is_called(1));
}

static void test_doubt_is_told_when_nobody_else_is_there(void **state)
{
    (void)state;
    vanish(1);
    vanish(2);
    watch_first();
    assert_true(bwl_sentinel_try_next(sentinel, soon()));
    turn();
    assert_int_equal(failed, 1);
    assert_int_equal(failure.status, BWL_STATUS_UNREACHABLE);
}

/* The one that has named it has gone since. */
static void test_doubt_of_one_that_is_gone(void **state)
{
    (void)state;
    watch_first();
    client->host.watches = true;
    hangs_up(0);
    assert_true(bwl_sentinel_try_next(sentinel, soon()));
    turn();
    assert_true(is_called(1));
    says(1, HELLO AT("6379"));
    assert_int_equal(found, 2);
}

/* Others are asked already, by ourselves. */
static void test_doubt_while_another_is_asked(void **state)
{
    (void)state;
    watch_first();
    client->host.watches = true;
    hangs_up(0);
    await_its_time();
    assert_true(is_called(1));
    assert_true(bwl_sentinel_try_next(sentinel, soon()));
    says(1, HELLO AT("6379"));
    assert_int_equal(found, 2); /* it is where it was, and somebody waits to know */
    assert_false(is_called(2));
}

static void doubt_first(void)
{
    if (found == 1)
        assert_true(bwl_sentinel_try_next(sentinel, soon()));
}

/* What comes behind is not for the next one: more words, or the end of the line. */
static void test_doubt_inside_of_what_is_heard(void **state)
{
    (void)state;
    then = doubt_first;
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(0));
    const char *text = HELLO AT("6379") SWITCH("m 127.0.0.1 6379 127.0.0.1 6381");
    assert_int_equal(send(lines[0], text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    hangs_up(0);
    assert_true(is_called(1));
    says(1, HELLO AT("6380"));
    assert_int_equal(found, 2);
    assert_int_equal(primary.port, 6380);
    assert_false(is_called(2));
}

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
        CASE(test_address_that_swallows_leaves_time_for_the_next),
        CASE(test_unknown_service_is_a_refusal),
        CASE(test_one_that_does_not_know_it_does_not_decide),
        CASE(test_refusal_outweighs_absence),
        CASE(test_refusal_of_a_former_round_is_over),
        CASE(test_ordinary_server_is_no_sentinel),
        CASE(test_password_that_is_wanted_is_said),
        CASE(test_password_is_given_and_never_quoted),
        CASE(test_name_of_a_user_may_be_long),
        CASE(test_garbage_is_a_reason_to_ask_the_next),
        CASE(test_loading_is_for_now),
        CASE(test_next_is_asked_when_one_is_doubted),
        CASE(test_each_is_asked_once_however_often_one_is_doubted),
        CASE(test_doubt_ends_with_the_time),
        CASE(test_doubt_is_told_when_nobody_else_is_there),
        CASE(test_doubt_of_one_that_is_gone),
        CASE(test_doubt_while_another_is_asked),
        CASE(test_doubt_inside_of_what_is_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
