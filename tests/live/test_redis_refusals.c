/*
 * test_redis_refusals.c -- a server that answers and refuses: no memory, no disk, no master, no
 * replicas, a script that does not end, loading, rights that are withdrawn.
 *
 * A refused command was not executed.  An acquire that does not wait returns the error; one that
 * waits tries again if the condition can pass.  A hold ends with its lease, and is kept if the
 * condition ends in time.
 */
#include "tests/lib/judged.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LEASE_MS = 900 };

/* @pubsub is a category, because not every server has each of its commands. */
#define RIGHTS                                                                              \
    "~bowline:* resetchannels &bowline:i:* -@all +hello +eval +evalsha +@pubsub +get +set " \
    "+del +exists +type +incr +time +persist +pexpire +pttl +zadd +zrem +zpopmin +zscore "  \
    "+zrank +zcard +hget +hset +hdel"

typedef struct refusal {
    const char *begins_by; /* a command */
    const char *ends_by;
    const char *code;        /* in the error text; NULL: any */
    const char *login;       /* of the holder's URL; NULL: none */
    bool        passes;      /* an acquire that waits tries again */
    bool        releases;    /* the server still executes an extension and a release */
    bool        reconnects;  /* only a new connection is refused */
    bool        is_endless;  /* `begins_by` gets no reply */
    bool        is_deferred; /* it begins when the snapshot of the server has failed */
} refusal;

static witness *judge;
static int      talk = -1; /* the connection that runs the endless script */
static refusal  present;   /* a copy, for the tear-down; ends_by NULL: none */

static void begin_refusal(const refusal *cause)
{
    present = *cause;
    if (cause->is_deferred)
        (void)server_ask(redis, "CONFIG SET stop-writes-on-bgsave-error yes");
    if (cause->is_endless) {
        talk = server_say(redis, "%s", cause->begins_by);
        assert_true(server_comes_to(redis, "BUSY", "PING"));
    } else {
        assert_true(server_ask(redis, "%s", cause->begins_by)[0] != '-');
    }
    if (cause->is_deferred)
        assert_true(server_comes_to(redis, "rdb_last_bgsave_status:err", "INFO persistence"));
    if (cause->reconnects)
        server_hang_up(redis);
}

static void end_refusal(const refusal *cause)
{
    assert_string_equal(server_ask(redis, "%s", cause->ends_by), "OK");
    if (talk >= 0)
        (void)close(talk);
    talk    = -1;
    present = (refusal){ 0 };
}

static bowline_client *client_of(const refusal *cause, const char *options)
{
    return must_open_url("redis://%s127.0.0.1:%d?%s", cause->login != NULL ? cause->login : "",
                         redis->port, options);
}

/* ---- what every condition has in common ------------------------------------------------------ */

static void acquires_are_refused(const refusal *cause)
{
    bowline_client *client = client_of(cause, "lease=3s&timeout=1s");
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };
    static waiter   w; /* its thread outlives a failed test */

    begin_refusal(cause);
    for (int64_t wait_ms = 0; wait_ms <= 100; wait_ms += 100) {
        assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, "x", wait_ms, &error), &error);
        assert_non_null(strstr(error.text, cause->code));
        assert_string_equal(error.server_code, cause->code);
    }
    waiter_start(&w, client, "x", 20000);
    sleep_ms(150);
    assert_false(atomic_load(&w.ended));
    end_refusal(cause);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

/* Whether the status is the expected one.  False: the reply came too late to show it. */
static bool is_as_expected(const refusal *cause, int status, const bowline_error *error)
{
    if (status == BOWLINE_LOST || (status < 0 && strstr(error->text, "no answer") != NULL))
        return false;
    assert_status(cause->releases ? BOWLINE_OK : BOWLINE_REFUSED, status, error);
    if (!cause->releases && cause->code != NULL && strstr(error->text, cause->code) == NULL)
        fail_msg("\"%s\" does not contain %s", error->text, cause->code);
    return true;
}

