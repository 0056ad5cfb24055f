/*
 * test_redis_reconnect.c -- what becomes of the locks that are held when the connection, or the
 * server, is another one than before.
 *
 * A server that keeps its data on the disk is killed and started again: the key of a lock is there,
 * and proves nothing, as nobody knows what was in between.  Leases here are so long that no renewal
 * comes: whatever a hold learns, it learns from the reconnect.
 */
#include "tests/lib/server.h"
#include "tests/lib/testing.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static server *redis;

static bowline_client *client_with(const char *options)
{
    char url[300];

    (void)snprintf(url, sizeof url, "%s?lease=1h%s", redis->tcp_url, options);
    return must_open(url);
}

static void kill_connections(void)
{
    server_hang_up(redis);
}

/* Within ten seconds, of a lease of an hour. */
static bool comes_to_be_lost(bowline_hold *hold)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(2))
        if (bowline_hold_left_ms(hold) == 0)
            return true;
    return false;
}

/* How often a command was carried out, of all connections; statistics are reset before. */
static long count_of(const char *command)
{
    char        mark[64];
    const char *info = server_ask(redis, "INFO commandstats");

    (void)snprintf(mark, sizeof mark, "cmdstat_%s:calls=", command);
    const char *at = strstr(info, mark);
    return at != NULL ? strtol(at + strlen(mark), NULL, 10) : 0;
}

static bool comes_to_count(const char *command, long count)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(2))
        if (count_of(command) >= count)
            return true;
    return false;
}

/* ---- the same server ------------------------------------------------------------------------- */

/* Nobody is inside a call: the keeper sees it. */
static void test_broken_connection_is_followed_and_the_lock_asked_for(void **state)
{
    (void)state;
    bowline_client *client = client_with("");
    bowline_hold   *hold   = must_acquire(client, "x");
    for (int i = 0; i < 5; i++) {
        (void)server_ask(redis, "CONFIG RESETSTAT");
        kill_connections();
        assert_true(comes_to_count("evalsha", 1));
        assert_int_equal(count_of("hello"), 1);
        assert_true(bowline_hold_left_ms(hold) > 3000000);
    }
    must_release(hold);
    bowline_close(client);
}

static void test_lock_that_is_gone_is_noticed_at_once(void **state)
{
    (void)state;
    bowline_client *client = client_with("");
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_hold   *kept   = must_acquire(client, "y");
    bowline_error   error  = { 0 };
    (void)server_ask(redis, "SET bowline:{x} of-somebody-else");
    kill_connections();
    assert_true(comes_to_be_lost(hold));
    assert_true(bowline_hold_left_ms(kept) > 0);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_non_null(strstr(error.text, "does not have it any more"));
    assert_string_equal(server_ask(redis, "GET bowline:{x}"), "of-somebody-else");
    (void)server_ask(redis, "DEL bowline:{x}");
    must_release(kept);
    bowline_close(client);
}

/* Also where nothing renews: it is asked for, and not extended. */
static void test_lock_without_renewal_is_asked_for_and_not_extended(void **state)
{
    (void)state;
    bowline_client *client = client_with("&renew=off");
    bowline_hold   *hold   = must_acquire(client, "x");
    assert_string_equal(server_ask(redis, "PEXPIRE bowline:{x} 3000000"), "1");
    int64_t left = bowline_hold_left_ms(hold);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    kill_connections();
    if (comes_to_count("evalsha", 1)) { /* where there is a keeper */
        assert_true(strtol(server_ask(redis, "PTTL bowline:{x}"), NULL, 10) <= 3000000);
        assert_true(bowline_hold_left_ms(hold) <= left);
    }
    must_release(hold);
    bowline_close(client);
}

/* ---- another process ------------------------------------------------------------------------- */

/* Who has read a moment ago how long it is his may trust that: nobody is let in before that time,
 * or before he gives it back. */
static void test_server_that_came_back_with_its_data_makes_everything_lost(void **state)
{
    (void)state;
    bowline_client *client = client_with("");
    bowline_client *other  = client_with("");
    bowline_hold   *holds[3];
    bowline_error   error    = { 0 };
    const char     *names[3] = { "x", "y", "z" };
    for (int i = 0; i < 3; i++)
        holds[i] = must_acquire(client, names[i]);
    server_restart(redis);
    for (int i = 0; i < 3; i++)
        assert_true(comes_to_be_lost(holds[i]));
    assert_status(BOWLINE_LOST, bowline_extend(holds[0], 0, &error), &error);
    assert_non_null(strstr(error.text, "was started again (it has another run_id)"));
    for (int i = 0; i < 3; i++)
        assert_status(BOWLINE_BUSY, try_once(other, names[i]), NULL);
    for (int i = 0; i < 3; i++)
        assert_status(BOWLINE_LOST, bowline_release(holds[i], &error), &error);
    assert_true(server_becomes_empty(redis)); /* what was still ours was taken back */
    assert_status(BOWLINE_OK, try_once(other, "x"), NULL);
    bowline_close(other);
    bowline_close(client);
}

