/*
 * test_redis_batch.c -- many renewals as one call: who goes together, and that each is told its own
 * answer, whatever becomes of the others or of the connection meanwhile.
 */
#include "redis_fixture.h"

enum { MANY = 6, LEASE_MS = 3000 };

static bwl_operation operation;
static bwl_lock     *locks[2 * BWL_BATCH_MIN + 1];
static char          lines[READ_MAX];

static int play_renewals(void **state)
{
    (void)play(state);
    close_client();
    open_client("lease=3s&timeout=3s");
    return 0;
}

/* All of them are due for their renewal, one after the other. */
static void hold_until_due(unsigned count)
{
    char name[16];

    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        locks[i] = held_lock(name, &operation);
        pass(2);
    }
    pass(LEASE_MS / 3);
}

static void say_batch(char *ret_lines, const char *command, unsigned first, unsigned count)
{
    int size = snprintf(ret_lines, READ_MAX, "%s %u", command, count);

    for (unsigned i = first; i < first + count; i++)
        size += snprintf(ret_lines + size, READ_MAX - (size_t)size, " bowline:{n%u}", i);
    for (unsigned i = first; i < first + count; i++)
        size +=
            snprintf(ret_lines + size, READ_MAX - (size_t)size, " %s", locks[i]->hold.claim.token);
    (void)snprintf(ret_lines + size, READ_MAX - (size_t)size, " %d", LEASE_MS);
}

static void expect_batch(const char *command, unsigned first, unsigned count)
{
    say_batch(lines, command, first, count);
    expect("%s", lines);
}

/* Each by itself, as it is asked again after a batch that was refused. */
static void expect_alone(unsigned first, unsigned count)
{
    int size = 0;

    for (unsigned i = first; i < first + count; i++)
        size += snprintf(lines + size, sizeof lines - (size_t)size,
                         "EVALSHA @extend_if_mine 1 bowline:{n%u} %s %d\n", i,
                         locks[i]->hold.claim.token, LEASE_MS);
    expect("%s", lines);
}

/* They are due, and asked together. */
static void ask_together(unsigned count)
{
    hold_until_due(count);
    turn();
    expect_batch("EVALSHA @extend_each_if_mine", 0, count);
    told_count = 0;
}

/* What was renewed at the same time is due at the same time: in any order. */
static void pass_until_due_again(void)
{
    pass(LEASE_MS / 3 + 5);
    turn();
}

/* These, together, in any order, and nothing else. */
static void expect_any_batch(unsigned first, unsigned count)
{
    char    head[80];
    char    name[32];
    ssize_t got = recv(server, lines, sizeof lines - 1, 0);

    assert_true(got > 0);
    lines[got] = '\0';
    (void)snprintf(head, sizeof head, "*%u\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n%u\r\n",
                   2 * count + 4, bwl_scripts[BWL_SCRIPT_EXTEND_EACH_IF_MINE].sha1, count);
    assert_int_equal(strncmp(lines, head, strlen(head)), 0);
    for (unsigned i = first; i < first + count; i++) {
        (void)snprintf(name, sizeof name, "bowline:{n%u}\r\n", i);
        assert_non_null(strstr(lines, name));
    }
    assert_null(strstr(lines + 1, "*"));
}

static void test_redis_batch_each_is_told_its_own_answer(void **state)
{
    (void)state;
    ask_together(MANY);
    says("*6\r\n:1\r\n:1\r\n:0\r\n:1\r\n:1\r\n:1\r\n");
    turn();
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(told_to(locks[i], BWL_REPLY, i == 2 ? BWL_NO : BWL_YES), 1);
        assert_int_equal(bwl_hold_is_held(&locks[i]->hold), i != 2);
    }
    assert_int_equal(told_count, MANY);
    assert_int_equal(store->questions_count, 0);
}

static void test_redis_batch_few_are_asked_one_by_one(void **state)
{
    (void)state;
    hold_until_due(BWL_BATCH_MIN - 1);
    turn();
    expect_alone(0, BWL_BATCH_MIN - 1);
}

/* Somebody wants another lease: those before it go together, and those behind it. */
static void test_redis_batch_has_one_lease(void **state)
{
    static char wanted[READ_MAX];
    unsigned    half = BWL_BATCH_MIN;
    unsigned    all  = 2 * half + 1;

    (void)state;
    hold_until_due(all);
    locks[half]->hold.claim.lease_ms = 2 * LEASE_MS;
    turn();
    say_batch(wanted, "EVALSHA @extend_each_if_mine", 0, half);
    int size = (int)strlen(wanted);
    size += snprintf(wanted + size, sizeof wanted - (size_t)size,
                     "\nEVALSHA @extend_if_mine 1 bowline:{n%u} %s %d\n", half,
                     locks[half]->hold.claim.token, 2 * LEASE_MS);
    say_batch(lines, "EVALSHA @extend_each_if_mine", half + 1, half);
    (void)snprintf(wanted + size, sizeof wanted - (size_t)size, "%s", lines);
    expect("%s", wanted);
}