/* The extension is refused, and the holder knows of the loss before the rival gets the lock. */
static bool ends_with_its_lease(const refusal *cause)
{
    char            rival_url[200];
    bowline_client *client = client_of(cause, "lease=900ms&timeout=250ms&renew=off");
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    bowline_error   error  = { 0 };

    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=%dms&timeout=300ms", redis->unix_url,
                   LEASE_MS);
    sleep_ms(5); /* an extension right after the acquire would change nothing */
    begin_refusal(cause);
    int64_t fault_us = witness_now_us();
    bool    shown    = is_as_expected(cause, bowline_extend(hold, LEASE_MS, &error), &error);
    rival  *r        = rival_start(judge, rival_url, "x");
    if (!cause->releases)
        assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    if (!cause->releases)
        assert_bounded(sure_us, fault_us, LEASE_MS);
    int status = bowline_release(hold, &error);
    if (!cause->releases)
        assert_status(BOWLINE_LOST, status, &error);
    else
        shown = is_as_expected(cause, status, &error) && shown;
    end_refusal(cause);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
    return shown;
}

/* A release is refused too, or is sent again until it is executed; otherwise the key expires. */
static void release_is_refused(const refusal *cause)
{
    bowline_error error = { 0 };

    for (int rounds = 1;; rounds++) {
        bowline_client *client = client_of(cause, "lease=900ms&timeout=250ms&renew=off");
        bowline_hold   *hold   = must_acquire(client, "x");
        begin_refusal(cause);
        int status = bowline_release(hold, &error);
        end_refusal(cause);
        bowline_close(client);
        assert_true(server_becomes_empty(redis));
        if (is_as_expected(cause, status, &error))
            break;
        assert_true(rounds < 50);
    }
}

/* The condition lasts for a renewal and less than the lease. */
static void hold_outlasts(const refusal *cause)
{
    for (int rounds = 1;; rounds++) {
        bowline_client *client = client_of(cause, "lease=900ms&timeout=250ms");
        bowline_hold   *hold   = NULL;
        acquire_in_the_end(&hold, client, "x");
        begin_refusal(cause);
        sleep_ms(LEASE_MS / 2);
        end_refusal(cause);
        sleep_ms(LEASE_MS);
        bool kept   = bowline_hold_left_ms(hold) > 0;
        int  status = bowline_release(hold, NULL);
        bowline_close(client);
        if (keeps_in_round(kept, status, rounds))
            break;
    }
}

static void check_refusal(const refusal *cause)
{
    if (cause->passes)
        acquires_are_refused(cause);
    hold_outlasts(cause);
    for (int rounds = 1; !ends_with_its_lease(cause); rounds++)
        assert_true(rounds < 50);
    release_is_refused(cause);
}

/* ---- the server ------------------------------------------------------------------------------ */

static int begin(void **state)
{
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    if (present.ends_by != NULL)
        end_refusal(&present);
    judge_dismiss(judge);
    (void)server_ask(redis, "FLUSHALL");
    return 0;
}

FIXTURE(begin, end)

TEST(out_of_memory)
{
    check_refusal(&(refusal){ "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM",
                              .passes = true, .releases = true });
}

TEST(read_only_replica)
{
    check_refusal(
        &(refusal){ "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY", .passes = true });
}

