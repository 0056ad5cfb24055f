/*
 * test_queue_shares.c -- shared holds and permits of protocol queue, and the faults that such locks
 * have elsewhere.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/request.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <bowline/async.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CLIENTS = 6, FOR_EVER = 60000 };

static char            url[200];
static bowline_client *clients[CLIENTS]; /* of each test: a request each */

static int open_clients(void **state)
{
    (void)server_ask(redis, "FLUSHALL");
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = must_open(url);
    return 0;
}

static int leave_no_keys(void **state)
{
    for (size_t i = 0; i < CLIENTS; i++)
        bowline_close(clients[i]);
    return queue_await_no_keys(redis) ? 0 : -1;
}

FIXTURE(open_clients, leave_no_keys)

/* ---- requests -------------------------------------------------------------------------------- */

/* limit 0: shared; permits 0: exclusive. */
static bowline_acquire_options options_of(uint32_t permits, uint32_t limit, int64_t wait_ms)
{
    bowline_acquire_options o = BOWLINE_ACQUIRE_INIT;

    o.wait_ms = wait_ms;
    o.mode    = permits == 0 ? BOWLINE_EXCLUSIVE : limit == 0 ? BOWLINE_SHARED : BOWLINE_PERMITS;
    o.permits = limit > 0 ? permits : 0;
    o.limit   = limit;
    return o;
}

static int try_for(bowline_hold **ret_hold, size_t i, uint32_t permits, uint32_t limit)
{
    bowline_acquire_options o = options_of(permits, limit, BOWLINE_NO_WAIT);

    return bowline_acquire(ret_hold, clients[i], "x", &o, NULL);
}

static bowline_hold *take(size_t i, uint32_t permits, uint32_t limit)
{
    bowline_hold *hold;

    assert_status(BOWLINE_OK, try_for(&hold, i, permits, limit), NULL);
    return hold;
}

static bool is_busy(size_t i, uint32_t permits, uint32_t limit)
{
    bowline_hold *hold;

    return try_for(&hold, i, permits, limit) == BOWLINE_BUSY;
}

static long waiting(void)
{
    return strtol(server_ask(redis, "ZCARD bowline:{x}:bwl.q"), NULL, 10);
}

static request requests[CLIENTS];

/* Client i waits; `nth` are in the queue then. */
static request *wait_for(size_t i, uint32_t permits, uint32_t limit, long nth)
{
    bowline_acquire_options o = options_of(permits, limit, BOWLINE_FOREVER);
    request                *r = &requests[i];

    assert_status(BOWLINE_OK, bowline_acquire_start(&r->op, clients[i], "x", &o, NULL), NULL);
    request_run(r);
    while (waiting() != nth && !bowline_operation_done(r->op))
        sleep_ms(1);
    return r;
}

static void cancel(request *r)
{
    bowline_hold *hold;

    bowline_cancel(r->op);
    request_join(r);
    assert_status(BOWLINE_CANCELLED, bowline_acquire_finish(&hold, r->op, NULL), NULL);
}

/* ---- ends at the server ---------------------------------------------------------------------- */

enum { NO_SHARE = -1 };

typedef struct share {
    char value[64];
} share;

/* A share of one permit that nobody else shares the lock with: it is named in the gate. */
static share only_share(void)
{
    share       only = { .value = "" };
    const char *gate = server_ask(redis, "GET bowline:{x}");

    assert_memory_equal(gate, "b1:~", 4);
    assert_non_null(strchr(gate, ' '));
    (void)snprintf(only.value, sizeof only.value, "%s", strchr(gate, ' ') + 1);
    return only;
}

/* The other one of two. */
static share other_share(share first)
{
    share       other = { .value = "" };
    const char *all   = server_ask(redis, "ZRANGE bowline:{x}:bwl.h 0 -1");
    size_t      size  = strcspn(all, " ");
    bool        skips = strncmp(all, first.value, size) == 0;

    assert_int_equal(all[size], ' ');
    (void)snprintf(other.value, sizeof other.value, "%.*s", (int)(skips ? strlen(all) : size),
                   skips ? all + size + 1 : all);
    assert_string_not_equal(other.value, first.value);
    return other;
}