static void test_lost_hold_is_taken_back_by_close_as_well(void **state)
{
    (void)state;
    bowline_client *client = client_with("");
    bowline_hold   *hold   = must_acquire(client, "x");
    server_restart(redis);
    assert_true(comes_to_be_lost(hold));
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "1");
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

/* Nobody gives it back: then it is taken back when the time is over that he was told of. */
static void test_lost_hold_that_is_kept_ends_with_what_it_was_told(void **state)
{
    (void)state;
    bowline_client *client = client_with("");
    bowline_client *other  = client_with("");
    bowline_hold   *never  = NULL;
    bowline_hold   *hold   = NULL;
    assert_status(BOWLINE_OK,
                  bowline_acquire(&hold, client, "x", BOWLINE_ACQUIRE(.lease_ms = 2000), NULL),
                  NULL);
    int64_t told = clock_ms() + bowline_hold_left_ms(hold);
    assert_true(told > clock_ms());
    server_restart(redis);
    assert_true(comes_to_be_lost(hold));
    assert_status(BOWLINE_OK, acquire_within(&never, other, "x", 20000, NULL), NULL);
    assert_true(clock_ms() >= told);
    must_release(never);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(other);
    bowline_close(client);
}

/* The keys are there: the test would prove nothing if they were not. */
static void test_server_keeps_its_data(void **state)
{
    (void)state;
    (void)server_ask(redis, "SET bowline:{k} v PX 3600000");
    server_restart(redis);
    assert_string_equal(server_ask(redis, "GET bowline:{k}"), "v");
    (void)server_ask(redis, "DEL bowline:{k}");
}

/* Nobody watches; the extension itself finds another process, and must not be believed although the
 * key says yes. */
static void test_extension_over_a_connection_to_another_process_is_not_believed(void **state)
{
    (void)state;
    char          url[200];
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };
    (void)snprintf(url, sizeof url, "%s?lease=1h", redis->tcp_url);
    bowline_client *client = must_open_without_keeper(url);
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error), &error);
    server_restart(redis);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "1");
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, &error), &error);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    for (int i = 0; i < 100; i++) /* nobody else carries the rest */
        assert_status(BOWLINE_OK, bowline_dispatch(client, 1, &error), &error);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "0");
    bowline_close(client);
}

/* Who waited before the restart gets it after it, from whoever lost it. */
static void test_waiter_outlasts_a_restart_with_data(void **state)
{
    (void)state;
    bowline_client *client = client_with("");
    bowline_client *other  = client_with("");
    bowline_hold   *hold   = must_acquire(other, "x");
    waiter          w;
    waiter_start(&w, client, "x", 30000);
    sleep_ms(50);
    server_restart(redis);
    assert_true(comes_to_be_lost(hold));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL); /* which gives it back */
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    bowline_close(other);
}

/* ---- a server that does not say who it is ---------------------------------------------------- */

static void test_server_that_does_not_say_who_it_is_is_believed_its_keys(void **state)
{
    char url[300];

    (void)state;
    assert_string_equal(
        server_ask(redis,
                   "ACL SETUSER ann on >pw ~bowline:* &bowline:* +@all -info +client -@dangerous"),
        "OK");
    (void)snprintf(url, sizeof url, "redis://ann:pw@127.0.0.1:%d?lease=1h", redis->port);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_hold   *gone   = must_acquire(client, "y");
    (void)server_ask(redis, "DEL bowline:{y}");
    kill_connections();
    assert_true(comes_to_be_lost(gone));
    assert_true(bowline_hold_left_ms(hold) > 0);
    assert_status(BOWLINE_LOST, bowline_release(gone, NULL), NULL);
    must_release(hold);
    bowline_close(client);
    (void)server_ask(redis, "ACL DELUSER ann");
}

/* ---- a server that is away ------------------------------------------------------------------- */

/* Takes the server's place for a second, and closes whatever comes.  How many came. */
static int turn_away_for_a_second(void)
{
    struct sockaddr_in at    = { .sin_family      = AF_INET,
                                 .sin_port        = htons((uint16_t)redis->port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int                fd    = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int                one   = 1;
    int                count = 0;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 1000), 0);
    for (int64_t end = clock_ms() + 1000; clock_ms() < end;) {
        struct pollfd some = { .fd = fd, .events = POLLIN };
        if (poll(&some, 1, 10) > 0) {
            (void)close(accept4(fd, NULL, NULL, SOCK_CLOEXEC));
            count++;
        }
    }
    (void)close(fd);
    return count;
}

/* A thousand locks of one client look for it as one. */
static void test_server_that_is_away_is_looked_for_now_and_then(void **state)
{
    enum { HOLDS = 1000 };
    static bowline_hold *holds[HOLDS];
    char                 name[16];

    (void)state;
    bowline_client *client = client_with("");
    for (int i = 0; i < HOLDS; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        holds[i] = must_acquire(client, name);
    }
    server_kill(redis);
    int count = turn_away_for_a_second();
    print_message("# %d attempts in a second\n", count);
    assert_in_range(count, 1, 20);
    server_start_again(redis);
    for (int i = 0; i < HOLDS; i++) {
        assert_true(comes_to_be_lost(holds[i]));
        assert_status(BOWLINE_LOST, bowline_release(holds[i], NULL), NULL);
    }
    /* All keys are being taken back.  Closing would wait for that, but not for as long as a busy
     * disk may need; this is answered after it. */
    must_release(must_acquire(client, "the last"));
    bowline_close(client);
}

