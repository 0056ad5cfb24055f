/*
 * test_redis_refusals.c -- a server that answers and refuses: no memory, no disk, no master, no
 * replicas, a script that does not end, loading, rights that are withdrawn.
 *
 * A refused command was not executed.  An acquire that does not wait returns the error; one that
 * waits tries again if the condition can pass.  A hold goes on to the end of its lease, and is
 * extended when the condition has ended in time.
 */
#include "tests/lib/inside.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* @pubsub is a category, because not every server has each of its commands. */
#define RIGHTS                                                                              \
    "~bowline:* resetchannels &bowline:i:* -@all +hello +eval +evalsha +@pubsub +get +set " \
    "+del +exists +type +incr +time +persist +pexpire +pttl +zadd +zrem +zpopmin +zscore "  \
    "+zrank +zcard +hget +hset +hdel"

typedef struct refusal {
    const char *name;
    const char *begins_by; /* a command */
    const char *ends_by;
    const char *code;       /* in the error text; NULL: any */
    bool        is_of_user; /* of the user "locker": an acquire is refused for good */
    bool        releases;   /* the server still executes an extension and a release */
    bool        reconnects; /* only a new connection is refused */
    bool        is_endless; /* `begins_by` gets no reply */
} refusal;

static int     talk = -1; /* the connection that runs the endless script */
static refusal present;   /* a copy, for the tear-down; ends_by NULL: none */

static void begin_refusal(const refusal *cause)
{
    present = *cause;
    if (cause->is_endless) {
        talk = server_say(redis, "%s", cause->begins_by);
        assert_true(server_comes_to(redis, "BUSY", "PING"));
    } else {
        assert_true(server_ask(redis, "%s", cause->begins_by)[0] != '-');
    }
    if (cause->reconnects)
        server_hang_up(redis);
}

static void end_refusal(void)
{
    assert_string_equal(server_ask(redis, "%s", present.ends_by), "OK");
    assert_true(server_comes_to(redis, "PONG", "PING")); /* a killed script runs for a while */
    if (talk >= 0)
        (void)close(talk);
    talk    = -1;
    present = (refusal){ 0 };
}

static int end(void **state)
{
    if (present.ends_by != NULL)
        end_refusal();
    (void)server_ask(redis, "FLUSHALL");
    return 0;
}

/* ---- what every condition has in common ------------------------------------------------------ */

static bowline_client *client_of(const refusal *cause)
{
    return must_open_url("redis://%s127.0.0.1:%d?lease=10m&timeout=1s&renew=off",
                         cause->is_of_user ? "locker:right@" : "", redis->port);
}

static void check_status(const refusal *cause, int status, const bowline_error *error)
{
    assert_status(cause->releases ? BOWLINE_OK : BOWLINE_REFUSED, status, error);
    if (!cause->releases && cause->code != NULL && strstr(error->text, cause->code) == NULL)
        fail_msg("\"%s\" does not contain %s", error->text, cause->code);
}

/* A lost connection may end the first one, with a request in flight. */
static int extend_in_the_end(bowline_hold *hold, bowline_error *reterr)
{
    int status = BOWLINE_UNKNOWN;

    for (int tries = 0; tries < 20 && (status == BOWLINE_UNKNOWN || status == BOWLINE_UNREACHABLE);
         tries++)
        status = bowline_extend(hold, 1200000, reterr);
    return status;
}

static void check_acquire(const refusal *cause, bowline_client *client, waiter *w)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    for (int64_t wait_ms = 0; wait_ms <= 100; wait_ms += 100) {
        assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, "y", wait_ms, &error), &error);
        assert_non_null(strstr(error.text, cause->code));
        assert_string_equal(error.server_code, cause->code);
    }
    waiter_start(w, client, "y", 20000);
    assert_true(inside_comes_to(client, "y", (inside){ .locks = 1 })); /* was refused once */
    assert_false(atomic_load(&w->ended));
}

