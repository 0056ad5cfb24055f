/*
 * test_redis_inbox.c -- the inbox of a connection: what is said to have one, and what the server
 * may answer; whom a push is for; and by what names those who wait stand in the queue when the
 * connection is another one.
 */
#include "redis_fixture.h"

#define SCRIPTS_THERE "*8\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"

/* The name of an inbox is new with every connection. */
static char inbox[BWL_QUEUE_INBOX_SIZE + 1];

static int play_queue(void **state)
{
    (void)play(state);
    close_client();
    open_client("lease=30s&timeout=5s&protocol=queue");
    return 0;
}

/* ---- what is said, and answered -------------------------------------------------------------- */

/* Frames of pushes, with the inbox in them. */
static const char *push_of(const char *kind, const char *rest)
{
    static char texts[4][400];
    static int  next;
    char       *text = texts[next++ % 4];

    (void)snprintf(text, sizeof texts[0], ">3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n%s", strlen(kind),
                   kind, strlen(inbox), inbox, rest);
    return text;
}

/* What was sent up to the floor, whose script has spaces of its own. */
static void expect_greeting(const char *subscribe, const char *publish, bool begins)
{
    static char     is[READ_MAX];
    static char     wanted[READ_MAX];
    char            line[400];
    bwl_resp_writer writer  = { .bytes = wanted, .capacity = sizeof wanted };
    const char     *lines[] = { "HELLO 3", "INFO server" };

    memcpy(inbox, store->inbox, sizeof inbox);
    for (int i = 0; begins && i < 2; i++)
        write_line(&writer, lines[i], strlen(lines[i]));
    (void)snprintf(line, sizeof line, "%s %s", subscribe, inbox);
    write_line(&writer, line, strlen(line));
    (void)snprintf(line, sizeof line, "%s %s H", publish, inbox);
    write_line(&writer, line, strlen(line));
    bwl_queue_write_scripts(&writer);
    bwl_redis_introduce(store, &writer, "");
    ssize_t got = recv(server, is, sizeof is, 0);
    if (got != (ssize_t)writer.size || memcmp(is, wanted, writer.size) != 0)
        fail_msg("sent:\n%.*s\nwanted:\n%.*s", (int)got, is, (int)writer.size, wanted);
}

static void greet_queue(void)
{
    turn();
    server_accepts();
    expect_greeting("SSUBSCRIBE", "SPUBLISH", true);
    says(HELLO INFO);
    says(push_of("ssubscribe", ":1\r\n"));
    says(push_of("smessage", "$1\r\nH\r\n"));
    says(":1\r\n" SCRIPTS_THERE ":1\r\n");
    turn();
}

/* After a pause, perhaps. */
static void comes_to_greet(void)
{
    turn();
    for (int n = 0; n < 1000 && store->phase != BWL_REDIS_GREETING; n++) {
        pass(2);
        turn();
    }
}

static void begin(void)
{
    static bwl_operation operation;

    bwl_lock_acquire(lock_named("n"), &operation, 1000);
    turn();
    server_accepts();
    expect_greeting("SSUBSCRIBE", "SPUBLISH", true);
}