/* In ms of the server's clock. */
static int64_t end_of(share s)
{
    const char *score = server_ask(redis, "ZSCORE bowline:{x}:bwl.h %s", s.value);

    return *score == '(' ? NO_SHARE : strtoll(score, NULL, 10);
}

static int64_t server_now(void)
{
    char   *micros;
    int64_t seconds = strtoll(server_ask(redis, "TIME"), &micros, 10);

    return seconds * 1000 + strtoll(micros, NULL, 10) / 1000;
}

/* The renewal thread of the client makes the share end later than `end`. */
static void await_renewal_past(share s, int64_t end, bowline_hold *hold)
{
    while (end_of(s) <= end && bowline_hold_left_ms(hold) > 0)
        sleep_ms(1);
    assert_true(end_of(s) > end);
}

/* ---- order and fences ------------------------------------------------------------------------ */

TEST(readers_share_the_lock_and_its_fence_and_a_writer_is_above_them)
{
    bowline_hold *first  = take(0, 1, 0);
    bowline_hold *second = take(1, 1, 0);
    uint64_t      fence  = bowline_hold_fence(first);

    assert_true(fence > 0);
    assert_true(bowline_hold_fence(second) == fence);
    assert_true(is_busy(2, 0, 0));
    assert_status(BOWLINE_OK, bowline_extend(first, 0, NULL), NULL);
    must_release(first);
    assert_true(is_busy(2, 0, 0));
    must_release(second);
    bowline_hold *writer = take(2, 0, 0);
    assert_true(bowline_hold_fence(writer) > fence);
    assert_true(is_busy(0, 1, 0));
    must_release(writer);
}

/* Redisson #5379: writers starve. */
TEST(waiting_writer_lets_no_later_reader_pass)
{
    bowline_hold *reader = take(0, 1, 0);
    request      *writer = wait_for(1, 0, 0, 1);
    request      *later  = wait_for(2, 1, 0, 2);

    assert_true(is_busy(3, 1, 0));
    must_release(reader);
    assert_int_equal(waiting(), 1);
    bowline_hold *wrote = request_granted(writer);
    assert_int_equal(waiting(), 1);
    uint64_t fence = bowline_hold_fence(wrote);
    must_release(wrote);
    bowline_hold *read = request_granted(later);
    assert_true(bowline_hold_fence(read) > fence);
    must_release(read);
}

/* One command of the writer lets in all readers up to the next writer.  (Redisson #6664: several
 * permits are released, and one waiter is woken.) */
TEST(release_lets_in_all_who_fit_at_once)
{
    bowline_hold *hold = take(0, 0, 0);
    request      *readers[3];
    bowline_hold *holds[COUNT_OF(readers)];

    for (size_t i = 0; i < COUNT_OF(readers); i++)
        readers[i] = wait_for(i + 1, 1, 0, (long)i + 1);
    request *writer = wait_for(4, 0, 0, 4);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    must_release(hold);
    assert_int_equal(queue_push_count(redis), COUNT_OF(readers));
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        holds[i] = request_granted(readers[i]);
    uint64_t fence = bowline_hold_fence(holds[0]);
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        assert_false(bowline_operation_done(writer->op));
        assert_true(bowline_hold_fence(holds[i]) == fence);
        must_release(holds[i]);
    }
    must_release(request_granted(writer));
}

/* Of a queue of small requests and a large one, the large one is not passed. */
TEST(request_for_many_permits_does_not_starve)
{
    bowline_hold *one   = take(0, 1, 3);
    bowline_hold *other = take(1, 1, 3);
    request      *large = wait_for(2, 3, 3, 1);

    assert_true(is_busy(3, 1, 3));
    must_release(one);
    assert_int_equal(waiting(), 1);
    must_release(other);
    bowline_hold *all = request_granted(large);
    assert_true(is_busy(3, 1, 3));
    must_release(all);
}

