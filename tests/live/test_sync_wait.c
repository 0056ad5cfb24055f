/*
 * test_sync_wait.c -- the facts on which sync=K relies (protocol/replicated.c): WAIT covers the
 * writes of its own connection, and each command whose reply precedes WAIT is a write of that
 * connection.  And one acquire; the simulator has the faults.
 *
 * Up to 7.4, WAIT also covers the writes of other connections up to the last reply of its own; from
 * Redis 8 on it does not.
 */
#include "engine/redis/wire/commands.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"
#include "tests/lib/wire.h"

#include <signal.h>
#include <stdlib.h>

enum { LONG_MS = 60000, SHORTER_MS = LONG_MS / 2 };

static server *primary;
static server *replica;

static int begin(void **state)
{
    server_needed();
    primary = server_start("--repl-diskless-sync-delay 0 --repl-ping-replica-period 3600");
    replica = server_start(NULL);
    (void)server_ask(replica, "REPLICAOF 127.0.0.1 %d", primary->port);
    assert_true(server_comes_to(replica, "master_link_status:up", "INFO replication"));
    (void)server_ask(primary, "SET begun yes");
    assert_true(server_comes_to(replica, "yes", "GET begun"));
    return 0;
}

static int end(void **state)
{
    server_stop(replica);
    server_stop(primary);
    return 0;
}

static int64_t integer_reply(wire *w, const char *words)
{
    bwl_resp_cursor frame = wire_ask(w, words);
    bwl_resp_value  value;

    assert_true(bwl_resp_next_bare(&frame, &value));
    assert_int_equal(value.type, ':');
    return value.integer;
}

FIXTURE(begin, end)

TEST(wait_covers_the_writes_of_its_connection)
{
    static wire w;

    wire_open(&w, primary->socket);
    (void)wire_ask(&w, "SET by us");
    assert_int_equal(integer_reply(&w, "WAIT 1 5000"), 1);
    server_signal(replica, SIGSTOP);
    (void)server_ask(primary, "SET by others");
    assert_int_equal(integer_reply(&w, "WAIT 1 50"), 1);
    (void)wire_ask(&w, "PEXPIRE by 60000");
    assert_int_equal(integer_reply(&w, "WAIT 1 50"), 0);
    server_signal(replica, SIGCONT);
    assert_int_equal(integer_reply(&w, "WAIT 1 5000"), 1);
    wire_close(&w);
}

static void must_reply_yes(wire *w, bwl_redis_command command, bwl_ms lease_ms)
{
    bwl_redis_reply        reply = { 0 };
    bwl_redis_command_args args  = { .command  = command,
                                     .use_eval = true,
                                     .key      = "k",
                                     .key_size = 1,
                                     .token    = "AAAAAAAAAAAAAAAAAAAAAA",
                                     .lease_ms = lease_ms };

    bwl_redis_write(&w->out, &args);
    wire_flush(w);
    bwl_resp_cursor frame = wire_next(w);
    assert_int_equal(bwl_redis_read(&args, 0, frame.bytes, frame.size, &reply), BWL_REDIS_ANSWER);
    assert_int_equal(reply.answer, BWL_YES);
}

/* Extends one key in a batch. */
static void must_extend_in_batch(wire *w, bwl_ms lease_ms)
{
    bwl_redis_command_args args = { .command  = REDIS_EXTEND_IF_MINE,
                                    .use_eval = true,
                                    .key      = "k",
                                    .key_size = 1,
                                    .token    = "AAAAAAAAAAAAAAAAAAAAAA" };
    bwl_batch_reply        reply;

    bwl_batch_write(&w->out, &args, 1);
    bwl_batch_write_keys(&w->out, &args);
    bwl_batch_write_arguments(&w->out, &args);
    bwl_resp_write_integer(&w->out, lease_ms);
    wire_flush(w);
    bwl_resp_cursor frame = wire_next(w);
    assert_int_equal(bwl_batch_read(args.command, 1, frame.bytes, frame.size, &reply),
                     BWL_BATCH_EACH);
    assert_int_equal(reply.answers[0], BWL_YES);
}

/* The replication offset of the primary. */
static long long replication_offset(void)
{
    static const char field[] = "master_repl_offset:";
    const char       *found   = strstr(server_ask(primary, "INFO replication"), field);

    assert_non_null(found);
    return strtoll(found + strlen(field), NULL, 10);
}

/* A YES about a lock that another connection wrote is itself a write, so that WAIT covers it. The
 * TTL does not become shorter. */
