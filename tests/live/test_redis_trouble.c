/*
 * test_redis_trouble.c -- a server that answers, but cannot serve: no memory, no disk, no master,
 * no replicas, somebody's endless script, still loading.
 *
 * Nothing was carried out then.  Who tries once is told why; who waits goes on trying; a hold lasts
 * as long as its lease and is renewed when the trouble is over in time.
 */
#include "tests/lib/judged.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct trouble {
    const char *makes; /* the commands that bring it about, and end it                         */
    const char *mends;
    const char *code;     /* what the texts tell */
    bool        releases; /* the server still carries out a release, and an extension          */
} trouble;

static const trouble out_of_memory = { "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM",
                                       .releases = true };
static const trouble read_only     = { "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY",
                                       .releases = false };
static const trouble master_down   = { "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "MASTERDOWN",
                                       .releases = false };
static const trouble no_replicas   = { "CONFIG SET min-replicas-to-write 1",
                                       "CONFIG SET min-replicas-to-write 0", "NOREPLICAS",
                                       .releases = false };
static const trouble no_disk = { "BGSAVE", "CONFIG SET stop-writes-on-bgsave-error no", "MISCONF",
                                 .releases = false };
static const trouble endless = { "EVAL 'while true do end' 0", "SCRIPT KILL", "BUSY",
                                 .releases = false };

static int            talk = -1; /* on which the endless script was sent */
static const trouble *present;   /* NULL: there is none                  */

static void make(const trouble *t)
{
    present = t;
    (void)server_ask(redis, "CONFIG SET stop-writes-on-bgsave-error yes");
    if (t == &endless) {
        talk = server_say(redis, "%s", t->makes);
        assert_true(server_comes_to(redis, "BUSY", "PING"));
    } else {
        assert_true(server_ask(redis, "%s", t->makes)[0] != '-');
    }
    if (t == &no_disk)
        assert_true(server_comes_to(redis, "rdb_last_bgsave_status:err", "INFO persistence"));
}

static void mend(const trouble *t)
{
    assert_string_equal(server_ask(redis, "%s", t->mends), "OK");
    if (talk >= 0)
        (void)close(talk);
    talk    = -1;
    present = NULL;
}

static bowline_client *client_with(const char *options)
{
    char url[200];

    (void)snprintf(url, sizeof url, "%s?%s", redis->tcp_url, options);
    return must_open(url);
}

/* ---- what is to be seen ---------------------------------------------------------------------- */

static void acquires_are_refused(const trouble *t)
{
    bowline_client *client = client_with("lease=3s&timeout=1s");
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };
    waiter          w;

    make(t);
    assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error),
                  &error);
    assert_non_null(strstr(error.text, t->code));
    assert_string_equal(error.server_code, t->code);
    assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, "x", 100, &error), &error);
    assert_non_null(strstr(error.text, t->code));
    waiter_start(&w, client, "x", 20000);
    sleep_ms(150);
    assert_false(atomic_load(&w.ended));
    mend(t);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

/* What is refused is refused for this reason.  False: the answer came too late. */
static bool is_as_expected(const trouble *t, int status, const bowline_error *error)
{
    bool is_late = status == BOWLINE_LOST || strstr(error->text, "no answer within") != NULL;

    if (is_late && status < 0)
        return false;
    assert_status(t->releases ? BOWLINE_OK : BOWLINE_REFUSED, status, error);
    assert_true(t->releases || strstr(error->text, t->code) != NULL);
    return true;
}

/* False: not shown, for the machine stood still. */
static bool extend_and_release(const trouble *t)
{
    bowline_client *client = client_with("lease=1s&timeout=300ms&renew=off");
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_error   error  = { 0 };

    sleep_ms(20); /* or there would be nothing to extend */
    make(t);
    int64_t asked = clock_ms();
    bool    shown = is_as_expected(t, bowline_extend(hold, 1000, &error), &error);
    int64_t left  = bowline_hold_left_ms(hold);
    assert_true(!shown || left > 0 || clock_ms() - asked > 500);
    error = (bowline_error){ 0 };
    shown = is_as_expected(t, bowline_release(hold, &error), &error) && shown;
    mend(t);
    assert_true(server_becomes_empty(redis)); /* by the release, or with the lease */
    bowline_close(client);
    return shown;
}

static void release_is_tried_again(const trouble *t)
{
    bowline_client    *client = client_with("lease=60s&timeout=20s");
    bowline_hold      *hold   = must_acquire(client, "x");
    bowline_error      error  = { 0 };
    bowline_operation *op;

    make(t);
    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, &error), &error);
    (void)bowline_operation_wait(op, 150, NULL);
    mend(t);
    assert_status(BOWLINE_OK, bowline_finish(op, &error), &error);
    bowline_close(client);
    assert_true(server_becomes_empty(redis)); /* long before the lease ends */
}

static void hold_outlasts(const trouble *t)
{
    for (int round = 1;; round++) {
        bowline_client *client = client_with("lease=1500ms&timeout=300ms");
        bowline_hold   *hold   = NULL;
        acquire_in_the_end(&hold, client, "x");
        make(t);
        sleep_ms(700); /* over a renewal, which fails */
        mend(t);
        sleep_ms(1500);
        bool kept   = bowline_hold_left_ms(hold) > 0;
        int  status = bowline_release(hold, NULL);
        bowline_close(client);
        if (keeps_in_round(kept, status, round))
            break;
    }
}