static void test_redis_inbox_greeting_goes_in_one_piece(void **state)
{
    (void)state;
    begin();
    says(HELLO INFO);
    turn();
    assert_int_equal(store->greeting, BWL_GREET_SUBSCRIBE);
    says(push_of("ssubscribe", ":1\r\n"));
    turn();
    assert_int_equal(store->greeting, BWL_GREET_PUBLISH);
    says(push_of("smessage", "$1\r\nH\r\n"));
    says(":1\r\n");
    turn();
    assert_int_equal(store->greeting, BWL_GREET_SCRIPTS);
    says(SCRIPTS_THERE);
    turn();
    assert_int_equal(store->phase, BWL_REDIS_GREETING);
    expect(NOTHING);
    says(":1\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
}

/* Newer servers send what one says to oneself behind the answer to it. */
static void test_redis_inbox_what_we_say_may_come_behind_its_answer(void **state)
{
    (void)state;
    begin();
    says(HELLO INFO);
    says(push_of("ssubscribe", ":1\r\n"));
    says(":1\r\n");
    says(push_of("smessage", "$1\r\nH\r\n"));
    says(SCRIPTS_THERE ":1\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
}

static void test_redis_inbox_is_another_one_for_every_connection(void **state)
{
    char first[sizeof inbox];
    char session[sizeof store->session];

    (void)state;
    begin();
    memcpy(first, inbox, sizeof first);
    memcpy(session, store->session, sizeof session);
    hang_up();
    comes_to_greet();
    server_accepts();
    expect_greeting("SSUBSCRIBE", "SPUBLISH", true);
    assert_string_not_equal(inbox, first);
    assert_string_equal(store->session, session);
}

static void test_redis_inbox_missing_scripts_are_loaded(void **state)
{
    static char     is[READ_MAX];
    static char     wanted[READ_MAX];
    bwl_resp_writer writer = { .bytes = wanted, .capacity = sizeof wanted };

    (void)state;
    begin();
    says(HELLO INFO);
    says(push_of("ssubscribe", ":1\r\n"));
    says(push_of("smessage", "$1\r\nH\r\n"));
    says(":1\r\n*8\r\n:1\r\n:0\r\n:1\r\n:1\r\n:1\r\n:0\r\n:1\r\n:1\r\n:1\r\n");
    turn();
    bwl_queue_write_load(&writer, 1);
    bwl_queue_write_load(&writer, 5);
    assert_int_equal(recv(server, is, sizeof is, 0), (ssize_t)writer.size);
    assert_memory_equal(is, wanted, writer.size);
    says("$3\r\nsum\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_GREETING);
    says("-NOPERM no\r\n"); /* then it goes by its text */
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
}

/* Before 7.0 there are no shards.  Once it is known, it is not tried again. */
static void test_redis_inbox_server_without_shards_is_asked_its_way(void **state)
{
    (void)state;
    begin();
    says(HELLO_OF("6.2.14", "7") INFO "-ERR unknown command `SSUBSCRIBE`\r\n"
                                      "-ERR unknown command `SPUBLISH`\r\n" SCRIPTS_THERE ":1\r\n");
    turn();
    expect_greeting("SUBSCRIBE", "PUBLISH", false);
    says(push_of("subscribe", ":1\r\n"));
    says(push_of("message", "$1\r\nH\r\n"));
    says(":1\r\n" SCRIPTS_THERE ":1\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
    hang_up();
    comes_to_greet();
    server_accepts();
    expect_greeting("SUBSCRIBE", "PUBLISH", true);
}

/* What each part of it may be answered, what that means, and a word that the text must have. */
typedef struct refusal {
    const char *subscribe; /* NULL: as it should be */
    const char *publish;
    const char *floor;
    bool        is_silent; /* what we say does not come */
    int         status;
    const char *word;
} refusal;

static const refusal refusals[] = {
    { "-NOPERM no permissions to access a channel\r\n", NULL, NULL, false, BWL_STATUS_REFUSED,
      "ACL SETUSER default +ssubscribe" },
    { "-ERR unknown command\r\n", NULL, NULL, false, BWL_STATUS_REFUSED, "unknown command" },
    { "-LOADING no\r\n", NULL, NULL, false, BWL_STATUS_UNREACHABLE, "cannot serve now" },
    { ":1\r\n", NULL, NULL, false, BWL_STATUS_UNREACHABLE, "what was not asked" },
    { NULL, "-NOPERM no\r\n", NULL, false, BWL_STATUS_REFUSED, "&bowline:i:*" },
    { NULL, ":0\r\n", NULL, false, BWL_STATUS_REFUSED, "does not deliver messages" },
    { NULL, "+OK\r\n", NULL, false, BWL_STATUS_REFUSED, "does not deliver messages" },
    { NULL, NULL, NULL, true, BWL_STATUS_REFUSED, "does not deliver messages" },
    { NULL, NULL, "-NOPERM no\r\n", false, BWL_STATUS_REFUSED, "+evalsha" },
    { NULL, NULL, "-READONLY no\r\n", false, BWL_STATUS_UNREACHABLE, "cannot serve now" },
    { NULL, NULL, "-WRONGTYPE bowline:f is no number\r\n", false, BWL_STATUS_REFUSED,
      "bowline:f is no number" },
    { NULL, NULL, ":0\r\n", false, BWL_STATUS_UNREACHABLE, "what was not asked" },
};

static void test_redis_inbox_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const refusal       *r = &refusals[i];
        static bwl_operation operation;
        bwl_lock            *lock = lock_named("n");
        bwl_lock_acquire(lock, &operation, 0);
        comes_to_greet();
        server_accepts();
        expect_greeting("SSUBSCRIBE", "SPUBLISH", true);
        says(HELLO INFO);
        says(r->subscribe != NULL ? r->subscribe : push_of("ssubscribe", ":1\r\n"));
        if (!r->is_silent)
            says(push_of("smessage", "$1\r\nH\r\n"));
        says(r->publish != NULL ? r->publish : ":1\r\n");
        says(SCRIPTS_THERE);
        says(r->floor != NULL ? r->floor : ":1\r\n");
        turn();
        hang_up();
        bool             is_put_off = strcmp(r->word, "cannot serve now") == 0;
        bwl_outcome_kind wanted     = r->status == BWL_STATUS_REFUSED ? BWL_STORE_REFUSED
                                      : is_put_off                    ? BWL_NOT_NOW
                                                                      : BWL_UNREACHABLE;
        if (operation.ended != wanted || strstr(lock->why.text, r->word) == NULL)
            fail_msg("row %zu: %d, \"%s\"", i, (int)operation.ended, lock->why.text);
        bwl_lock_unwanted(lock);
        close_client();
        open_client("lease=30s&timeout=5s&protocol=queue");
    }
}

/* Before 7.2 a server does not say which command of a script is missing. */
static void test_redis_inbox_right_that_a_script_lacks_is_told_to_people(void **state)
{
    char text[160];

    (void)state;
    assert_true(bwl_redis_lacks_a_right(
        "ERR The user executing the script can't run this command or subcommand script: 0a"));
    assert_true(bwl_redis_lacks_a_right(
        "ERR Error running script (call to f_0a): @user_script:9: @user_script: 9: The user "
        "executing the script can't run this command or subcommand"));
    assert_false(bwl_redis_lacks_a_right("NOPERM User ann has no permissions to run 'zadd'"));
    bwl_redis_name_rights(store, text, sizeof text);
    assert_non_null(strstr(text, "user default may not"));
    assert_non_null(strstr(text, "RIGHTS"));
}

/* ---- who waits ------------------------------------------------------------------------------- */

#define N      "1795323949966265"
#define QUEUED "*6\r\n$6\r\nQUEUED\r\n:" N "\r\n:0\r\n:30000\r\n:1\r\n:" N "\r\n"

static bwl_operation operation;

/* The member of the n-th slot, in its present generation. */
static const char *member(const bwl_lock *lock, const char *by)
{
    static char           text[2][200];
    static int            next;
    const bwl_redis_part *part = lock->part;
    char                 *to   = text[next++ % 2];

    (void)snprintf(to, sizeof text[0], "b1:%s%.16s %u.%016llx %s 2000", store->session,
                   lock->hold.claim.token, (unsigned)part->slot,
                   (unsigned long long)part->generation, by);
    return to;
}

/* Words that may have spaces, with bars between. */
__attribute__((format(printf, 1, 2))) static void expect_words(const char *format, ...)
{
    static char     is[READ_MAX];
    static char     wanted[READ_MAX];
    char            text[2048];
    bwl_resp_writer writer = { .bytes = wanted, .capacity = sizeof wanted };
    va_list         arguments;
    uint32_t        words = 1;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (const char *c = text; *c != '\0'; c++)
        words += *c == '|';
    bwl_resp_write_array(&writer, words);
    for (char *word = text; word != NULL;) {
        char *bar = strchr(word, '|');
        if (bar != NULL)
            *bar = '\0';
        write_word(&writer, word, strlen(word));
        word = bar != NULL ? bar + 1 : NULL;
    }
    ssize_t got = recv(server, is, sizeof is, 0);
    if (got != (ssize_t)writer.size || memcmp(is, wanted, writer.size) != 0)
        fail_msg("sent:\n%.*s\nwanted:\n%.*s", (int)got, is, (int)writer.size, wanted);
}

#define BARRED_KEYS "4|bowline:{n}|bowline:{n}:bwl.q|bowline:{n}:bwl.b|bowline:f"

static void expect_join(const bwl_lock *lock, const char *ticket)
{
    expect_words("EVALSHA|@queue_join|" BARRED_KEYS "|b1:%s%.16s|30000|SPUBLISH|%s|%s|10000",
                 store->session, lock->hold.claim.token, member(lock, inbox), ticket);
}

static bwl_lock *queued_lock(void)
{
    bwl_lock *lock = lock_named("n");

    bwl_lock_acquire(lock, &operation, 60000);
    if (store->phase != BWL_REDIS_READY)
        greet_queue();
    expect_join(lock, "0");
    says(QUEUED);
    turn();
    assert_int_equal(lock->hold.state, BWL_HOLD_QUEUED);
    return lock;
}

static void grants(uint32_t slot, uint64_t generation)
{
    char text[200];
    char rest[240];

    (void)snprintf(text, sizeof text, "G %u.%016llx " N " " N, (unsigned)slot,
                   (unsigned long long)generation);
    (void)snprintf(rest, sizeof rest, "$%zu\r\n%s\r\n", strlen(text), text);
    says(push_of("smessage", rest));
    turn();
}

static void test_redis_inbox_grant_is_for_who_has_the_nonce(void **state)
{
    (void)state;
    bwl_lock *first  = queued_lock();
    bwl_lock *second = queued_lock();
    grants(((bwl_redis_part *)first->part)->slot, ((bwl_redis_part *)first->part)->generation);
    assert_int_equal(first->hold.state, BWL_HOLD_HELD);
    assert_true(first->hold.fence == UINT64_C(1795323949966265) * 1024);
    assert_int_equal(second->hold.state, BWL_HOLD_QUEUED);
    expect_words("EVALSHA|@extend_if_mine|1|bowline:{n}|b1:%s%.16s|30000", store->session,
                 first->hold.claim.token);
}

static void test_redis_inbox_grant_for_nobody_is_not_heard(void **state)
{
    (void)state;
    bwl_lock       *lock = queued_lock();
    bwl_redis_part *part = lock->part;
    grants(part->slot, part->generation + 1);
    grants(part->slot + 1, part->generation);
    grants(part->slot + 1000, part->generation);
    grants(0, part->generation);
    inbox[BWL_QUEUE_INBOX_SIZE - 1] ^= 1; /* that of another connection */
    grants(part->slot, part->generation);
    expect(NOTHING);
    assert_int_equal(lock->hold.state, BWL_HOLD_QUEUED);
}

/* The attempt before this one had the same slot. */
static void test_redis_inbox_attempt_after_another_has_another_generation(void **state)
{
    (void)state;
    bwl_lock *lock   = queued_lock();
    uint64_t  before = ((bwl_redis_part *)lock->part)->generation;
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_DOWN }); /* asks BEAT */
    expect_words("EVALSHA|@queue_beat|" BARRED_KEYS "|b1:%s%.16s|SPUBLISH|%s", store->session,
                 lock->hold.claim.token, member(lock, inbox));
    says("*1\r\n$4\r\nGONE\r\n");
    turn();
    for (int n = 0; n < 200 && lock->hold.claim.attempt < 2; n++) {
        pass(1);
        turn();
    }
    expect_join(lock, N);
    assert_true(((bwl_redis_part *)lock->part)->generation != before);
    says(QUEUED);
    turn();
    grants(((bwl_redis_part *)lock->part)->slot, before);
    assert_int_equal(lock->hold.state, BWL_HOLD_QUEUED);
}

