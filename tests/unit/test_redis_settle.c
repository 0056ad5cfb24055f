/*
 * test_redis_settle.c -- what becomes of questions when the connection breaks, and how the next
 * one is made.
 *
 * The server that is played (redis_fixture.h) hangs up, falls silent, talks nonsense, does not
 * read, is not there.  Each time every question that was open must be told one thing, once: that it
 * was surely not carried out, if none of its bytes was handed over, or that nobody knows.  A wrong
 * "not carried out" is two holders.
 */
#include "redis_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <time.h>

enum { MANY = 200 };

static bwl_lock     *locks[MANY];
static bwl_operation operations[MANY];

/* Asks for so many locks, each once. */
static void ask_for(unsigned count)
{
    char name[16];

    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        locks[i] = lock_named(name);
        bwl_lock_acquire(locks[i], &operations[i], 0);
    }
}

static void assert_told_once(const bwl_lock *lock, bwl_event_kind kind, bwl_answer answer)
{
    assert_int_equal(told_to(lock, BWL_DOWN, 0) + told_to(lock, BWL_REPLY, BWL_UNSENT) +
                         told_to(lock, BWL_REPLY, BWL_REFUSED),
                     1);
    assert_int_equal(told_to(lock, kind, answer), 1);
}

/* ---- nobody there ---------------------------------------------------------------------------- */

static void test_redis_ask_server_that_is_not_there_is_unreachable(void **state)
{
    (void)state;
    vanish();
    ask_for(1);
    assert_int_equal(operations[0].ended, BWL_UNREACHABLE);
    ask_for(2); /* the second time, after a pause */
    while (client->pending > 0)
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(operations[i].ended, BWL_UNREACHABLE);
        assert_told_once(locks[i], BWL_REPLY, BWL_UNSENT);
        assert_non_null(strstr(locks[i]->why.text, socket_path));
        assert_non_null(strstr(locks[i]->why.text, "No such file"));
    }
    assert_int_equal(client->pending, 0);
}

static void test_redis_ask_next_address_is_tried(void **state)
{
    struct sockaddr_in *refused = (struct sockaddr_in *)&store->dialer.addresses[1].socket;
    struct sockaddr_un *missing = (struct sockaddr_un *)&store->dialer.addresses[0].socket;
    socklen_t           size    = sizeof *refused;
    int                 fd      = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    store->dialer.addresses[2]    = store->dialer.addresses[0];
    store->dialer.addresses[1]    = (bwl_address){ .size = sizeof *refused };
    refused->sin_family           = AF_INET;
    refused->sin_addr             = (struct in_addr){ htonl(INADDR_LOOPBACK) };
    store->dialer.addresses_count = 3;
    missing->sun_path[0]          = '\0'; /* nobody listens there: refused at once */
    missing->sun_path[1]          = '\1';
    assert_int_equal(bind(fd, (struct sockaddr *)refused, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)refused, &size), 0);
    ask_for(1); /* bound and not listening: refused in a moment */
    for (unsigned i = 0; i < 100 && store->dialer.address < 2; i++)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 10, &fault), BWL_OK);
    close(fd);
    assert_int_equal(store->dialer.address, 2);
    greet();
    says("+OK\r\n");
    turn();
    assert_int_equal(operations[0].ended, BWL_HELD);
}

/* ---- turned away ----------------------------------------------------------------------------- */

static void test_redis_ask_greeting_that_is_refused_refuses_every_question(void **state)
{
    (void)state;
    ask_for(2);
    turn();
    server_accepts();
    says("-WRONGPASS no\r\n");
    turn();
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(operations[i].ended, BWL_STORE_REFUSED);
        assert_told_once(locks[i], BWL_REPLY, BWL_REFUSED);
        assert_non_null(strstr(locks[i]->why.text, "WRONGPASS"));
    }
    expect("HELLO 3\nINFO server");
    expect_closed();
}

static void test_redis_ask_server_that_is_loading_is_unreachable_for_now(void **state)
{
    (void)state;
    ask_for(1);
    turn();
    server_accepts();
    says("-LOADING not yet\r\n");
    turn();
    assert_int_equal(operations[0].ended, BWL_UNREACHABLE);
    assert_told_once(locks[0], BWL_REPLY, BWL_UNSENT);
    expect("HELLO 3\nINFO server");
    expect_closed();
}

static void test_redis_ask_last_words_of_a_server_that_hangs_up_are_heard(void **state)
{
    (void)state;
    ask_for(1);
    turn();
    server_accepts();
    says("-ERR max number of clients reached\r\n");
    hang_up();
    turn();
    assert_int_equal(operations[0].ended, BWL_UNREACHABLE);
    assert_non_null(strstr(locks[0]->why.text, "max number of clients"));
}