static void see_it_through(const trouble *t)
{
    acquires_are_refused(t);
    for (int rounds = 1; !extend_and_release(t); rounds++)
        assert_true(rounds < 50);
    release_is_tried_again(t);
    hold_outlasts(t);
}

static void test_out_of_memory(void **state)
{
    see_it_through(&out_of_memory);
}

static void test_read_only_replica(void **state)
{
    see_it_through(&read_only);
}

static void test_replica_without_its_master(void **state)
{
    (void)server_ask(redis, "CONFIG SET replica-serve-stale-data no");
    acquires_are_refused(&master_down); /* of who holds: test_fault_refusal.c */
    (void)server_ask(redis, "CONFIG SET replica-serve-stale-data yes");
}

static void test_too_few_replicas(void **state)
{
    see_it_through(&no_replicas);
}

static void test_endless_script_of_somebody(void **state)
{
    see_it_through(&endless);
}

/* So far. */
static unsigned infos_turned_away(void)
{
    static const char mark[] = "rejected_calls=";
    const char       *at     = strstr(server_ask(redis, "INFO commandstats"), "cmdstat_info:");

    at = at != NULL ? strstr(at, mark) : NULL;
    return at != NULL ? (unsigned)strtoul(at + sizeof mark - 1, NULL, 10) : 0;
}

/* Whoever asks may be among those whom it hangs up on. */
static bool is_busy(void)
{
    const char *said = server_may_say(redis, "PING");

    return said != NULL && strstr(said, "BUSY") != NULL;
}

/* The line breaks, and the server greets us by HELLO alone: it is busy, and not another one. */
static void test_line_that_breaks_before_an_endless_script(void **state)
{
    bowline_client *client = client_with("lease=60s&timeout=20s");
    bowline_hold   *hold   = must_acquire(client, "x");
    unsigned        before = infos_turned_away();
    int             rounds = 0;

    (void)server_ask(redis, "CONFIG SET lua-time-limit 100");
    while (infos_turned_away() == before) {
        assert_true(++rounds < 50);
        talk = server_say(redis, "PING");
        assert_true(dprintf(talk, "CLIENT KILL TYPE normal\r\nCLIENT KILL TYPE pubsub\r\n%s\r\n",
                            endless.makes) > 0);
        present = &endless;
        for (int tries = 0; !is_busy(); tries++) {
            assert_true(tries < 1000);
            sleep_ms(2);
        }
        sleep_ms(100);
        mend(&endless);
        assert_true(bowline_hold_left_ms(hold) > 0);
    }
    must_release(hold);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

/* A snapshot that cannot be written, for its directory is gone. */
static void test_disk_that_fails(void **state)
{
    char data[100];

    if (!server_is_new())
        skip(); /* what --save on the command line means is another thing there */
    server_stop(redis);
    redis = NULL;
    (void)snprintf(data, sizeof data, "/tmp/bowline-gone-XXXXXX");
    assert_non_null(mkdtemp(data));
    char options[200];
    (void)snprintf(options, sizeof options, "--dir %s --save '3600 1'", data);
    redis = server_start(options);
    assert_int_equal(rmdir(data), 0);
    see_it_through(&no_disk);
}

/* ---- loading --------------------------------------------------------------------------------- */

static void test_loading(void **state)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    if (!server_is_new())
        skip(); /* it cannot be told to load slowly */
    server_stop(redis);
    redis = NULL;
    redis = server_start(NULL);
    (void)server_ask(redis, "EVAL 'for i = 1, 3000 do redis.call(\"SET\", \"k\" .. i, i) end' 0");
    assert_string_equal(server_ask(redis, "SAVE"), "OK");
    server_kill(redis);
    (void)snprintf(redis->options, sizeof redis->options,
                   "--key-load-delay 500 --loading-process-events-interval-bytes 1024");
    (void)unlink(redis->socket);
    server_start_only(redis);
    assert_true(server_comes_up(redis));
    assert_true(server_comes_to(redis, "LOADING", "GET x"));
    bowline_client *client = client_with("lease=20s");
    assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error),
                  &error);
    assert_non_null(strstr(error.text, "LOADING"));
    assert_string_equal(error.server_code, "LOADING");
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", 30000, &error), &error);
    must_release(hold);
    bowline_close(client);
    (void)server_ask(redis, "FLUSHALL");
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void test_own_server_starts(void **state)
{
    redis = server_start("--lua-time-limit 50 --repl-timeout 60");
}

static int end_trouble(void **state)
{
    if (present != NULL)
        mend(present);
    (void)server_ask(redis, "FLUSHALL");
    return 0;
}

#define CASE(test) cmocka_unit_test_teardown(test, end_trouble)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_server_starts),
        CASE(test_out_of_memory),
        CASE(test_read_only_replica),
        CASE(test_replica_without_its_master),
        CASE(test_too_few_replicas),
        CASE(test_endless_script_of_somebody),
        CASE(test_line_that_breaks_before_an_endless_script),
        CASE(test_disk_that_fails),
        CASE(test_loading),
    };

    return cmocka_run_group_tests_name("redis_trouble", tests, NULL, stop_server);
}