static void test_redis_inbox_slots_are_used_again(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        bwl_lock *lock = lock_named("n");
        assert_true(bwl_redis_name_waiter(store, lock, &(bwl_ask){ .claim_ms = 1 }));
        assert_int_equal(((bwl_redis_part *)lock->part)->slot, 1);
        bwl_lock_unwanted(lock);
    }
    for (uint32_t i = 1; i <= 100; i++) {
        bwl_lock *lock = lock_named("n");
        assert_true(bwl_redis_name_waiter(store, lock, &(bwl_ask){ .claim_ms = 1 }));
        assert_in_range(((bwl_redis_part *)lock->part)->slot, 1, 128);
    }
    assert_int_equal(store->waiters_room, 128);
}

/* The connection ends: KILL, and then BEAT, by the inbox that it has now and the one it had. */
static void test_redis_inbox_waiter_moves_to_the_inbox_of_the_next_connection(void **state)
{
    char first[sizeof inbox];

    (void)state;
    bwl_lock *lock = queued_lock();
    memcpy(first, inbox, sizeof first);
    hang_up();
    turn();
    greet_queue();
    expect("CLIENT KILL ID 7");
    says(":1\r\n");
    turn();
    expect_words("EVALSHA|@queue_beat|" BARRED_KEYS "|b1:%s%.16s|SPUBLISH|%s|%s", store->session,
                 lock->hold.claim.token, member(lock, inbox), member(lock, first));
    says(QUEUED);
    turn();
    /* It is known to stand by the new one; the old one is not named any more. */
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_DOWN });
    expect_words("EVALSHA|@queue_beat|" BARRED_KEYS "|b1:%s%.16s|SPUBLISH|%s", store->session,
                 lock->hold.claim.token, member(lock, inbox));
}