static void check_refusal(const refusal *cause)
{
    static waiter   w; /* its thread outlives a failed test */
    bowline_error   error  = { 0 };
    bowline_client *client = client_of(cause);
    bowline_hold   *hold   = must_acquire(client, "x");

    begin_refusal(cause);
    check_status(cause, extend_in_the_end(hold, &error), &error);
    assert_true(bowline_hold_left_ms(hold) > 0);
    if (!cause->is_of_user)
        check_acquire(cause, client, &w);
    end_refusal();
    if (!cause->is_of_user) {
        assert_true(waiter_ends(&w));
        assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
        must_release(w.hold);
    }
    assert_status(BOWLINE_OK, extend_in_the_end(hold, &error), &error);
    begin_refusal(cause);
    check_status(cause, bowline_release(hold, &error), &error);
    end_refusal();
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), cause->releases ? "0" : "1");
    bowline_close(client);
}

/* ---- conditions ------------------------------------------------------------------------------ */

static const refusal refusals[] = {
    { "out_of_memory", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM",
      .releases = true },
    { "read_only_replica", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY",
      .releases = false },
    { "too_few_replicas", "CONFIG SET min-replicas-to-write 1",
      "CONFIG SET min-replicas-to-write 0", "NOREPLICAS", .releases = false },
    { "endless_script_of_another_client", "EVAL 'while true do end' 0", "SCRIPT KILL", "BUSY",
      .is_endless = true },
    { "commands_withdrawn_and_given_back", "ACL SETUSER locker -eval -evalsha",
      "ACL SETUSER locker +eval +evalsha", "NOPERM", .is_of_user = true },
    { "command_of_a_script_withdrawn_and_given_back", "ACL SETUSER locker -get",
      "ACL SETUSER locker +get", NULL, .is_of_user = true },
    { "writes_of_a_script_withdrawn_and_given_back", "ACL SETUSER locker -pexpire -del",
      "ACL SETUSER locker +pexpire +del", NULL, .is_of_user = true },
    { "keys_withdrawn_while_held", "ACL SETUSER locker resetkeys ~other:*",
      "ACL SETUSER locker resetkeys ~bowline:*", "NOPERM", .is_of_user = true },
    { "password_changed_while_held", "ACL SETUSER locker resetpass >another",
      "ACL SETUSER locker resetpass >right", "WRONGPASS", .is_of_user = true, .reconnects = true },
    { "user_deleted_while_held", "ACL DELUSER locker",
      "ACL SETUSER locker on >right ~bowline:* " RIGHTS, "WRONGPASS", .is_of_user = true,
      .reconnects = true },
};

static void is_refused(void **state)
{
    check_refusal(*state);
}

FIXTURE(NULL, end)
ROWS(refusals, is_refused)

TEST(master_down)
{
    (void)server_ask(redis, "CONFIG SET replica-serve-stale-data no");
    check_refusal(&(refusal){ .begins_by = "REPLICAOF 127.0.0.1 1",
                              .ends_by   = "REPLICAOF NO ONE",
                              .code      = "MASTERDOWN" });
    (void)server_ask(redis, "CONFIG SET replica-serve-stale-data yes");
}

/* ---- a server that is started for it --------------------------------------------------------- */

/* The directory of the snapshot is gone. */
TEST(disk_that_fails)
{
    char          data[100] = "/tmp/bowline-gone-XXXXXX";
    char          options[200];
    bowline_hold *none  = NULL;
    bowline_error error = { 0 };

    server_stop(redis);
    redis = NULL;
    assert_non_null(mkdtemp(data));
    (void)snprintf(options, sizeof options, "--dir %s", data);
    redis = server_start(options);
    assert_string_equal(server_ask(redis, "CONFIG SET save '3600 1'"), "OK");
    assert_int_equal(rmdir(data), 0);
    bowline_client *client = must_open_url("%s?lease=10m&renew=off", redis->tcp_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    (void)server_ask(redis, "BGSAVE");
    assert_true(server_comes_to(redis, "rdb_last_bgsave_status:err", "INFO persistence"));
    assert_status(BOWLINE_REFUSED, bowline_extend(hold, 1200000, &error), &error);
    assert_status(BOWLINE_REFUSED, acquire_within(&none, client, "y", 0, &error), &error);
    assert_string_equal(error.server_code, "MISCONF");
    (void)server_ask(redis, "CONFIG SET stop-writes-on-bgsave-error no");
    assert_status(BOWLINE_OK, bowline_extend(hold, 1200000, &error), &error);
    must_release(hold);
    bowline_close(client);
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
    must_release(must_acquire_within(client, "x", 30000));
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