static void test_redis_batch_unknown_script_is_sent_by_its_text(void **state)
{
    (void)state;
    ask_together(MANY);
    says("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    turn();
    expect_batch("EVAL #extend_each_if_mine", 0, MANY);
    assert_int_equal(told_count, 0);
    says("*6\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
    turn();
    assert_int_equal(told_count, MANY);
    pass_until_due_again();
    expect_any_batch(0, MANY);
}

static void test_redis_batch_script_unknown_by_its_text_too_is_not_sent_for_ever(void **state)
{
    (void)state;
    ask_together(MANY);
    says("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    turn();
    expect_batch("EVAL #extend_each_if_mine", 0, MANY);
    says("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    turn();
    expect_alone(0, MANY);
}

/* An ACL forbids one key: the others are renewed, and go together again the next time. */
static void test_redis_batch_that_is_refused_is_asked_one_by_one(void **state)
{
    (void)state;
    ask_together(MANY);
    says("-NOPERM this user has no permissions to access one of the keys\r\n");
    turn();
    expect_alone(0, MANY);
    assert_int_equal(told_count, 0);
    says("-NOPERM no permissions to access a key\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
    turn();
    assert_int_equal(told_to(locks[0], BWL_REPLY, BWL_REFUSED), 1);
    assert_string_equal(locks[1]->why.text, "");
    assert_non_null(strstr(locks[0]->why.text, "NOPERM"));
    for (unsigned i = 0; i < MANY; i++)
        assert_true(bwl_hold_is_held(&locks[i]->hold));
    /* Who was refused goes by itself the next time, and the others together. */
    pass_until_due_again();
    char    alone[120];
    ssize_t got = recv(server, lines, sizeof lines - 1, 0);
    assert_true(got > 0);
    lines[got] = '\0';
    (void)snprintf(alone, sizeof alone, "%s\r\n$1\r\n1\r\n$12\r\nbowline:{n0}",
                   bwl_scripts[BWL_SCRIPT_EXTEND_IF_MINE].sha1);
    assert_non_null(strstr(lines, alone));
    (void)snprintf(alone, sizeof alone, "%s\r\n$1\r\n%d\r\n",
                   bwl_scripts[BWL_SCRIPT_EXTEND_EACH_IF_MINE].sha1, MANY - 1);
    assert_non_null(strstr(lines, alone));
    assert_int_equal(store->batches_refused, 1);
}

/* All of them one by one, in any order. */
static void expect_all_alone(void)
{
    const char *sha1  = bwl_scripts[BWL_SCRIPT_EXTEND_IF_MINE].sha1;
    unsigned    count = 0;
    ssize_t     got   = recv(server, lines, sizeof lines - 1, 0);

    assert_true(got > 0);
    lines[got] = '\0';
    for (const char *at = lines; (at = strstr(at, sha1)) != NULL; at++)
        count++;
    assert_int_equal(count, MANY);
    assert_null(strstr(lines, bwl_scripts[BWL_SCRIPT_EXTEND_EACH_IF_MINE].sha1));
}

/* It is refused again, before any other was answered: it is the script that may not be run. */
static void test_redis_batch_refused_twice_is_not_tried_again_on_this_connection(void **state)
{
    (void)state;
    ask_together(MANY);
    for (unsigned round = 0; round < 2; round++) {
        says("-NOPERM this user has no permissions to run 'evalsha'\r\n");
        turn();
        expect_all_alone();
        says(":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
        turn();
        pass_until_due_again();
        if (round == 0)
            expect_any_batch(0, MANY);
    }
    expect_all_alone();
    assert_int_equal(store->batches_refused, 2);
}

/* What the script could not find out of one key is asked of that key alone. */
static void test_redis_batch_key_without_an_answer_is_asked_alone(void **state)
{
    (void)state;
    ask_together(MANY);
    says("*6\r\n:1\r\n:1\r\n:1\r\n:-1\r\n:1\r\n:1\r\n");
    turn();
    expect_alone(3, 1);
    assert_int_equal(told_count, MANY - 1);
    says(":1\r\n");
    turn();
    assert_int_equal(told_to(locks[3], BWL_REPLY, BWL_YES), 1);
}

static void test_redis_batch_server_that_cannot_serve_now_tells_all(void **state)
{
    (void)state;
    ask_together(MANY);
    says("-LOADING Redis is loading the dataset in memory\r\n");
    turn();
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(told_to(locks[i], BWL_REPLY, BWL_LATER), 1);
        assert_non_null(strstr(locks[i]->why.text, "LOADING"));
        assert_true(bwl_hold_is_held(&locks[i]->hold));
    }
    expect(NOTHING);
    assert_int_equal(store->batches_refused, 0);
}

static void test_redis_batch_cut_in_the_middle_leaves_all_in_doubt(void **state)
{
    (void)state;
    ask_together(MANY);
    says("*6\r\n:1\r\n:1\r\n:0\r\n");
    hang_up();
    turn();
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(told_to(locks[i], BWL_DOWN, 0), 1);
        assert_true(bwl_hold_is_held(&locks[i]->hold));
    }
    assert_int_equal(told_count, MANY);
}

static void test_redis_batch_strange_answer_leaves_all_in_doubt(void **state)
{
    (void)state;
    ask_together(MANY);
    says("*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
    turn();
    expect_closed();
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(told_to(locks[i], BWL_DOWN, 0), 1);
}

/* The first that is told wants more, and asking breaks the connection: the answers of the others
 * have been heard all the same. */
static bool breaks;

static void breaking_event(void *state, const bwl_claim *claim, const bwl_event *ev,
                           bwl_effects *fx)
{
    spy_event(state, claim, ev, fx);
    if (breaks && ev->kind == BWL_REPLY) {
        breaks = false;
        fault  = (bwl_fault){ .text = "broken by the test" };
        bwl_redis_break_off(store, &fault, false);
    }
}

static void test_redis_batch_is_heard_by_all_when_the_first_breaks_it_off(void **state)
{
    (void)state;
    ask_together(MANY);
    spy.event = breaking_event;
    breaks    = true;
    says("*6\r\n:1\r\n:0\r\n:1\r\n:-1\r\n:1\r\n:1\r\n");
    turn();
    for (unsigned i = 0; i < MANY; i++)
        if (i != 3)
            assert_int_equal(told_to(locks[i], BWL_REPLY, i == 1 ? BWL_NO : BWL_YES), 1);
    assert_int_equal(told_to(locks[3], BWL_REPLY, BWL_UNSENT), 1);
    assert_int_equal(told_count, MANY);
}

static void test_redis_batch_released_meanwhile_is_not_asked_again(void **state)
{
    (void)state;
    ask_together(MANY);
    bwl_lock_release(locks[1], &operation);
    turn();
    expect("EVALSHA @delete_if_mine 1 bowline:{n1} %s", locks[1]->hold.claim.token);
    says("-NOSCRIPT No matching script. Please use EVAL.\r\n:1\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_RELEASED);
    /* The one in the middle is missing now. */
    int size = snprintf(lines, sizeof lines, "EVAL #extend_each_if_mine 5");
    for (unsigned i = 0; i < MANY; i++)
        if (i != 1)
            size += snprintf(lines + size, sizeof lines - (size_t)size, " bowline:{n%u}", i);
    for (unsigned i = 0; i < MANY; i++)
        if (i != 1)
            size += snprintf(lines + size, sizeof lines - (size_t)size, " %s",
                             locks[i]->hold.claim.token);
    (void)snprintf(lines + size, sizeof lines - (size_t)size, " %d", LEASE_MS);
    expect("%s", lines);
}

/* After a connection that broke, all that is held is asked for: that goes together too. */
static void test_redis_batch_what_is_held_is_verified_together(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", i);
        locks[i] = held_lock(name, &operation);
    }
    hang_up();
    turn();
    server_accepts();
    expect("HELLO 3\nINFO server");
    says(HELLO INFO);
    turn();
    int size = snprintf(lines, sizeof lines, "EVALSHA @extend_each_if_mine %d", MANY);
    for (unsigned i = MANY; i-- > 0;)
        size += snprintf(lines + size, sizeof lines - (size_t)size, " bowline:{n%u}", i);
    for (unsigned i = MANY; i-- > 0;)
        size +=
            snprintf(lines + size, sizeof lines - (size_t)size, " %s", locks[i]->hold.claim.token);
    (void)snprintf(lines + size, sizeof lines - (size_t)size, " 1");
    expect("%s", lines);
    says("*6\r\n:1\r\n:1\r\n:1\r\n:1\r\n:0\r\n:1\r\n");
    turn();
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(bwl_hold_is_held(&locks[i]->hold), i != 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play_renewals, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_batch_each_is_told_its_own_answer),
        CASE(test_redis_batch_few_are_asked_one_by_one),
        CASE(test_redis_batch_has_one_lease),
        CASE(test_redis_batch_unknown_script_is_sent_by_its_text),
        CASE(test_redis_batch_script_unknown_by_its_text_too_is_not_sent_for_ever),
        CASE(test_redis_batch_that_is_refused_is_asked_one_by_one),
        CASE(test_redis_batch_refused_twice_is_not_tried_again_on_this_connection),
        CASE(test_redis_batch_key_without_an_answer_is_asked_alone),
        CASE(test_redis_batch_server_that_cannot_serve_now_tells_all),
        CASE(test_redis_batch_cut_in_the_middle_leaves_all_in_doubt),
        CASE(test_redis_batch_strange_answer_leaves_all_in_doubt),
        CASE(test_redis_batch_is_heard_by_all_when_the_first_breaks_it_off),
        CASE(test_redis_batch_released_meanwhile_is_not_asked_again),
        CASE(test_redis_batch_what_is_held_is_verified_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
