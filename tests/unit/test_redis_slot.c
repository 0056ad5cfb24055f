/*
 * test_redis_slot.c -- what a node of a cluster is told of a slot before the first question about
 * it, and what waits until a slot has moved.
 *
 * The nodes are played (cluster_fixture.h); a real cluster is in tests/live/test_cluster_queue.c.
 */
#include "cluster_fixture.h"

#include "engine/redis_slot.h"

#define SAYS_NO_SCRIPTS \
    "-NOPERM this user has no permissions to run the 'script|exists' command\r\n"

static char bytes[ROOM];
static char inbox[BWL_QUEUE_INBOX_MAX + 1];

static int play_queue(void **state)
{
    protocol = "queue";
    return play(state);
}

/* Everything that has come; true if these words are in it, in this order. */
static bool hears(unsigned i, const char *first, const char *second)
{
    ssize_t size               = recv(lines[i], bytes, sizeof bytes - 1, 0);
    bytes[size > 0 ? size : 0] = '\0';
    const char *at             = strstr(bytes, first);

    return at != NULL && strstr(at, second) != NULL;
}

static void greets_queue(unsigned i)
{
    assert_true(is_called(i));
    assert_true(hears(i, "CLUSTER", "SCRIPT"));
    says(i, SAYS_HELLO("cluster", "master") SAYS_INFO("a") SAYS_NO_MAP SAYS_NO_SCRIPTS);
}

/* The channel that was just asked for. */
static void read_inbox(void)
{
    const char *at = strstr(bytes, BWL_QUEUE_INBOX);

    assert_non_null(at);
    (void)snprintf(inbox, sizeof inbox, "%.*s", (int)strcspn(at, "\r"), at);
}

static void says_prepared(unsigned i)
{
    says(i, ">3\r\n$10\r\nssubscribe\r\n$%zu\r\n%s\r\n:1\r\n", strlen(inbox), inbox);
    says(i, ":1\r\n>3\r\n$8\r\nsmessage\r\n$%zu\r\n%s\r\n$1\r\nH\r\n:1\r\n", strlen(inbox), inbox);
}

static bwl_lock *asked_at_0(void)
{
    bwl_lock *lock = lock_named("a");

    bwl_lock_acquire(lock, &operation, 60000);
    greets_queue(0);
    assert_true(hears(0, "SSUBSCRIBE", "bowline:f:{"));
    assert_null(strstr(bytes, ":bwl.q")); /* nothing of the question itself */
    read_inbox();
    return lock;
}

static bwl_lock *queued_at_0(void)
{
    bwl_lock *lock = asked_at_0();

    says_prepared(0);
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    says(0, "*6\r\n$6\r\nQUEUED\r\n:5\r\n:0\r\n:30000\r\n:1\r\n:1795323949966265\r\n");
    assert_int_equal(lock->hold.state, BWL_HOLD_QUEUED);
    return lock;
}

/* By way of 0, which has said so. */
static bwl_lock *held_at_1(void)
{
    bwl_lock *lock = asked_at_0();

    for (unsigned i = 0; i < 3; i++)
        says_moved(0, "a", 1);
    greets_queue(1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
    read_inbox();
    says_prepared(1);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    says(1, ":1795323949966265\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    return lock;
}

/* ---- what comes before ----------------------------------------------------------------------- */

static void test_slot_is_told_before_the_first_question(void **state)
{
    char  tag[BWL_QUEUE_TAG_MAX + 1];
    char *brace;

    (void)state;
    bwl_lock *lock = asked_at_0();
    bwl_redis_slot_tag(client->store, lock, tag);
    brace = strchr(inbox, '{');
    assert_non_null(brace);
    assert_string_equal(brace, tag);
    assert_int_equal(bwl_cluster_slot(tag, strlen(tag)), slot_of("a"));
    says_prepared(0);
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    assert_non_null(strstr(bytes, "\r\nspublish\r\n")); /* it may have just come */
    says(0, ":1795323949966265\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    bwl_lock_release(lock, &operation);
    turn();
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_RELEASE].sha1, "bwl.q"));
    assert_null(strstr(bytes, "SSUBSCRIBE")); /* once is enough */
}