static void test_redis_ask_answer_before_the_end_counts(void **state)
{
    (void)state;
    ask_for(2);
    greet();
    says("+OK\r\n");
    hang_up();
    turn();
    assert_int_equal(operations[0].ended, BWL_HELD);
    assert_told_once(locks[1], BWL_DOWN, 0);
}

/* ---- what was not asked ---------------------------------------------------------------------- */

static void test_redis_ask_connection_that_speaks_unasked_is_closed(void **state)
{
    static bwl_operation operation;

    (void)state;
    (void)held_lock("n", &operation);
    says("+OK\r\n");
    turn();
    expect_closed();
    assert_int_equal(store->phase, BWL_REDIS_GREETING); /* anew, at once: something is held */
    greet(); /* nothing was in doubt on the old one: no CLIENT KILL */
}

static void test_redis_ask_one_answer_too_many_is_not_the_next_question_s(void **state)
{
    (void)state;
    ask_for(1);
    greet();
    says("_\r\n+OK\r\n");
    turn();
    assert_int_equal(operations[0].ended, BWL_BUSY);
    assert_int_equal(store->phase, BWL_REDIS_DOWN);
    expect("SET bowline:{n0} %s NX PX 30000", locks[0]->hold.claim.token);
    expect_closed();
}

static void test_redis_ask_strange_answer_leaves_every_question_in_doubt(void **state)
{
    (void)state;
    ask_for(3);
    greet();
    says("+OK\r\n+QUEUED\r\n_\r\n");
    turn();
    assert_int_equal(operations[0].ended, BWL_HELD);
    assert_told_once(locks[1], BWL_DOWN, 0);
    assert_told_once(locks[2], BWL_DOWN, 0);
    assert_non_null(strstr(locks[1]->why.text, "answers what was not asked"));
    assert_int_equal(store->to_be_killed, 7);
}

static void test_redis_ask_nonsense_leaves_every_question_in_doubt(void **state)
{
    (void)state;
    ask_for(2);
    greet();
    says("HTTP/1.1 400\r\n");
    turn();
    assert_told_once(locks[0], BWL_DOWN, 0);
    assert_told_once(locks[1], BWL_DOWN, 0);
    assert_non_null(strstr(locks[0]->why.text, "not a Redis server"));
}

/* ---- how far it got -------------------------------------------------------------------------- */

/* Where each question ends, counted in bytes from the first of them. */
static size_t end_of(unsigned n)
{
    static const char set[] = "*6\r\n$3\r\nSET\r\n$12\r\nbowline:{n0}\r\n$22\r\n"
                              "AbCdEfGhIjKlMnOpQrStUv\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n";

    return (n + 1) * (sizeof set - 1) + (n < 10 ? 0 : n < 100 ? n - 9 : 90 + 2 * (n - 99));
}

/* All questions go out in one piece, of which the kernel takes a part; the server counts the bytes
 * that it was given, which is what they must be judged by. */
