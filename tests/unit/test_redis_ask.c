/*
 * test_redis_ask.c -- questions out, answers in, and what becomes of them when the connection
 * breaks.
 *
 * Transcripts with a server that is played line by line (redis_fixture.h).  Three claims carry the
 * lock: an answer belongs to the oldest question; a question is said not to have been carried out
 * only when none of its bytes was handed over; and a connection on which something was said that
 * nobody asked for is never used again.  What breaks is in test_redis_settle.c.
 */
#include "redis_fixture.h"

/* ---- closing -------------------------------------------------------------------------------- */

/* The connection is new and no request was in flight on it.  A push is still unread. */
static void test_redis_ask_close_after_a_reconnect_without_a_request(void **state)
{
    static bwl_operation operation;
    char                 token[BWL_TOKEN_MAX + 1];

    (void)state;
    spy.extends    = false; /* such a hold cannot be verified on the new connection */
    bwl_lock *lock = held_lock("n", &operation);
    memcpy(token, lock->hold.claim.token, sizeof token);
    hang_up();
    greet();
    assert_int_equal(store->questions_room, 0);
    says(">1\r\n$4\r\nnoop\r\n");
    store->heard_at = 0;
    close_client();
    expect("CLIENT REPLY OFF\nEVAL #delete_if_mine 1 bowline:{n} %s", token);
}

/* ---- in order -------------------------------------------------------------------------------- */

static void test_redis_ask_nothing_is_asked_before_the_greeting_is_answered(void **state)
{
    bwl_lock            *one = lock_named("one");
    bwl_lock            *two = lock_named("two");
    static bwl_operation operations[2];

    (void)state;
    bwl_lock_acquire(one, &operations[0], 0);
    turn();
    server_accepts();
    expect("HELLO 3\nINFO server");
    bwl_lock_acquire(two, &operations[1], 0);
    turn();
    expect(NOTHING);
    says(HELLO INFO);
    expect(NOTHING);
    turn();
    expect("SET bowline:{one} %s NX PX 30000\nSET bowline:{two} %s NX PX 30000",
           one->hold.claim.token, two->hold.claim.token);
}

static void test_redis_ask_answer_belongs_to_the_oldest_question(void **state)
{
    bwl_lock            *locks[3];
    static bwl_operation operations[3];

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        locks[i] = lock_named(i == 0 ? "a" : i == 1 ? "b" : "c");
        bwl_lock_acquire(locks[i], &operations[i], 0);
    }
    greet();
    says("+OK\r\n_\r");
    turn();
    assert_int_equal(operations[0].ended, BWL_HELD);
    assert_int_equal(operations[1].ended, BWL_PENDING);
    assert_int_equal(client->pending, 2);
    says("\n$-1\r\n");
    turn();
    assert_int_equal(operations[1].ended, BWL_BUSY);
    assert_int_equal(operations[2].ended, BWL_BUSY);
    assert_int_equal(client->pending, 0);
    assert_true(locks[0]->hold.until > bwl_client_now(client));
}