/* SemaphoreV2 of Curator takes permits one by one, so two requests can wait for each other. */
TEST(permits_are_granted_all_or_none)
{
    bowline_hold *two   = take(0, 2, 4);
    request      *first = wait_for(1, 3, 4, 1);
    request      *next  = wait_for(2, 3, 4, 2);

    assert_string_equal(server_ask(redis, "ZCARD bowline:{x}:bwl.h"), "2");
    must_release(two);
    must_release(request_granted(first));
    must_release(request_granted(next));
}

/* ---- what ends a share ----------------------------------------------------------------------- */

/* Redisson #7098, DistributedLock: while others renew, a dead reader lives on.  Nothing runs the
 * client of the one that dies.  The other one has an earlier lease of the same length: it lives
 * past the end of the dead one by its renewals only. */
TEST(share_that_nobody_renews_ends_while_others_are_renewed)
{
    bowline_acquire_options o       = options_of(1, 2, BOWLINE_NO_WAIT);
    bowline_client         *renews  = must_open_url("%s?lease=2s", redis->tcp_url);
    bowline_client         *dies    = must_open_without_renewal_thread(redis->tcp_url);
    bowline_hold           *renewed = NULL, *dead = NULL;
    share                   lives, ends;

    assert_status(BOWLINE_OK, bowline_acquire(&renewed, renews, "x", &o, NULL), NULL);
    lives      = only_share();
    o.lease_ms = 2000;
    assert_status(BOWLINE_OK, bowline_acquire(&dead, dies, "x", &o, NULL), NULL);
    ends          = other_share(lives);
    int64_t  end  = end_of(ends);
    request *next = wait_for(1, 1, 2, 1);
    await_renewal_past(lives, end, renewed);
    while (!bowline_operation_done(next->op)) {
        int64_t now = end_of(ends);
        assert_true(now == end || now == NO_SHARE);
        sleep_ms(1);
    }
    bowline_hold *hold = request_granted(next);
    assert_true(server_now() >= end);
    assert_true(bowline_hold_left_ms(renewed) > 0 && end_of(lives) > end);
    assert_true(end_of(ends) == NO_SHARE);
    assert_status(BOWLINE_LOST, bowline_release(dead, NULL), NULL);
    must_release(hold);
    must_release(renewed);
    bowline_close(renews);
    bowline_close(dies);
}

