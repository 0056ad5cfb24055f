/*
 * test_redis_break.c -- the value that was seen, and no other, is what the server is asked to end;
 * what its answers mean; and which values are nobody's to break.
 *
 * A server is played (redis_fixture.h).
 */
#include "redis_fixture.h"

#define OTHERS "AbCdEfGhIjKlMnOpQr-_09"

static bwl_operation operation;
static bwl_lock     *lock;

/* A lock of somebody else's has been seen. */
static void see_others(void)
{
    static bwl_operation first;

    (void)held_lock("first", &first);
    lock = lock_named("n");
    bwl_lock_look(lock, &operation);
    expect("EVALSHA @look 1 bowline:{n}");
    says("*3\r\n+string\r\n:29000\r\n$22\r\n" OTHERS "\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_RELEASED);
}

static void begin_to_break(void)
{
    see_others();
    bwl_lock_break(lock, &operation);
    expect("EVALSHA @delete_if_mine 1 bowline:{n} " OTHERS);
    assert_int_equal(operation.ended, BWL_PENDING);
}

static int end_of_break(void)
{
    turn();
    assert_int_equal(operation.ended, BWL_RELEASED);
    fault      = (bwl_fault){ 0 };
    int status = bwl_redis_broken(lock, &fault);
    bwl_lock_unwanted(lock);
    return status;
}

static void test_redis_break_asks_for_exactly_what_was_seen(void **state)
{
    (void)state;
    begin_to_break();
    says(":1\r\n");
    assert_int_equal(end_of_break(), BWL_OK);
    expect(NOTHING);
    assert_int_equal(client->locks_count, 1);
}

static void test_redis_break_of_what_is_gone_is_busy(void **state)
{
    (void)state;
    begin_to_break();
    says(":0\r\n");
    assert_int_equal(end_of_break(), BWL_STATUS_BUSY);
    assert_non_null(strstr(fault.text, "has ended"));
}

static void test_redis_break_is_asked_by_text_where_the_script_is_not_known(void **state)
{
    (void)state;
    begin_to_break();
    says("-NOSCRIPT no\r\n");
    turn();
    expect("EVAL #delete_if_mine 1 bowline:{n} " OTHERS);
    assert_int_equal(operation.ended, BWL_PENDING);
    says(":1\r\n");
    assert_int_equal(end_of_break(), BWL_OK);
}

static void test_redis_break_that_is_refused_says_why(void **state)
{
    (void)state;
    begin_to_break();
    says("-NOPERM no permission\r\n");
    assert_int_equal(end_of_break(), BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "NOPERM no permission"));
}

/* It is not asked again: who has the lock now would have to be shown first. */
static void test_redis_break_without_an_answer_is_unknown(void **state)
{
    (void)state;
    begin_to_break();
    hang_up();
    assert_int_equal(end_of_break(), BWL_STATUS_UNKNOWN);
    assert_non_null(strstr(fault.text, "whether it was broken is not known"));
    server_accepts();
    expect("HELLO 3\nINFO server"); /* for the lock that is held */
    says(HELLO INFO);
    turn();
    char bytes[512];
    assert_true(recv(server, bytes, sizeof bytes, 0) > 0); /* which is verified */
    bytes[sizeof bytes - 1] = '\0';
    assert_null(strstr(bytes, OTHERS));
}

static void test_redis_break_that_nobody_waits_for_any_more_frees_itself(void **state)
{
    (void)state;
    begin_to_break();
    bwl_lock_cancel(&operation);
    assert_int_equal(operation.ended, BWL_CANCELLED);
    bwl_lock_unwanted(lock);
    assert_int_equal(client->locks_count, 2);
    says(":1\r\n");
    turn();
    assert_int_equal(client->locks_count, 1);
}

/* ---- which ----------------------------------------------------------------------------------- */

static bwl_redis_look look_of(const char *value)
{
    bwl_redis_look look = { .value_size = strlen(value) };

    memcpy(look.value, value, look.value_size);
    return look;
}