static void test_host_that_is_not_known(void **state)
{
    bowline_hold  *hold  = NULL;
    bowline_error  error = { 0 };
    bowline_holder who   = { .size = sizeof who };

    (void)state;
    bowline_client *client = must_open("redis://no-such-host.invalid?timeout=2s");
    assert_status(BOWLINE_UNREACHABLE, acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error),
                  &error);
    assert_non_null(strstr(error.text, "no-such-host.invalid"));
    assert_status(BOWLINE_UNREACHABLE, acquire_within(&hold, client, "x", 100, &error), &error);
    assert_status(BOWLINE_UNREACHABLE, bowline_who(client, "x", &who, &error), &error);
    assert_non_null(strstr(error.text, "no-such-host.invalid"));
    bowline_close(client);
}

/* ---- the cases ------------------------------------------------------------------------------- */

/* The client gets to know of the port before the server is there again. */
static void *start_server_again(void *arg)
{
    bowline_client *client = arg;
    bowline_error   error  = { 0 };

    while (bowline_ping(client, 0, &error) != BOWLINE_UNREACHABLE)
        sleep_ms(1);
    server_start_only(redis);
    return NULL;
}

static void test_ping_waits_for_a_server_to_come_back(void **state)
{
    bowline_client *client = client_with("");
    bowline_error   error  = { 0 };
    pthread_t       thread;

    (void)state;
    assert_status(BOWLINE_OK, bowline_ping(client, 0, &error), &error);
    server_kill(redis);
    assert_status(BOWLINE_UNREACHABLE, bowline_ping(client, 1, &error), &error);
    assert_int_equal(error.system_errno, ECONNREFUSED);
    assert_int_equal(pthread_create(&thread, NULL, start_server_again, client), 0);
    assert_status(BOWLINE_OK, bowline_ping(client, BOWLINE_FOREVER, &error), &error);
    assert_int_equal(pthread_join(thread, NULL), 0);
    bowline_close(client);
}

/* The user may take locks, and may not look who holds them. */
static void test_ping_needs_no_permission_to_look(void **state)
{
    bowline_holder  holder = { .size = sizeof holder };
    bowline_error   error  = { 0 };
    bowline_client *client;
    char            url[200];

    (void)state;
    assert_string_equal(server_ask(redis, "ACL SETUSER few on >pw ~bowline:* +hello +set +get +del "
                                          "+pttl +pexpire +eval +evalsha"),
                        "OK");
    (void)snprintf(url, sizeof url, "redis://few:pw@127.0.0.1:%d?protocol=token", redis->port);
    client = must_open(url);
    assert_status(BOWLINE_REFUSED, bowline_who(client, "x", &holder, &error), &error);
    assert_string_equal(error.server_code, "NOPERM");
    assert_status(BOWLINE_OK, bowline_ping(client, 0, &error), &error);
    must_release(must_acquire(client, "x"));
    bowline_close(client);
    (void)snprintf(url, sizeof url, "redis://few:wrong@127.0.0.1:%d?protocol=token", redis->port);
    client = must_open(url);
    assert_status(BOWLINE_REFUSED, bowline_ping(client, 0, &error), &error);
    assert_string_equal(error.server_code, "WRONGPASS");
    bowline_close(client);
}

static void test_server_starts(void **state)
{
    (void)state;
    redis = server_start("--appendonly yes --appendfsync always");
}

static int nothing_is_left(void **state)
{
    (void)state;
    return server_becomes_empty(redis) ? 0 : -1;
}

static int stop_server(void **state)
{
    (void)state;
    server_stop(redis);
    return 0;
}

#define CASE(test) cmocka_unit_test_teardown(test, nothing_is_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_starts),
        CASE(test_ping_waits_for_a_server_to_come_back),
        CASE(test_ping_needs_no_permission_to_look),
        CASE(test_server_keeps_its_data),
        CASE(test_broken_connection_is_followed_and_the_lock_asked_for),
        CASE(test_lock_that_is_gone_is_noticed_at_once),
        CASE(test_lock_without_renewal_is_asked_for_and_not_extended),
        CASE(test_server_that_came_back_with_its_data_makes_everything_lost),
        CASE(test_lost_hold_is_taken_back_by_close_as_well),
        CASE(test_lost_hold_that_is_kept_ends_with_what_it_was_told),
        CASE(test_extension_over_a_connection_to_another_process_is_not_believed),
        CASE(test_waiter_outlasts_a_restart_with_data),
        CASE(test_server_that_does_not_say_who_it_is_is_believed_its_keys),
        CASE(test_server_that_is_away_is_looked_for_now_and_then),
        CASE(test_host_that_is_not_known),
    };

    return cmocka_run_group_tests_name("redis_reconnect", tests, NULL, stop_server);
}