static void test_redis_ask_ready_connection_is_asked_at_once(void **state)
{
    static bwl_operation operation;
    bwl_lock            *lock = held_lock("n", &operation);

    (void)state;
    bwl_lock_extend(lock, &operation, 20000);
    expect("EVALSHA @extend_if_mine 1 bowline:{n} %s 20000", lock->hold.claim.token);
    says(":1\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_HELD);
    bwl_lock_release(lock, &operation);
    expect("EVALSHA @delete_if_mine 1 bowline:{n} %s", lock->hold.claim.token);
    says(":1\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_RELEASED);
}

static void test_redis_ask_many_questions_keep_their_order(void **state)
{
    enum { MANY = 100 };
    static bwl_operation operations[MANY];
    char                 name[16];
    unsigned             answered = 0;

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        bwl_lock_acquire(lock_named(name), &operations[i], 0);
        if (i == 0)
            greet();
        /* Two of three are answered as it goes, so that the ring goes round while it grows. */
        for (; answered * 3 < i * 2; answered++)
            says(answered % 7 == 3 ? "+OK\r\n" : "_\r\n");
        turn();
        assert_int_equal(client->pending, i + 1 - answered);
    }
    for (; answered < MANY; answered++)
        says(answered % 7 == 3 ? "+OK\r\n" : "_\r\n");
    turn();
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(operations[i].ended, i % 7 == 3 ? BWL_HELD : BWL_BUSY);
    assert_int_equal(client->pending, 0);
}

static void test_redis_ask_push_is_passed_over(void **state)
{
    static bwl_operation operation;

    (void)state;
    bwl_lock_acquire(lock_named("n"), &operation, 0);
    turn();
    server_accepts();
    says(">1\r\n+first\r\n" HELLO INFO ">1\r\n+second\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
    says(">1\r\n+third\r\n+OK\r\n>1\r\n+last\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_HELD);
    assert_int_equal(store->phase, BWL_REDIS_READY);
}

/* ---- what errors mean ------------------------------------------------------------------------ */

static void test_redis_ask_error_is_for_now_or_for_good_by_its_code(void **state)
{
    static const struct {
        const char      *frame;
        bwl_outcome_kind outcome;
        const char      *why;
    } list[] = {
        { "-LOADING not yet\r\n", BWL_NOT_NOW, "LOADING not yet" },
        { "-OOM no memory\r\n", BWL_NOT_NOW, "OOM no memory" },
        { "-READONLY replica\r\n", BWL_NOT_NOW, "READONLY replica" },
        { "-NOPERM no\r\n", BWL_STORE_REFUSED, "NOPERM no" },
        { "-MOVED 1 h:1\r\n", BWL_STORE_REFUSED, "MOVED 1 h:1" },
        { "-ERR odd\r\n", BWL_STORE_REFUSED, "ERR odd" },
    };
    static bwl_operation operation;

    (void)state;
    (void)held_lock("first", &operation);
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        bwl_lock *lock = lock_named("n");
        bwl_lock_acquire(lock, &operation, 0);
        says(list[i].frame);
        turn();
        assert_int_equal(operation.ended, list[i].outcome);
        assert_non_null(strstr(lock->why.text, list[i].why));
        assert_memory_equal(lock->why.text, store->where, strlen(store->where));
        assert_int_equal(store->phase, BWL_REDIS_READY);
    }
}

/* ---- a script that the server does not know -------------------------------------------------- */

static void test_redis_ask_unknown_script_is_sent_by_its_text(void **state)
{
    static bwl_operation operation;
    bwl_lock            *lock = held_lock("n", &operation);

    (void)state;
    bwl_lock_release(lock, &operation);
    expect("EVALSHA @delete_if_mine 1 bowline:{n} %s", lock->hold.claim.token);
    says("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    turn();
    expect("EVAL #delete_if_mine 1 bowline:{n} %s", lock->hold.claim.token);
    assert_int_equal(told_count, 1);
    says(":1\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_RELEASED);
    assert_int_equal(client->pending, 0);
}

static void test_redis_ask_unknown_script_goes_behind_what_was_asked_meanwhile(void **state)
{
    static bwl_operation first;
    static bwl_operation second;
    bwl_lock            *lock  = held_lock("n", &first);
    bwl_lock            *other = lock_named("o");

    (void)state;
    bwl_lock_release(lock, &first);
    bwl_lock_acquire(other, &second, 0);
    expect("EVALSHA @delete_if_mine 1 bowline:{n} %s\nSET bowline:{o} %s NX PX 30000",
           lock->hold.claim.token, other->hold.claim.token);
    says("-NOSCRIPT no\r\n+OK\r\n");
    turn();
    assert_int_equal(second.ended, BWL_HELD);
    expect("EVAL #delete_if_mine 1 bowline:{n} %s", lock->hold.claim.token);
    says(":0\r\n");
    turn();
    assert_int_equal(first.ended, BWL_LOST);
}

/* The machine has put another question since: the one that was not carried out shall stay so. */
static void test_redis_ask_unknown_script_is_not_sent_again_when_no_longer_wanted(void **state)
{
    static bwl_operation extends;
    static bwl_operation releases;
    bwl_lock            *lock = held_lock("n", &extends);

    (void)state;
    bwl_lock_extend(lock, &extends, 20000);
    bwl_lock_cancel(&extends);
    bwl_lock_release(lock, &releases);
    expect("EVALSHA @extend_if_mine 1 bowline:{n} %s 20000\n"
           "EVALSHA @delete_if_mine 1 bowline:{n} %s",
           lock->hold.claim.token, lock->hold.claim.token);
    says("-NOSCRIPT no\r\n-NOSCRIPT no\r\n");
    turn();
    expect("EVAL #delete_if_mine 1 bowline:{n} %s", lock->hold.claim.token);
    assert_int_equal(told_to(lock, BWL_REPLY, BWL_UNSENT), 1);
    says(":1\r\n");
    turn();
    assert_int_equal(releases.ended, BWL_RELEASED);
    assert_int_equal(client->pending, 0);
}

/* Of several servers the rest have decided: what is to be undone behind it must not come now. */
static void test_redis_ask_unknown_script_that_was_taken_back_is_not_sent_again(void **state)
{
    static bwl_operation operation;
    bwl_lock            *lock = held_lock("n", &operation);
    bwl_event            reply;
    bwl_ask              ask = { .word = REDIS_SET_IF_ABSENT_OR_MINE, .tag = 77 };

    (void)state;
    store->is_of_many = true;
    lock->latest_tag  = ask.tag;
    assert_false(client->engine->ask(lock, &ask, &reply));
    ask.word = REDIS_DELETE_IF_MINE;
    assert_false(client->engine->ask(lock, &ask, &reply));
    turn();
    expect("EVALSHA @set_if_absent_or_mine 1 bowline:{n} %s 30000\n"
           "EVAL #delete_if_mine 1 bowline:{n} %s",
           lock->hold.claim.token, lock->hold.claim.token);
    says("-NOSCRIPT no\r\n:1\r\n");
    turn();
    expect(NOTHING);
    assert_int_equal(client->pending, 0);
    store->is_of_many = false;
}

/* A script twice unknown is odd, but each of its questions is answered once. */
static void test_redis_ask_script_unknown_by_its_text_too_is_sent_once_more(void **state)
{
    static bwl_operation operation;
    bwl_lock            *lock = held_lock("n", &operation);

    (void)state;
    bwl_lock_release(lock, &operation);
    says("-NOSCRIPT no\r\n");
    turn();
    says("-NOSCRIPT no\r\n");
    turn();
    says("-ERR enough\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
}

/* ---- a look ---------------------------------------------------------------------------------- */

static bwl_operation looking;

static void put_look(bwl_lock *lock, bwl_redis_looker *ret_looker)
{
    bwl_redis_open_question question = { .lock = lock, .looker = ret_looker };

    *ret_looker     = (bwl_redis_looker){ .answer = 0 };
    looking         = (bwl_operation){ .lock = lock, .looks = true };
    lock->operation = &looking;
    assert_true(bwl_redis_put(store, &question));
}

static void test_redis_ask_look_is_answered_by_what_is_there(void **state)
{
    bwl_lock        *lock = lock_named("n");
    bwl_redis_looker looker;

    (void)state;
    put_look(lock, &looker);
    greet();
    expect("EVALSHA @look 1 bowline:{n}");
    says("-NOSCRIPT no\r\n");
    turn();
    expect("EVAL #look 1 bowline:{n}");
    assert_int_equal(looking.ended, BWL_PENDING);
    says("*3\r\n$6\r\nstring\r\n:29000\r\n$3\r\nabc\r\n");
    turn();
    assert_int_equal(looking.ended, BWL_RELEASED);
    assert_int_equal(looker.answer, BWL_YES);
    assert_string_equal(looker.look.value, "abc");
    assert_int_equal(lock->pins, 0);
}

static void test_redis_ask_look_that_cannot_be_answered_ends_too(void **state)
{
    bwl_lock            *lock = lock_named("n");
    bwl_redis_looker     looker;
    static bwl_operation operation;

    (void)state;
    (void)held_lock("o", &operation);
    put_look(lock, &looker);
    says("-NOPERM no\r\n");
    turn();
    assert_int_equal(looker.answer, BWL_REFUSED);
    put_look(lock, &looker);
    says("+OK\r\n"); /* which no look is answered */
    turn();
    assert_int_equal(looking.ended, BWL_RELEASED);
    assert_int_equal(looker.answer, BWL_UNSENT);
    assert_int_equal(lock->pins, 0);
}

static void test_redis_ask_look_that_is_cancelled_is_answered_all_the_same(void **state)
{
    bwl_lock            *lock = lock_named("n");
    bwl_redis_looker     looker;
    static bwl_operation operation;

    (void)state;
    (void)held_lock("o", &operation);
    put_look(lock, &looker);
    bwl_lock_cancel(&looking);
    assert_int_equal(looking.ended, BWL_CANCELLED);
    assert_int_equal(lock->pins, 1); /* by the question, whose answer is on its way */
    says("*3\r\n$4\r\nnone\r\n:-2\r\n$0\r\n\r\n");
    turn();
    assert_int_equal(looking.ended, BWL_CANCELLED);
    assert_int_equal(lock->pins, 0);
    assert_int_equal(store->phase, BWL_REDIS_READY);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_ask_close_after_a_reconnect_without_a_request),
        CASE(test_redis_ask_nothing_is_asked_before_the_greeting_is_answered),
        CASE(test_redis_ask_answer_belongs_to_the_oldest_question),
        CASE(test_redis_ask_ready_connection_is_asked_at_once),
        CASE(test_redis_ask_many_questions_keep_their_order),
        CASE(test_redis_ask_push_is_passed_over),
        CASE(test_redis_ask_error_is_for_now_or_for_good_by_its_code),
        CASE(test_redis_ask_unknown_script_is_sent_by_its_text),
        CASE(test_redis_ask_unknown_script_goes_behind_what_was_asked_meanwhile),
        CASE(test_redis_ask_unknown_script_is_not_sent_again_when_no_longer_wanted),
        CASE(test_redis_ask_unknown_script_that_was_taken_back_is_not_sent_again),
        CASE(test_redis_ask_script_unknown_by_its_text_too_is_sent_once_more),
        CASE(test_redis_ask_look_is_answered_by_what_is_there),
        CASE(test_redis_ask_look_that_cannot_be_answered_ends_too),
        CASE(test_redis_ask_look_that_is_cancelled_is_answered_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