#define SESSION "SSSSSSSSS"
#define TOKEN   "TTTTTTTTTTTTTTTT"

static uint64_t id_of(const bwl_protocol *protocol, const bwl_rules *rules, const char *value)
{
    bwl_hold       hold = { .protocol = protocol, .claim = { .rules = rules } };
    bwl_redis_look look = look_of(value);

    return bwl_redis_id_of_seen(&hold, &look);
}

static void test_redis_break_names_a_hold_by_its_value(void **state)
{
    uint64_t id = id_of(&bwl_token, NULL, OTHERS);

    (void)state;
    assert_true(id != 0);
    assert_true(id == id_of(&bwl_token, NULL, OTHERS));
    assert_true(id != id_of(&bwl_token, NULL, "AbCdEfGhIjKlMnOpQr-_08"));
    assert_true(id_of(&bwl_queue, NULL, "b1:" SESSION TOKEN) != 0);
}

static void test_redis_break_names_no_hold_that_is_no_ones_or_anyones(void **state)
{
    static const bwl_rules same_for_all = { .value = BWL_VALUE_LITERAL, .literal = "1" };

    (void)state;
    assert_true(id_of(&bwl_queue, NULL, "b1:" SESSION TOKEN "T") == 0);
    assert_true(id_of(&bwl_queue, NULL, "b1:x") == 0);
    assert_true(id_of(&bwl_queue, NULL, "b2:" SESSION TOKEN) == 0);
    assert_true(id_of(&bwl_queue, NULL, "b1:" SESSION "TTTTTTTTTTTTTT\x1b[") == 0);
    assert_true(id_of(&bwl_set_nx_ex, &same_for_all, "1") == 0);
}

/* What stands in a key may be anybody's bytes. */
static void test_redis_break_names_no_hold_by_bytes_that_are_no_text(void **state)
{
    bwl_hold       hold = { .protocol = &bwl_queue };
    bwl_redis_look look = look_of("b1:" SESSION TOKEN);

    (void)state;
    for (size_t i = 0; i < look.value_size; i++) {
        char kept     = look.value[i];
        look.value[i] = '\0';
        assert_true(bwl_redis_id_of_seen(&hold, &look) == 0);
        look.value[i] = kept;
    }
    assert_true(bwl_redis_id_of_seen(&hold, &look) != 0);
}

static void test_redis_break_of_a_queue_speaks_with_the_session_that_was_seen(void **state)
{
    bwl_redis_looker        looker   = { .look = look_of("b1:" SESSION TOKEN) };
    bwl_redis_open_question open     = { .looker = &looker, .word = REDIS_QUEUE_RELEASE };
    bwl_redis_question      question = { .word = open.word };
    bwl_queue_self          self     = { 0 };

    (void)state;
    assert_true(bwl_redis_breaks(&open));
    bwl_redis_name_seen(&open, &question, &self);
    assert_string_equal(self.session, SESSION);
    assert_string_equal(question.token, TOKEN);
    open.word = 0;
    assert_false(bwl_redis_breaks(&open)); /* it looks */
    open = (bwl_redis_open_question){ .word = REDIS_QUEUE_RELEASE };
    assert_false(bwl_redis_breaks(&open)); /* it releases */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_redis_break_asks_for_exactly_what_was_seen),
        TEST(test_redis_break_of_what_is_gone_is_busy),
        TEST(test_redis_break_is_asked_by_text_where_the_script_is_not_known),
        TEST(test_redis_break_that_is_refused_says_why),
        TEST(test_redis_break_without_an_answer_is_unknown),
        TEST(test_redis_break_that_nobody_waits_for_any_more_frees_itself),
        cmocka_unit_test(test_redis_break_names_a_hold_by_its_value),
        cmocka_unit_test(test_redis_break_names_no_hold_that_is_no_ones_or_anyones),
        cmocka_unit_test(test_redis_break_names_no_hold_by_bytes_that_are_no_text),
        cmocka_unit_test(test_redis_break_of_a_queue_speaks_with_the_session_that_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