/* Behind it would be carried out before the question, or without what comes before it. */
static void test_slot_is_told_before_anything_else_goes_out(void **state)
{
    static bwl_operation second; /* ends with the client */

    (void)state;
    (void)asked_at_0();
    bwl_lock *other = lock_named("b");
    bwl_lock_acquire(other, &second, 60000);
    turn();
    assert_false(hears(0, "*", ""));
    says(0, ">3\r\n$10\r\nssubscribe\r\n$%zu\r\n%s\r\n:1\r\n:1\r\n", strlen(inbox), inbox);
    assert_false(hears(0, "*", "")); /* the floor is not laid yet */
    says(0, ":1\r\n");
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, "SSUBSCRIBE"));
    says(0, ":1795323949966265\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    bwl_lock_unwanted(other);
}

/* Both of what comes before are refused, and nothing was asked. */
static void test_slot_that_is_elsewhere(void **state)
{
    (void)state;
    (void)asked_at_0();
    for (unsigned i = 0; i < 3; i++)
        says_moved(0, "a", 1);
    greets_queue(1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
    assert_false(hears(0, ":bwl.q", ""));
}

static void test_slot_whose_channels_are_not_for_us(void **state)
{
    (void)state;
    bwl_lock *lock = asked_at_0();
    says(0, "-NOPERM no channel\r\n-NOPERM no channel\r\n:1\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(strstr(lock->why, "NOPERM no channel: man 7 bowline, RIGHTS"));
    assert_int_equal(client->pending, 0);
    bwl_lock_unwanted(lock);
}

/* Its end surely comes before the question: nothing is in doubt. */
static void test_slot_whose_connection_ends_in_between(void **state)
{
    (void)state;
    (void)asked_at_0();
    vanish(0);
    hang_up(0);
    greets_queue(1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
    read_inbox();
    says_prepared(1);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox)); /* no BEAT: it is new */
    assert_int_equal(operation.ended, BWL_PENDING);
}

/* What was refused of what comes before it is nothing to a node that knows all of it. */
static void test_slot_that_another_node_has_been_told_of(void **state)
{
    static bwl_operation second; /* ends with the client */

    (void)state;
    (void)held_at_1();
    bwl_redis_store *first               = client->store;
    first->cluster->owners[slot_of("a")] = 1; /* by a map that is old: node 0 */
    bwl_lock *other                      = lock_named("a");
    bwl_lock_acquire(other, &second, 60000);
    turn();
    assert_true(hears(0, "SSUBSCRIBE", "bowline:f:{"));
    says(0, "-LOADING not yet\r\n");
    vanish(0);
    hang_up(0);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    assert_null(strstr(bytes, "SSUBSCRIBE"));
    says(1, ":1795323949966266\r\n");
    assert_int_equal(second.ended, BWL_HELD);
}

/* ---- a slot that moves ----------------------------------------------------------------------- */

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

static void test_slot_of_a_server_that_is_too_old(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    assert_true(is_called(0));
    says(0, "%%4\r\n+version\r\n+6.2.14\r\n+proto\r\n:3\r\n+id\r\n:7\r\n+mode\r\n+cluster\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(strstr(lock->why, "use protocol=token"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play_queue, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_slot_is_told_before_the_first_question),
        CASE(test_slot_is_told_before_anything_else_goes_out),
        CASE(test_slot_that_is_elsewhere),
        CASE(test_slot_whose_channels_are_not_for_us),
        CASE(test_slot_whose_connection_ends_in_between),
        CASE(test_slot_that_another_node_has_been_told_of),
        CASE(test_slot_that_has_gone_is_looked_for),
        CASE(test_slot_that_has_come_back_is_told_again),
        CASE(test_slot_whose_keys_have_gone_is_extended_where_they_are),
        CASE(test_slot_of_others_has_gone),
        CASE(test_slot_whose_keys_are_apart_is_asked_again),
        CASE(test_slot_question_that_nobody_wants_is_not_asked_again),
        CASE(test_slot_script_that_broke_is_settled),
        CASE(test_slot_of_a_server_that_is_too_old),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
