/*
 * test_redis_section.c -- a section on its connection: what goes out, what becomes of the section
 * when the connection breaks or is another one, and that a section which did not end as it should
 * takes its connection with it.
 */
#include "redis_fixture.h"

#define READS "WATCH k\nGET k\nMULTI"

static bwl_lock     *lock;
static bwl_section   section;
static bwl_operation operation;

static void ask(bwl_section_word word)
{
    section.question = (bwl_section_question){
        .word = word, .key = "k", .key_size = 1, .value = "new", .value_size = 3
    };
    bwl_lock_step(lock, &operation, &section);
}

static void has_ended(bwl_event_kind kind, bwl_answer answer)
{
    assert_int_equal(operation.ended, BWL_RELEASED);
    assert_int_equal(section.kind, kind);
    if (kind == BWL_REPLY)
        assert_int_equal(section.answer, answer);
}

static void read_key(const char *answer)
{
    if (lock == NULL)
        lock = lock_named("update");
    ask(SECTION_READ);
    if (store->phase != BWL_REDIS_READY)
        greet();
    expect(READS);
    says(answer);
    turn();
}

static int play_section(void **state)
{
    section = (bwl_section){ .seen = NULL };
    lock    = NULL;
    return play(state);
}

static int section_is_over(void **state)
{
    int failed = play_is_over(state);

    free(section.seen);
    return failed;
}

