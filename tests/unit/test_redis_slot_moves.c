/*
 * test_redis_slot_moves.c -- a slot that moves to another node, and what waits until it has.
 *
 * The nodes are played (slot_fixture.h); a real cluster is in tests/live/test_cluster_queue.c.
 */
#include "slot_fixture.h"

static void test_slot_that_has_gone_is_looked_for(void **state)
{
    (void)state;
    (void)queued_at_0();
    says(0, ">3\r\n$12\r\nsunsubscribe\r\n$%zu\r\n%s\r\n:0\r\n", strlen(inbox), inbox);
    assert_true(hears(0, "SSUBSCRIBE", "bowline:f:{")); /* for all that we know */
    for (unsigned i = 0; i < 3; i++)
        says_moved(0, "a", 1);
    greets_queue(1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
    read_inbox();
    says_prepared(1);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_BEAT].sha1, inbox));
}

/* Others may have drawn fences elsewhere meanwhile. */
static void test_slot_that_has_come_back_is_told_again(void **state)
{
    (void)state;
    (void)held_at_1();
    bwl_lock_acquire(lock_named("a"), &operation, 60000);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    says_moved(1, "a", 0);
    assert_true(hears(0, "SSUBSCRIBE", "bowline:f:{"));
    for (unsigned i = 0; i < 3; i++)
        says_moved(0, "a", 1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
}

/* It is about one key, which is there if it is not here. */
static void test_slot_whose_keys_have_gone_is_extended_where_they_are(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_1();
    bwl_lock_extend(lock, &operation, LEASE_MS);
    assert_true(hears(1, EXTEND, "30000"));
    says(1, "-ASK %u 127.0.0.1:%d\r\n", slot_of("a"), ports[2]);
    greets_queue(2);
    assert_true(hears(2, "ASKING", EXTEND));
    assert_int_equal(operation.ended, BWL_PENDING);
}

/* What another slot has lost is nothing to us. */
static void test_slot_of_others_has_gone(void **state)
{
    char other[BWL_QUEUE_INBOX_MAX + 1];

    (void)state;
    (void)queued_at_0();
    (void)snprintf(other, sizeof other, "%.*s{1}", (int)strcspn(inbox, "{"), inbox);
    says(0, ">3\r\n$12\r\nsunsubscribe\r\n$%zu\r\n%s\r\n:0\r\n", strlen(other), other);
    assert_false(hears(0, "EVAL", ""));
}

/* What is held, or not asked for, is not looked for; nor what is with another node by now. */
static void test_slot_that_has_gone_is_nothing_to_others(void **state)
{
    char former[BWL_QUEUE_INBOX_MAX + 1];

    (void)state;
    bwl_lock *lock = asked_at_0();
    (void)lock_named("a");
    memcpy(former, inbox, sizeof former);
    says_prepared(0);
    assert_true(hears(0, "EVALSHA", "bwl.q"));
    says_moved(0, "a", 1);
    greets_queue(1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
    read_inbox();
    says_prepared(1);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    says(1, "*6\r\n$6\r\nQUEUED\r\n:5\r\n:0\r\n:30000\r\n:1\r\n:1795323949966265\r\n");
    assert_int_equal(lock->hold.state, BWL_HOLD_QUEUED);
    says(0, ">3\r\n$12\r\nsunsubscribe\r\n$%zu\r\n%s\r\n:0\r\n", strlen(former), former);
    assert_false(hears(0, "EVAL", ""));
    assert_false(hears(1, "EVAL", ""));
    assert_int_equal(client->pending, 0);
}

static void test_slot_that_has_gone_is_nothing_to_who_holds_or_looks(void **state)
{
    (void)state;
    bwl_lock *lock = told_and_held();
    assert_false(client->engine->look(lock_named("a")));
    turn();
    assert_true(hears(0, "EVALSHA", "bowline:{a}"));
    says(0, "*7\r\n+none\r\n:-2\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n");
    says(0, ">3\r\n$12\r\nsunsubscribe\r\n$%zu\r\n%s\r\n:0\r\n", strlen(inbox), inbox);
    assert_false(hears(0, "EVAL", ""));
    assert_int_equal(lock->hold.state, BWL_HOLD_HELD);
    assert_int_equal(client->pending, 0);
}

static void test_slot_whose_keys_are_apart_is_asked_again(void **state)
{
    char token[BWL_TOKEN_MAX + 1];

    (void)state;
    bwl_lock *lock = asked_at_0();
    memcpy(token, lock->hold.claim.token, sizeof token);
    token[BWL_QUEUE_TOKEN_SIZE] = '\0';
    says_prepared(0);
    for (unsigned n = 0; n < 3; n++) {
        assert_int_equal(client->pending, 1);
        for (unsigned i = 0; i < 60 && !hears(0, "EVALSHA", "bwl.q"); i++)
            turn();
        assert_non_null(strstr(bytes, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1));
        assert_non_null(strstr(bytes, token)); /* and it is the same attempt */
        if (n == 1) /* all of them have gone: it is not for us to follow */
            says(0, "-ASK %u 127.0.0.1:%d\r\n", slot_of("a"), ports[1]);
        else if (n == 0)
            says(0, "-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
    }
    says(0, ":1795323949966265\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    assert_int_equal(client->pending, 0);
    assert_false(is_called(1));
    assert_int_equal(((bwl_redis_part *)lock->part)->home->port, ports[0]);
}

/* Its machine asks something else by now. */
static void test_slot_question_that_nobody_wants_is_not_asked_again(void **state)
{
    char token[BWL_TOKEN_MAX + 1];

    (void)state;
    bwl_lock *lock = asked_at_0();
    says_prepared(0);
    assert_true(hears(0, "EVALSHA", "bwl.q"));
    memcpy(token, lock->hold.claim.token, sizeof token);
    token[BWL_QUEUE_TOKEN_SIZE] = '\0';
    assert_non_null(strstr(bytes, token));
    says(0, "-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
    lock->latest_tag++;
    for (unsigned i = 0; i < 60 && !hears(0, "EVALSHA", "bwl.q"); i++)
        turn();
    assert_non_null(strstr(bytes, "EVALSHA")); /* another attempt, by another token */
    assert_null(strstr(bytes, token));
}

static void test_slot_script_that_broke_is_settled(void **state)
{
    (void)state;
    (void)asked_at_0();
    says_prepared(0);
    assert_true(hears(0, "EVALSHA", "bwl.q"));
    says(0, "-ERR Script attempted to access a non local key in a cluster node script: 0\r\n");
    for (unsigned i = 0; i < 60 && !hears(0, "EVALSHA", "bwl.q"); i++)
        turn();
    assert_non_null(strstr(bytes, bwl_scripts[BWL_SCRIPT_QUEUE_BEAT].sha1));
}

/* ... but a beat is asked again by the next one, and is not put aside either. */
static void test_slot_beat_is_not_settled(void **state)
{
    static const char *const answers[] = {
        "-ERR Script attempted to access a non local key in a cluster node script: 0\r\n",
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
    };

    (void)state;
    bwl_lock *lock = queued_at_0();
    for (unsigned i = 0; i < 2; i++) {
        bwl_lock_event(lock, (bwl_event){ .kind = BWL_DOWN }); /* a beat is due */
        turn();
        assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_BEAT].sha1, inbox));
        says(0, "%s", answers[i]);
        assert_false(hears(0, "EVAL", ""));
        assert_int_equal(client->pending, 0);
        assert_int_equal(lock->hold.state, BWL_HOLD_QUEUED);
    }
}

/* ---- aside ----------------------------------------------------------------------------------- */

#define KEYS_ARE_APART "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"

static bwl_cluster *cluster(void)
{
    return ((bwl_redis_store *)client->store)->cluster;
}

/* The clock stands still, but for this. */
static void clock_shows(bwl_ms at)
{
    client->latest = at;
    turn();
    assert_true(bwl_client_now(client) == at);
}

/* For as long as a server may be silent, every 50 ms. */
static void test_slot_that_never_comes_is_not_waited_for_for_ever(void **state)
{
    (void)state;
    bwl_lock *lock = asked_at_0();
    says_prepared(0);
    assert_true(hears(0, "EVALSHA", "bwl.q"));
    clock_shows(bwl_client_now(client) + 1000);
    says(0, KEYS_ARE_APART);
    assert_int_equal(cluster()->aside_count, 1);
    bwl_ms until = cluster()->aside[0].hops_until;
    assert_true(until == client->latest + client->settings.answer_ms);
    assert_true(bwl_redis_aside_until(client) == client->latest + 50);
    clock_shows(client->latest + 49);
    assert_int_equal(cluster()->aside_count, 1);
    clock_shows(client->latest + 1);
    assert_int_equal(cluster()->aside_count, 0);
    assert_true(hears(0, "EVALSHA", "bwl.q"));
    clock_shows(until - 1);
    says(0, KEYS_ARE_APART);
    assert_int_equal(cluster()->aside_count, 1);
    clock_shows(until + 49);
    assert_true(hears(0, "EVALSHA", "bwl.q"));
    says(0, KEYS_ARE_APART);
    assert_int_equal(cluster()->aside_count, 0);
    assert_non_null(strstr(lock->why.text, "is being moved to another node (TRYAGAIN)"));
}

static void test_slots_that_move_are_asked_each_at_its_time(void **state)
{
    static bwl_operation second; /* ends with the client */

    (void)state;
    bwl_lock *first = asked_at_0();
    says_prepared(0);
    assert_true(hears(0, "EVALSHA", "bwl.q"));
    clock_shows(bwl_client_now(client) + 1000);
    says(0, KEYS_ARE_APART);
    clock_shows(client->latest + 10);
    bwl_lock *other = lock_named("a");
    bwl_lock_acquire(other, &second, 60000);
    turn();
    assert_true(hears(0, "EVALSHA", "bwl.q"));
    says(0, KEYS_ARE_APART);
    assert_int_equal(cluster()->aside_count, 2);
    assert_ptr_equal(cluster()->aside[0].lock, first);
    clock_shows(client->latest + 40);
    assert_int_equal(cluster()->aside_count, 1);
    assert_ptr_equal(cluster()->aside[0].lock, other);
    assert_int_equal(client->pending, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_slot_that_has_gone_is_looked_for),
        CASE(test_slot_that_has_come_back_is_told_again),
        CASE(test_slot_whose_keys_have_gone_is_extended_where_they_are),
        CASE(test_slot_of_others_has_gone),
        CASE(test_slot_that_has_gone_is_nothing_to_others),
        CASE(test_slot_that_has_gone_is_nothing_to_who_holds_or_looks),
        CASE(test_slot_whose_keys_are_apart_is_asked_again),
        CASE(test_slot_question_that_nobody_wants_is_not_asked_again),
        CASE(test_slot_script_that_broke_is_settled),
        CASE(test_slot_beat_is_not_settled),
        CASE(test_slot_that_never_comes_is_not_waited_for_for_ever),
        CASE(test_slots_that_move_are_asked_each_at_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