TEST(master_down)
{
    (void)server_ask(redis, "CONFIG SET replica-serve-stale-data no");
    check_refusal(
        &(refusal){ "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "MASTERDOWN", .passes = true });
    (void)server_ask(redis, "CONFIG SET replica-serve-stale-data yes");
}

TEST(too_few_replicas)
{
    check_refusal(&(refusal){ "CONFIG SET min-replicas-to-write 1",
                              "CONFIG SET min-replicas-to-write 0", "NOREPLICAS", .passes = true });
}

static const refusal endless = { "EVAL 'while true do end' 0", "SCRIPT KILL", "BUSY",
                                 .passes = true, .is_endless = true };

TEST(endless_script_of_another_client)
{
    check_refusal(&endless);
}

/* INFO commands that were refused so far. */
static unsigned refused_infos(void)
{
    static const char mark[] = "rejected_calls=";
    const char       *at     = strstr(server_ask(redis, "INFO commandstats"), "cmdstat_info:");

    at = at != NULL ? strstr(at, mark) : NULL;
    return at != NULL ? (unsigned)strtoul(at + sizeof mark - 1, NULL, 10) : 0;
}

/* The connection breaks, and the busy server answers HELLO and not INFO: the hold is kept. */
TEST(connection_that_breaks_before_an_endless_script)
{
    bowline_client *client = client_of(&endless, "lease=60s&timeout=20s");
    bowline_hold   *hold   = must_acquire(client, "x");
    unsigned        before = refused_infos();
    int             rounds = 0;

    (void)server_ask(redis, "CONFIG SET lua-time-limit 100");
    while (refused_infos() == before) {
        assert_true(++rounds < 50);
        talk = server_say(redis, "PING");
        assert_true(dprintf(talk, "CLIENT KILL TYPE normal\r\nCLIENT KILL TYPE pubsub\r\n%s\r\n",
                            endless.begins_by) > 0);
        present = endless;
        for (int tries = 0;; tries++) { /* the server may close this connection too */
            const char *said = server_may_say(redis, "PING");
            if (said != NULL && strstr(said, "BUSY") != NULL)
                break;
            assert_true(tries < 1000);
            sleep_ms(2);
        }
        sleep_ms(100);
        end_refusal(&endless);
        assert_true(bowline_hold_left_ms(hold) > 0);
    }
    must_release(hold);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

/* ---- rights ---------------------------------------------------------------------------------- */

static void check_refusals(const char *const commands[][3], size_t count, bool reconnects)
{
    for (size_t i = 0; i < count; i++) {
        refusal cause = { commands[i][0], commands[i][1], commands[i][2], "locker:right@",
                          .reconnects = reconnects };
        check_refusal(&cause);
    }
}

TEST(commands_withdrawn_and_given_back)
{
    static const char *const commands[][3] = {
        { "ACL SETUSER locker -eval -evalsha", "ACL SETUSER locker +eval +evalsha", "NOPERM" },
        { "ACL SETUSER locker -get", "ACL SETUSER locker +get", NULL },
        { "ACL SETUSER locker -pexpire -del", "ACL SETUSER locker +pexpire +del", NULL },
        { "ACL SETUSER locker nocommands", "ACL SETUSER locker " RIGHTS, "NOPERM" },
    };

    check_refusals(commands, COUNT_OF(commands), false);
}

TEST(keys_withdrawn_while_held)
{
    static const char *const commands[][3] = {
        { "ACL SETUSER locker resetkeys ~other:*", "ACL SETUSER locker resetkeys ~bowline:*",
          "NOPERM" },
    };

    check_refusals(commands, 1, false);
}

/* An open connection stays authenticated; the next one is refused. */
TEST(password_changed_while_held)
{
    static const char *const commands[][3] = {
        { "ACL SETUSER locker resetpass >another", "ACL SETUSER locker resetpass >right",
          "WRONGPASS" },
        { "ACL SETUSER locker off", "ACL SETUSER locker on", "WRONGPASS" },
        { "ACL DELUSER locker", "ACL SETUSER locker on >right ~bowline:* " RIGHTS, "WRONGPASS" },
    };

    check_refusals(commands, COUNT_OF(commands), true);
}

/* ---- a server that is started for it --------------------------------------------------------- */

/* The directory of the snapshot is gone. */
TEST(disk_that_fails)
{
    char data[100] = "/tmp/bowline-gone-XXXXXX";
    char options[200];

    server_stop(redis);
    redis = NULL;
    assert_non_null(mkdtemp(data));
    (void)snprintf(options, sizeof options, "--dir %s", data);
    redis = server_start(options);
    assert_string_equal(server_ask(redis, "CONFIG SET save '3600 1'"), "OK");
    assert_int_equal(rmdir(data), 0);
    check_refusal(&(refusal){ "BGSAVE", "CONFIG SET stop-writes-on-bgsave-error no", "MISCONF",
                              .passes = true, .is_deferred = true });
}

TEST(loading)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    server_stop(redis);
    redis = NULL;
    redis = server_start(NULL);
    (void)snprintf(redis->options, sizeof redis->options, "%s", server_fill_to_load_slowly(redis));
    assert_string_equal(server_ask(redis, "SAVE"), "OK");
    server_kill(redis);
    (void)unlink(redis->socket);
    server_start_only(redis);
    assert_true(server_comes_up(redis));
    assert_true(server_comes_to(redis, "LOADING", "GET x"));
    bowline_client *client = must_open_url("%s?lease=20s", redis->tcp_url);
    assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error),
                  &error);
    assert_string_equal(error.server_code, "LOADING");
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", 30000, &error), &error);
    must_release(hold);
    bowline_close(client);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    redis = server_start("--lua-time-limit 50 --repl-timeout 60");
    assert_string_equal(server_ask(redis, "ACL SETUSER locker on >right " RIGHTS), "OK");
    return 0;
}

AROUND(own_server_starts, stop_server)