TEST(each_yes_is_a_write_of_its_connection)
{
    static wire first, later;

    wire_open(&first, primary->socket);
    must_reply_yes(&first, REDIS_SET_IF_ABSENT, LONG_MS);
    for (unsigned i = 0; i < 3; i++) {
        long long before = replication_offset();
        wire_open(&later, primary->socket);
        if (i == 0)
            must_reply_yes(&later, REDIS_SET_IF_ABSENT_OR_MINE, SHORTER_MS);
        else if (i == 1)
            must_reply_yes(&later, REDIS_EXTEND_IF_MINE, SHORTER_MS);
        else
            must_extend_in_batch(&later, SHORTER_MS);
        assert_true(replication_offset() > before);
        server_signal(replica, SIGSTOP);
        (void)server_ask(primary, "SET by others");
        must_reply_yes(&later, REDIS_EXTEND_IF_MINE, SHORTER_MS);
        assert_int_equal(integer_reply(&later, "WAIT 1 50"), 0);
        server_signal(replica, SIGCONT);
        assert_int_equal(integer_reply(&later, "WAIT 1 5000"), 1);
        assert_true(atol(server_ask(primary, "PTTL k")) > SHORTER_MS);
        wire_close(&later);
    }
    wire_close(&first);
}

/* When the acquire returns, the replica has the key. */
TEST(sync_acquire_returns_when_the_replica_has_the_key)
{
    static const char *const options[] = { "sync=1", "sync=1&protocol=token" };

    for (unsigned i = 0; i < COUNT_OF(options); i++) {
        bowline_client *client = must_open_url("%s?%s", primary->tcp_url, options[i]);
        for (unsigned round = 0; round < 20; round++) {
            bowline_hold *hold = must_acquire(client, "x");
            assert_string_equal(server_ask(replica, "EXISTS bowline:{x}"), "1");
            must_release(hold);
        }
        bowline_error error = { 0 };
        bowline_hold *hold  = must_acquire(client, "x"); /* it keeps its mode */
        assert_status(BOWLINE_UNSUPPORTED, bowline_downgrade(hold, &error), &error);
        assert_non_null(strstr(error.text, "sync="));
        must_release(hold);
        bowline_close(client);
    }
}

/* A list, a ticket, and a period, which only protocol queue keeps. */
TEST(sync_covers_what_outlives_a_client)
{
    static const char *const options[] = { "sync=1", "sync=1&protocol=token" };

    for (unsigned i = 0; i < COUNT_OF(options); i++) {
        char            ticket[BOWLINE_TICKET_MAX];
        bowline_holder  holder = { .size = sizeof holder };
        bowline_list   *list   = NULL;
        bowline_client *client = must_open_url("%s?%s", primary->tcp_url, options[i]);
        bowline_client *other  = must_open_url("%s?%s", primary->tcp_url, options[i]);
        bowline_hold   *hold   = must_acquire(client, "x");

        assert_status(BOWLINE_OK, bowline_list_start(&list, other, NULL, NULL), NULL);
        assert_int_equal(bowline_list_next(&holder, list, NULL), 1);
        assert_string_equal(holder.name, "x");
        assert_int_equal(bowline_list_next(&holder, list, NULL), 0);
        bowline_list_free(list);

        assert_status(BOWLINE_OK, bowline_hold_export(hold, ticket, NULL), NULL);
        assert_non_null(strstr(ticket, server_ask(replica, "GET bowline:{x}")));
        server_signal(replica, SIGSTOP); /* no import counts, and none uses the ticket up */
        int status = bowline_hold_import(&hold, other, ticket, NULL, NULL);
        assert_true(status == BOWLINE_REFUSED || status == BOWLINE_UNKNOWN);
        server_signal(replica, SIGCONT);
        bowline_close(client);
        assert_true(server_comes_to(primary, "0", "EXISTS bowline:{x}"));
        client = must_open_url("%s?%s", primary->tcp_url, options[i]);
        hold   = must_acquire(client, "x");
        assert_status(BOWLINE_OK, bowline_hold_export(hold, ticket, NULL), NULL);
        assert_status(BOWLINE_OK, bowline_hold_import(&hold, other, ticket, NULL, NULL), NULL);
        assert_null(strstr(ticket, server_ask(replica, "GET bowline:{x}")));
        must_release(hold);

        for (unsigned end = 0; i == 0 && end < 2; end++) {
            int taken =
                bowline_acquire(&hold, client, "p", BOWLINE_ACQUIRE(.at_least_ms = LONG_MS), NULL);
            assert_status(BOWLINE_OK, taken, NULL);
            assert_true(atol(server_ask(replica, "PTTL bowline:{p}")) > SHORTER_MS);
            assert_status(BOWLINE_OK, end == 0 ? bowline_release_nowait(hold, NULL) : BOWLINE_OK,
                          NULL);
            bowline_close(client);
            assert_true(server_comes_to(replica, "b1:=", "GET bowline:{p}"));
            assert_status(BOWLINE_BUSY, try_once(other, "p"), NULL);
            (void)server_ask(primary, "DEL bowline:{p}");
            client = must_open_url("%s?%s", primary->tcp_url, options[i]);
        }
        bowline_close(client);
        bowline_close(other);
    }
}