static void test_redis_inbox_held_lock_is_verified_by_its_whole_value(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("n");
    bwl_lock_acquire(lock, &operation, 0);
    greet_queue();
    expect_words("EVALSHA|@queue_take|" BARRED_KEYS "|b1:%s%.16s|30000|SPUBLISH", store->session,
                 lock->hold.claim.token);
    says(":" N "\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_HELD);
    hang_up();
    turn();
    greet_queue();
    expect("CLIENT KILL ID 7");
    says(":1\r\n");
    turn();
    expect_words("EVALSHA|@extend_if_mine|1|bowline:{n}|b1:%s%.16s|1", store->session,
                 lock->hold.claim.token);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_redis_inbox_greeting_goes_in_one_piece, play_queue,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_inbox_what_we_say_may_come_behind_its_answer,
                                        play_queue, play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_inbox_is_another_one_for_every_connection,
                                        play_queue, play_is_over),
        cmocka_unit_test_setup_teardown(
            test_redis_inbox_right_that_a_script_lacks_is_told_to_people, play_queue, play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_inbox_missing_scripts_are_loaded, play_queue,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_inbox_server_without_shards_is_asked_its_way,
                                        play_queue, play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_inbox_refusals, play_queue, play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_inbox_grant_is_for_who_has_the_nonce, play_queue,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_inbox_grant_for_nobody_is_not_heard, play_queue,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(
            test_redis_inbox_attempt_after_another_has_another_generation, play_queue,
            play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_inbox_slots_are_used_again, play_queue,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(
            test_redis_inbox_waiter_moves_to_the_inbox_of_the_next_connection, play_queue,
            play_is_over),
        cmocka_unit_test_setup_teardown(test_redis_inbox_held_lock_is_verified_by_its_whole_value,
                                        play_queue, play_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