/* Redisson #2144: a reader with a shorter lease shortens that of all, and so does its renewal. */
TEST(shorter_lease_of_one_leaves_the_others_theirs)
{
    bowline_acquire_options brief = options_of(1, 0, BOWLINE_NO_WAIT);
    bowline_hold           *longs = take(0, 1, 0);
    bowline_hold           *shorts;

    brief.lease_ms = 1000;
    assert_status(BOWLINE_OK, bowline_acquire(&shorts, clients[1], "x", &brief, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_extend(shorts, 1000, NULL), NULL);
    assert_true(strtol(server_ask(redis, "PTTL bowline:{x}"), NULL, 10) > 20000);
    must_release(longs);
    assert_true(strtol(server_ask(redis, "PTTL bowline:{x}"), NULL, 10) <= 1000);
    assert_true(strtol(server_ask(redis, "PTTL bowline:{x}:bwl.h"), NULL, 10) <= 1000);
    must_release(shorts);
}

TEST(writer_that_gives_up_lets_in_the_readers_behind_it)
{
    bowline_hold *reader = take(0, 1, 0);
    request      *writer = wait_for(1, 0, 0, 1);
    request      *next   = wait_for(2, 1, 0, 2);

    cancel(writer);
    bowline_hold *hold = request_granted(next);
    must_release(reader);
    must_release(hold);
}

/* A dead writer at the head keeps no reader out. */
TEST(dead_writer_at_the_head_is_removed)
{
    bowline_hold *reader = take(0, 1, 0);

    (void)server_ask(redis, "ZADD bowline:{x}:bwl.q 1 'b1:gone 1.0 bowline:i:gone 2000'");
    (void)server_ask(redis, "HSET bowline:{x}:bwl.b b1:gone 1");
    request *next = wait_for(1, 1, 0, 0);
    must_release(request_granted(next));
    must_release(reader);
}

/* ---- scripts that know of no sharing --------------------------------------------------------- */

/* The lock of another program ends, and an exclusive try finds the readers in the queue: it gives
 * the lock to the first one alone, as every earlier version does.  That one lets the others in. */
TEST(reader_that_got_the_lock_alone_lets_the_others_in)
{
    (void)server_ask(redis, "SET bowline:{x} foreign");
    request *first = wait_for(0, 1, 0, 1);
    request *next  = wait_for(1, 1, 0, 2);

    assert_string_equal(server_ask(redis, "DEL bowline:{x}"), "1");
    assert_true(is_busy(2, 0, 0));
    bowline_hold *one = request_granted(first);
    bowline_hold *two = request_granted(next);
    assert_true(bowline_hold_fence(one) == bowline_hold_fence(two));
    must_release(one);
    must_release(two);
}

/* ---- downgrade and upgrade ------------------------------------------------------------------- */

/* In one command.  (Curator 276, 621: a writer that waits enters after a downgrade.) */
TEST(downgrade_lets_in_the_readers_at_the_head_and_no_writer)
{
    bowline_hold *hold      = take(0, 0, 0);
    uint64_t      fence     = bowline_hold_fence(hold);
    request      *readers[] = { wait_for(1, 1, 0, 1), wait_for(2, 1, 0, 2) };
    request      *writer    = wait_for(3, 0, 0, 3);
    request      *later     = wait_for(4, 1, 0, 4);

    assert_int_equal(bowline_hold_mode(hold), BOWLINE_EXCLUSIVE);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    assert_status(BOWLINE_OK, bowline_downgrade(hold, NULL), NULL);
    assert_int_equal(queue_push_count(redis), 2);
    assert_int_equal(bowline_hold_mode(hold), BOWLINE_SHARED);
    assert_true(bowline_hold_fence(hold) > fence);
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        bowline_hold *read = request_granted(readers[i]);
        assert_true(bowline_hold_fence(read) == bowline_hold_fence(hold));
        must_release(read);
    }
    assert_int_equal(waiting(), 2);
    assert_status(BOWLINE_OK, bowline_downgrade(hold, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    fence = bowline_hold_fence(hold);
    must_release(hold);
    bowline_hold *wrote = request_granted(writer);
    assert_true(bowline_hold_fence(wrote) > fence);
    must_release(wrote);
    must_release(request_granted(later));
}

/* Redisson #4217: a downgraded hold is renewed no more, and ends one lease later.  Here it is still
 * renewed by the server's clock when that lease has ended. */
TEST(downgraded_hold_is_renewed_past_its_lease)
{
    bowline_client *client = must_open_url("%s?lease=2s", redis->tcp_url);
    bowline_hold   *hold   = must_acquire(client, "x");

    assert_status(BOWLINE_OK, bowline_downgrade(hold, NULL), NULL);
    share         downgraded = only_share();
    bowline_hold *beside     = take(1, 1, 0);
    int64_t       lease_end  = end_of(downgraded);
    request      *writer     = wait_for(2, 0, 0, 1);
    await_renewal_past(downgraded, lease_end, hold);
    await_renewal_past(downgraded, lease_end + 2000, hold);
    assert_true(server_now() > lease_end);
    must_release(beside);
    assert_int_equal(waiting(), 1);
    must_release(hold);
    must_release(request_granted(writer));
    bowline_close(client);
}

/* Redisson #4796: two that upgrade wait for each other.  Who was upgraded is alone also after a
 * renewal, which once opened the lock to others. */
TEST(upgrade_is_for_the_only_one_who_shares)
{
    bowline_hold      *one   = take(0, 1, 0);
    bowline_hold      *other = take(1, 1, 0);
    bowline_operation *op;
    bowline_error      error;

    assert_status(BOWLINE_BUSY, bowline_upgrade(one, &error), &error);
    assert_non_null(strstr(error.text, "others share x"));
    assert_status(BOWLINE_BUSY, bowline_upgrade(other, NULL), NULL);
    uint64_t fence = bowline_hold_fence(one);
    assert_int_equal(bowline_hold_mode(one), BOWLINE_SHARED);
    must_release(other);
    request *writer = wait_for(2, 0, 0, 1);
    request *reader = wait_for(3, 1, 0, 2);
    server_signal(redis, SIGSTOP); /* the renewal thread may read the reply at any time */
    assert_status(BOWLINE_OK, bowline_upgrade_start(&op, one, NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_downgrade(one, NULL), NULL);
    server_signal(redis, SIGCONT);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    assert_int_equal(bowline_hold_mode(one), BOWLINE_EXCLUSIVE);
    assert_true(bowline_hold_fence(one) > fence);
    for (int i = 0; i < 2; i++)
        assert_status(BOWLINE_OK, bowline_extend(one, 0, NULL), NULL);
    assert_int_equal(waiting(), 2);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}:bwl.h"), "0");
    assert_status(BOWLINE_OK, bowline_upgrade(one, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_downgrade(one, NULL), NULL);
    assert_int_equal(waiting(), 2);
    must_release(one);
    must_release(request_granted(writer));
    must_release(request_granted(reader));
}

/* The server is silent for longer than a reply may take, and carries the command out late: a
 * renewal finds out what has become of it. */
TEST(change_without_a_reply_is_resolved_by_the_next_renewal)
{
    bowline_client *client = must_open_url("%s?timeout=100ms&lease=2s", redis->tcp_url);
    bowline_hold   *hold;
    uint64_t        fence = 0;

    assert_status(BOWLINE_OK, bowline_acquire(&hold, client, "x", NULL, NULL), NULL);
    for (int i = 0; i < 4; i++) {
        int expected = i % 2 == 0 ? BOWLINE_SHARED : BOWLINE_EXCLUSIVE;
        int (*change)(bowline_hold *, bowline_error *) =
            i % 2 == 0 ? bowline_downgrade : bowline_upgrade;
        fence = bowline_hold_fence(hold);
        server_signal(redis, SIGSTOP);
        assert_status(BOWLINE_UNKNOWN, change(hold, NULL), NULL);
        assert_int_equal(bowline_hold_mode(hold), BOWLINE_SHARED);
        server_signal(redis, SIGCONT);
        while (bowline_hold_fence(hold) == fence && bowline_hold_left_ms(hold) > 0)
            sleep_ms(1);
        assert_true(bowline_hold_fence(hold) > fence);
        assert_int_equal(bowline_hold_mode(hold), expected);
        if (expected == BOWLINE_SHARED)
            must_release(take(0, 1, 0));
        else
            assert_true(is_busy(0, 1, 0));
    }
    server_signal(redis, SIGSTOP);
    assert_status(BOWLINE_UNKNOWN, bowline_downgrade(hold, NULL), NULL);
    assert_status(BOWLINE_UNKNOWN, bowline_upgrade(hold, NULL), NULL);
    server_signal(redis, SIGCONT);
    must_release(hold);
    bowline_close(client);
}

TEST(hold_that_cannot_change_its_mode_says_why)
{
    static const struct refusal {
        const char *url;
        uint32_t    permits;
        int64_t     at_least_ms;
        int         status;
        const char *says;
    } refusals[] = {
        { "", 1, 0, BOWLINE_USAGE, "with permits" },
        { "&protocol=token", 0, 0, BOWLINE_UNSUPPORTED, "protocol token" },
        { "", 0, 1, BOWLINE_USAGE, "at_least_ms" },
    };

    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const struct refusal   *is     = &refusals[i];
        bowline_client         *client = must_open_url("%s%s", url, is->url);
        bowline_acquire_options o      = options_of(is->permits, is->permits, BOWLINE_NO_WAIT);
        bowline_hold           *hold;
        bowline_error           error = { .text = "" };
        o.at_least_ms                 = is->at_least_ms;
        assert_status(BOWLINE_OK, bowline_acquire(&hold, client, "x", &o, NULL), NULL);
        assert_status(is->status, bowline_downgrade(hold, &error), &error);
        assert_non_null(strstr(error.text, is->says));
        must_release(hold);
        bowline_close(client);
    }
}

/* ---- what people see ------------------------------------------------------------------------- */

static bowline_holder all[200] = { { .size = sizeof all[0] } };

TEST(holders_are_all_who_share_the_lock_and_one_share_can_be_broken)
{
    bowline_hold      *holds[] = { take(0, 1, 5), take(1, 2, 5) };
    request           *writer  = wait_for(2, 0, 0, 1);
    bowline_operation *op;
    uint64_t           fence = bowline_hold_fence(holds[0]);
    bowline_error      error;

    assert_status(BOWLINE_OK, bowline_hold_set_command(holds[1], getpid(), NULL), NULL);
    assert_status(BOWLINE_OK, bowline_extend(holds[1], 50000, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_who(clients[3], "x", all, NULL), NULL);
    assert_true(all[0].held && all[0].sharers == 2 && all[0].permits == 3 && all[0].id == 0);
    assert_status(BOWLINE_OK, bowline_holders_start(&op, clients[3], "x", NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_who_finish(all, op, NULL), NULL);
    assert_int_equal(bowline_holders_finish(all, 1, op, NULL), 2);
    assert_true(all[0].mode == BOWLINE_SHARED && all[0].permits == 1 && all[1].size == 0);
    assert_int_equal(bowline_holders(clients[3], "x", all, COUNT_OF(all), NULL), 2);
    assert_true(all[1].permits == 2 && all[1].limit == 5 && all[1].mode == BOWLINE_PERMITS);
    for (int i = 0; i < 2; i++) {
        char by[BOWLINE_BREAKER_MAX];
        assert_true(all[i].sharers == 1 && all[i].pid == getpid() && all[i].fence == fence);
        assert_true(all[i].left_ms > 20000 * (i + 1) && all[i].left_ms <= 50000);
        assert_int_equal(waiting(), 1);
        assert_status(BOWLINE_OK, bowline_break(clients[3], "x", all[i].id, &error), &error);
        assert_status(BOWLINE_BUSY, bowline_break(clients[3], "x", all[i].id, NULL), NULL);
        assert_status(BOWLINE_OK, bowline_broken_by(clients[3], "x", all[i].id, by, NULL), NULL);
        assert_status(BOWLINE_LOST, bowline_release(holds[i], &error), NULL);
        assert_non_null(strstr(error.text, strchr(by, '@')));
    }
    must_release(request_granted(writer));
    assert_int_equal(bowline_holders(clients[3], "x", NULL, 0, NULL), 0);
}

/* Three pages; a share has up to 40 members, and a hundred of the shares end at the same time. */
TEST(holders_come_page_by_page)
{
    uint64_t permits = 0;

    (void)server_ask(redis,
                     "EVAL 'redis.call(\"SET\", KEYS[1], \"b1:~5\") for i = 1, 150 do "
                     "for k = 0, i %% 40 do redis.call(\"ZADD\", KEYS[2], ARGV[1] - i %% 3 %% "
                     "2, string.format(\"b1:%%025d\", i) .. (k > 0 and \":\" .. k or \"\")) end "
                     "end' 2 bowline:{x} bowline:{x}:bwl.h 9999999999999");
    assert_int_equal(bowline_holders(clients[0], "x", all, COUNT_OF(all), NULL), 150);
    for (size_t i = 0; i < 150; i++)
        permits += all[i].permits * (all[i].id != 0 && all[i].fence == 5 * 1024);
    assert_int_equal(permits, 2955);
    (void)server_ask(redis, "FLUSHALL");
}

/* Another program has removed the expiry of the set: that of the lock stays above the last end. */
TEST(share_that_joins_never_shortens_the_lock)
{
    bowline_hold *first = take(0, 1, 0), *second = take(1, 1, 0), *third;

    assert_status(BOWLINE_OK, bowline_extend(first, 60000, NULL), NULL);
    (void)server_ask(redis, "PERSIST bowline:{x}:bwl.h");
    assert_status(BOWLINE_OK,
                  bowline_acquire(&third, clients[2], "x",
                                  BOWLINE_ACQUIRE(.mode = BOWLINE_SHARED, .lease_ms = 20000), NULL),
                  NULL);
    assert_true(atol(server_ask(redis, "PTTL bowline:{x}")) > 50000);
    assert_true(atol(server_ask(redis, "PTTL bowline:{x}:bwl.h")) > 50000);
    must_release(third);
    must_release(second);
    must_release(first);
}

static long calls_of(const char *field)
{
    const char *at = strstr(server_ask(redis, "INFO commandstats"), field);

    return at != NULL ? atol(at + strlen(field)) : 0;
}

/* The script is 9 KB: if each request sent it, they would not fit into the buffer of the client. */
TEST(many_requests_to_a_server_that_does_not_know_the_script_all_succeed)
{
    enum { MANY = 500 };
    bowline_operation      *ops[MANY];
    bowline_hold           *holds[MANY];
    bowline_acquire_options options = options_of(1, 0, BOWLINE_NO_WAIT);
    bowline_error           error;

    options.mode = BOWLINE_SHARED;
    /* Again when the connection has sent the text before. */
    for (int round = 0; round < 2; round++) {
        (void)server_ask(redis, "SCRIPT FLUSH");
        (void)server_ask(redis, "CONFIG RESETSTAT");
        for (int i = 0; i < MANY; i++)
            assert_status(BOWLINE_OK,
                          bowline_acquire_start(&ops[i], clients[0], "x", &options, &error),
                          &error);
        for (int i = 0; i < MANY; i++)
            assert_status(BOWLINE_OK, bowline_acquire_finish(&holds[i], ops[i], &error), &error);
        assert_status(BOWLINE_OK, bowline_release_all(holds, MANY, &error), &error);
        assert_in_range(calls_of("cmdstat_eval:calls="), 1, 20);
    }
}

/* A yield gives a share back, and asks for it again behind those that wait. */
TEST(yield_of_a_share_lets_a_writer_pass)
{
    bowline_hold      *reader = take(0, 1, 0);
    request           *writer = wait_for(1, 0, 0, 1);
    bowline_operation *op;

    assert_status(BOWLINE_OK, bowline_yield_start(&op, reader, BOWLINE_FOREVER, NULL), NULL);
    bowline_hold *wrote = request_granted(writer);
    assert_false(bowline_operation_done(op));
    uint64_t fence = bowline_hold_fence(wrote);
    must_release(wrote);
    assert_status(BOWLINE_OK, bowline_operation_wait(op, FOR_EVER, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    assert_true(bowline_hold_fence(reader) > fence);
    must_release(reader);
}

static int start(void **state)
{
    int status = start_server(state);

    (void)snprintf(url, sizeof url, "%s?lease=30s", redis->tcp_url);
    return status;
}

AROUND(start, stop_server)