static void test_redis_ask_only_what_was_not_handed_over_is_unsent(void **state)
{
    static char bytes[READ_MAX];
    int         small   = 4096;
    size_t      got     = 0;
    unsigned    unsent  = 0;
    unsigned    partial = 0;

    (void)state;
    ask_for(MANY);
    turn();
    server_accepts();
    expect("HELLO 3\nINFO server");
    assert_int_equal(
        setsockopt(store->conn.stream.source.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    says(HELLO INFO);
    turn();
    for (ssize_t n; (n = recv(server, bytes, sizeof bytes, 0)) > 0;)
        got += (size_t)n;
    hang_up();
    turn();
    for (unsigned i = 0; i < MANY; i++) {
        size_t start = i == 0 ? 0 : end_of(i - 1);
        if (start < got) {
            assert_told_once(locks[i], BWL_DOWN, 0);
        } else {
            assert_told_once(locks[i], BWL_REPLY, BWL_UNSENT);
            assert_int_equal(operations[i].ended, BWL_UNREACHABLE);
            unsent++;
        }
        partial += start < got && end_of(i) > got;
    }
    print_message("# %zu of %zu bytes, %u unsent, %u cut in two\n", got, end_of(MANY - 1), unsent,
                  partial);
    assert_in_range(unsent, 1, MANY - 1);
}

/* The same to the byte: what the kernel took ends here. */
static void test_redis_ask_one_byte_handed_over_is_in_doubt(void **state)
{
    (void)state;
    ask_for(3);
    greet();
    for (unsigned i = 0; i < 3; i++)
        store->questions[i].starts_at = store->conn.stream.handed_over - 1 + i;
    hang_up();
    turn();
    assert_told_once(locks[0], BWL_DOWN, 0);
    assert_told_once(locks[1], BWL_REPLY, BWL_UNSENT);
    assert_told_once(locks[2], BWL_REPLY, BWL_UNSENT);
}

static void test_redis_ask_too_much_for_one_connection_loses_nothing(void **state)
{
    enum { FLOOD = 3600 };
    char      name[BWL_NAME_MAX + 1];
    bwl_lock *lock = NULL;

    (void)state;
    memset(name, '{', sizeof name - 1); /* three bytes each in the key */
    name[sizeof name - 1] = '\0';
    static bwl_operation flood[FLOOD];
    for (unsigned i = 0; i < FLOOD; i++) {
        lock = lock_named(name);
        bwl_lock_acquire(lock, &flood[i], 0);
    }
    turn();
    server_accepts();
    says(HELLO INFO);
    turn();
    assert_int_equal(told_count, FLOOD);
    for (unsigned i = 0; i < FLOOD; i++)
        assert_int_equal(flood[i].ended, BWL_UNREACHABLE);
    assert_non_null(strstr(lock->why.text, "too much is waiting"));
    assert_int_equal(client->pending, 0);
}

/* ---- again ----------------------------------------------------------------------------------- */

static void test_redis_ask_connection_in_doubt_is_killed_by_the_next(void **state)
{
    static bwl_operation operation;

    (void)state;
    close_client();
    open_client("lease=30s&timeout=1s");
    bwl_lock *lock = lock_named("n");
    bwl_lock_acquire(lock, &operation, 0);
    greet();
    expect("SET bowline:{n} %s NX PX 30000", lock->hold.claim.token);
    hang_up();
    turn();
    assert_int_equal(operation.ended, BWL_PENDING); /* it is asked again, after a pause */
    assert_told_once(lock, BWL_DOWN, 0);
    assert_int_equal(store->to_be_killed, 7);
    pass(15);
    turn();
    server_accepts();
    expect("HELLO 3\nINFO server");
    says(HELLO_OF("7.0.15", "8") INFO);
    turn();
    expect("CLIENT KILL ID 7");
    says(":0\r\n");
    turn();
    expect("EVALSHA @set_if_absent_or_mine 1 bowline:{n} %s 30000", lock->hold.claim.token);
    says(":1\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_HELD);
    assert_int_equal(store->connection_id, 8);
    assert_int_equal(store->to_be_killed, 0);
}

static void
test_redis_ask_connection_to_be_killed_is_not_forgotten_by_a_failed_greeting(void **state)
{
    (void)state;
    store->to_be_killed = 4711;
    ask_for(1);
    turn();
    server_accepts();
    expect("HELLO 3\nINFO server");
    says(HELLO_OF("7.0.15", "9"));
    turn();
    hang_up();
    turn();
    assert_told_once(locks[0], BWL_REPLY, BWL_UNSENT);
    assert_int_equal(store->to_be_killed, 4711);
    assert_int_equal(store->connection_id, 0);
}

/* The first question's end makes its machine ask at once, to take back what may be ours; that
 * connects, and fails at once, in the middle of telling the others. */
static void test_redis_ask_break_within_a_break_unsends_nothing(void **state)
{
    enum { FEW = 5 };

    (void)state;
    ask_for(FEW);
    greet();
    hang_up();
    vanish();
    for (unsigned i = 0; i < FEW; i++) { /* each gives up, and lets go of what may be its own */
        locks[i]->hold.answer_by       = bwl_client_now(client);
        locks[i]->hold.terms.answer_ms = 0;
    }
    turn();
    while (told_to(locks[FEW - 1], BWL_REPLY, BWL_UNSENT) == 0)
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
    for (unsigned i = 0; i < FEW; i++) {
        assert_int_equal(operations[i].ended, BWL_UNKNOWN);
        assert_int_equal(told_to(locks[i], BWL_DOWN, 0), 1);
        for (unsigned j = 0; j < told_count; j++)
            if (told[j].who == locks[i]->hold.memory && told[j].tag == 1)
                assert_int_equal(told[j].kind, BWL_DOWN);
        assert_true(told_to(locks[i], BWL_REPLY, BWL_UNSENT) >= 1); /* of letting go */
    }
    assert_int_equal(client->pending, 0);
    assert_int_equal(store->to_be_killed, 7);
}

static void test_redis_ask_event_of_a_connection_that_is_closed_is_nothing(void **state)
{
    static bwl_operation operation;

    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    bwl_lock_release(lock, &operation);
    says(":1\r\n+OK\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_DOWN);
    bwl_redis_ready(&store->conn.stream.source, 1);
    assert_int_equal(store->phase, BWL_REDIS_DOWN);
}

/* ---- silence --------------------------------------------------------------------------------- */

/* An answer has so long from now on: what came before may have taken longer.  When the question
 * was written, from which it counts. */
static bwl_ms limit_silence_to(bwl_ms ms)
{
    bwl_ms written_at = bwl_redis_nth(store, 0)->written_at;

    client->settings.answer_ms = ms;
    bwl_redis_set_timer(store);
    return written_at;
}

static void test_redis_ask_silence_breaks_the_connection_in_time(void **state)
{
    (void)state;
    ask_for(1);
    greet();
    bwl_ms written_at = limit_silence_to(50);
    while (told_count == 0)
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
    assert_true(bwl_client_now(client) - written_at >= 50);
    assert_told_once(locks[0], BWL_DOWN, 0);
    assert_non_null(strstr(locks[0]->why.text, "no answer within 50 ms"));
    expect("SET bowline:{n0} %s NX PX 30000", locks[0]->hold.claim.token);
    expect_closed();
}

/* It could not have answered before it was asked. */
static void test_redis_ask_silence_is_counted_from_the_writing(void **state)
{
    const struct timespec pause = { .tv_nsec = 120 * 1000000 };

    (void)state;
    ask_for(1);
    bwl_ms asked_at = bwl_client_now(client);
    (void)nanosleep(&pause, NULL);
    greet();
    bwl_ms written_at = limit_silence_to(200);
    assert_true(written_at - asked_at >= 120);
    while (told_count == 0)
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
    assert_true(bwl_client_now(client) - written_at >= 200);
    assert_told_once(locks[0], BWL_DOWN, 0);
}

static void test_redis_ask_silence_during_the_greeting_leaves_nothing_in_doubt(void **state)
{
    (void)state;
    ask_for(1);
    turn();
    server_accepts();
    assert_true(store->phase_ends_at == store->phase_began_at + client->settings.answer_ms);
    store->phase_ends_at = bwl_client_now(client) + 50;
    bwl_redis_set_timer(store);
    while (operations[0].ended == BWL_PENDING)
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
    assert_int_equal(operations[0].ended, BWL_UNREACHABLE);
    assert_told_once(locks[0], BWL_REPLY, BWL_UNSENT);
    expect("HELLO 3\nINFO server");
    expect_closed();
}

static void test_redis_ask_idle_connection_has_no_timer(void **state)
{
    static bwl_operation operation;
    bwl_lock            *lock = held_lock("n", &operation);

    (void)state;
    assert_true(client->store_timer.at == BWL_NEVER);
    bwl_lock_extend(lock, &operation, 20000);
    assert_true(client->store_timer.at != BWL_NEVER);
    says(":1\r\n");
    turn();
    assert_true(client->store_timer.at == BWL_NEVER);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_ask_server_that_is_not_there_is_unreachable),
        CASE(test_redis_ask_next_address_is_tried),
        CASE(test_redis_ask_greeting_that_is_refused_refuses_every_question),
        CASE(test_redis_ask_server_that_is_loading_is_unreachable_for_now),
        CASE(test_redis_ask_last_words_of_a_server_that_hangs_up_are_heard),
        CASE(test_redis_ask_answer_before_the_end_counts),
        CASE(test_redis_ask_connection_that_speaks_unasked_is_closed),
        CASE(test_redis_ask_one_answer_too_many_is_not_the_next_question_s),
        CASE(test_redis_ask_strange_answer_leaves_every_question_in_doubt),
        CASE(test_redis_ask_nonsense_leaves_every_question_in_doubt),
        CASE(test_redis_ask_only_what_was_not_handed_over_is_unsent),
        CASE(test_redis_ask_one_byte_handed_over_is_in_doubt),
        CASE(test_redis_ask_too_much_for_one_connection_loses_nothing),
        CASE(test_redis_ask_connection_in_doubt_is_killed_by_the_next),
        CASE(test_redis_ask_connection_to_be_killed_is_not_forgotten_by_a_failed_greeting),
        CASE(test_redis_ask_break_within_a_break_unsends_nothing),
        CASE(test_redis_ask_event_of_a_connection_that_is_closed_is_nothing),
        CASE(test_redis_ask_silence_breaks_the_connection_in_time),
        CASE(test_redis_ask_silence_is_counted_from_the_writing),
        CASE(test_redis_ask_silence_during_the_greeting_leaves_nothing_in_doubt),
        CASE(test_redis_ask_idle_connection_has_no_timer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