static void test_transcript(void **state)
{
    (void)state;
    read_key("+OK\r\n$2\r\n41\r\n+OK\r\n");
    has_ended(BWL_REPLY, BWL_YES);
    assert_true(section.is_there);
    assert_string_equal(section.seen, "41");
    assert_int_equal(section.seen_size, 2);
    ask(SECTION_SET);
    expect("SET k new KEEPTTL\nEXEC");
    says("+QUEUED\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_PENDING);
    says("*1\r\n+OK\r\n");
    turn();
    has_ended(BWL_REPLY, BWL_YES);

    read_key("+OK\r\n_\r\n+OK\r\n"); /* on the same connection */
    has_ended(BWL_REPLY, BWL_YES);
    assert_false(section.is_there);
    ask(SECTION_DELETE);
    expect("DEL k\nEXEC");
    says("+QUEUED\r\n_\r\n");
    turn();
    has_ended(BWL_REPLY, BWL_NO);

    read_key("+OK\r\n$0\r\n\r\n+OK\r\n");
    assert_true(section.is_there);
    assert_int_equal(section.seen_size, 0);
    ask(SECTION_LEAVE);
    expect("DISCARD");
    says("+OK\r\n");
    turn();
    has_ended(BWL_REPLY, BWL_YES);
    assert_int_equal(store->opened, 1);
}

static void test_answer_may_come_in_pieces(void **state)
{
    const char *answer = "+OK\r\n$5\r\nvalue\r\n+OK\r\n";

    (void)state;
    read_key("");
    for (const char *c = answer; *c != '\0'; c++) {
        assert_int_equal(operation.ended, BWL_PENDING);
        says((char[]){ *c, '\0' });
        turn();
    }
    has_ended(BWL_REPLY, BWL_YES);
    assert_string_equal(section.seen, "value");
}

static void test_key_of_another_type_or_too_long_is_alien_and_may_be_left(void **state)
{
    static char head[] = "+OK\r\n$65537\r\n";
    static char value[65538];

    (void)state;
    read_key("+OK\r\n-WRONGTYPE no\r\n+OK\r\n");
    has_ended(BWL_REPLY, BWL_ALIEN);
    assert_false(section.is_long);
    ask(SECTION_LEAVE);
    expect("DISCARD");
    says("+OK\r\n");
    turn();

    memset(value, 'v', sizeof value - 1);
    read_key(head);
    for (size_t sent = 0; sent < sizeof value - 1;) {
        ssize_t n = send(server, value + sent, sizeof value - 1 - sent, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        turn();
    }
    says("\r\n+OK\r\n");
    turn();
    has_ended(BWL_REPLY, BWL_ALIEN);
    assert_true(section.is_long);
    ask(SECTION_LEAVE);
    expect("DISCARD");
    assert_true(section.is_long); /* it is still to be told */
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Each of these leaves a watch, or a transaction, that is nobody's. */
static void test_section_that_was_refused_ends_with_its_connection(void **state)
{
    static const char *const answers[] = {
        "-NOPERM watch\r\n$2\r\n41\r\n+OK\r\n",
        "+OK\r\n-NOPERM get\r\n+OK\r\n",
        "+OK\r\n$2\r\n41\r\n-NOPERM multi\r\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        store->rests_until = 0;
        read_key(answers[i]);
        has_ended(BWL_REPLY, BWL_REFUSED);
        assert_non_null(strstr(lock->why.text, "NOPERM"));
        expect_closed();
        assert_int_equal(store->phase, BWL_REDIS_DOWN);
    }
}

static void test_write_that_was_refused_ends_with_its_connection(void **state)
{
    (void)state;
    read_key("+OK\r\n_\r\n+OK\r\n");
    ask(SECTION_SET);
    expect("SET k new KEEPTTL\nEXEC");
    says("-OOM no\r\n-EXECABORT no\r\n");
    turn();
    has_ended(BWL_REPLY, BWL_LATER);
    assert_non_null(strstr(lock->why.text, "OOM")); /* the first one is the reason */
    expect_closed();

    read_key("+OK\r\n_\r\n+OK\r\n");
    ask(SECTION_SET);
    expect("SET k new KEEPTTL\nEXEC");
    says("+QUEUED\r\n-NOPERM exec\r\n");
    turn();
    has_ended(BWL_REPLY, BWL_REFUSED);
    expect_closed();
}

/* The server has carried out what it should have kept: that is no answer to be believed. */
static void test_set_that_was_not_queued_is_not_known(void **state)
{
    (void)state;
    read_key("+OK\r\n_\r\n+OK\r\n");
    ask(SECTION_SET);
    expect("SET k new KEEPTTL\nEXEC");
    says("+OK\r\n-ERR EXEC without MULTI\r\n");
    turn();
    has_ended(BWL_DOWN, 0);
}

/* ---- a connection that breaks ---------------------------------------------------------------- */

static void test_write_without_an_answer_is_down(void **state)
{
    (void)state;
    read_key("+OK\r\n_\r\n+OK\r\n");
    ask(SECTION_SET);
    expect("SET k new KEEPTTL\nEXEC");
    says("+QUEUED\r\n");
    hang_up();
    turn();
    has_ended(BWL_DOWN, 0);
}

/* While the function computed: the server hangs up, and the write must not go anywhere. */
static void test_write_goes_out_on_no_other_connection(void **state)
{
    (void)state;
    read_key("+OK\r\n_\r\n+OK\r\n");
    hang_up();
    pass(5);
    ask(SECTION_SET);
    has_ended(BWL_REPLY, BWL_UNSENT);
    assert_non_null(strstr(lock->why.text, "broke"));

    read_key("+OK\r\n_\r\n+OK\r\n");
    hang_up();
    turn();
    bwl_lock     *other = lock_named("other"); /* somebody connects again */
    bwl_operation acquires;
    bwl_lock_acquire(other, &acquires, 0);
    store->rests_until = 0;
    turn();
    if (store->phase == BWL_REDIS_RESTING) {
        pass(1100);
        turn();
    }
    server_accepts();
    expect("HELLO 3\nINFO server");
    says(HELLO INFO);
    turn();
    expect("SET bowline:{other} %s NX PX 30000", other->hold.claim.token);
    says("+OK\r\n");
    turn();
    assert_int_equal(acquires.ended, BWL_HELD);
    ask(SECTION_SET);
    has_ended(BWL_REPLY, BWL_UNSENT);
    expect(NOTHING);
    close_client(); /* the operation is on this stack */
}

static void test_no_server_is_unsent(void **state)
{
    (void)state;
    vanish();
    lock = lock_named("update");
    ask(SECTION_READ);
    turn();
    has_ended(BWL_REPLY, BWL_UNSENT);
    listener = -1;
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, play_section, section_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_transcript),
        EACH(test_answer_may_come_in_pieces),
        EACH(test_key_of_another_type_or_too_long_is_alien_and_may_be_left),
        EACH(test_section_that_was_refused_ends_with_its_connection),
        EACH(test_write_that_was_refused_ends_with_its_connection),
        EACH(test_set_that_was_not_queued_is_not_known),
        EACH(test_write_without_an_answer_is_down),
        EACH(test_write_goes_out_on_no_other_connection),
        EACH(test_no_server_is_unsent),
    };

    return cmocka_run_group_tests_name("redis_section", tests, NULL, NULL);
}
