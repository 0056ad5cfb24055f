/*
 * test_redis_resp2.c -- a server that does not know HELLO: what is said to it then, what of its
 * answers counts, and that a protocol which listens will not have it.
 */
#include "redis_fixture.h"

#define NO_HELLO        "-ERR unknown command 'HELLO', with args beginning with: '3' \r\n"
#define INFO_OF(text)   "$" text
#define VERSION_6_2_14  INFO_OF("24\r\n\nredis_version:6.2.14\r\n\n\r\n")
#define VERSION_5_0_14  INFO_OF("24\r\n\nredis_version:5.0.14\r\n\n\r\n")
#define VERSION_MISSING INFO_OF("10\r\n# Server\r\n\r\n")

static bwl_operation operation;
static bwl_lock     *lock;

static void begin(const char *options, const char *user, const char *password)
{
    close_client();
    if (server >= 0)
        hang_up();
    open_client(options);
    store->user     = user != NULL ? strdup(user) : NULL;
    store->password = password != NULL ? strdup(password) : NULL;
    lock            = lock_named("n");
    bwl_lock_acquire(lock, &operation, 0);
    turn();
    server_accepts();
}

static void refused_with(const char *word)
{
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    if (strstr(lock->why.text, word) == NULL)
        fail_msg("\"%s\" does not tell %s", lock->why.text, word);
}

static void test_redis_resp2_begins_anew_and_asks_as_ever(void **state)
{
    (void)state;
    begin("lease=30s&timeout=5s&protocol=token&db=3", "ann", "secret");
    expect("HELLO 3 AUTH ann secret\nINFO server\nSELECT 3");
    says(NO_HELLO);
    turn();
    expect("AUTH ann secret\nINFO server\nSELECT 3\nCLIENT ID");
    says("-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_GREETING);
    assert_int_equal(store->greeting, BWL_GREET_AUTH);
    says("+OK\r\n" VERSION_6_2_14 "+OK\r\n");
    turn();
    assert_int_equal(store->greeting, BWL_GREET_ID);
    expect(NOTHING);
    says(":77\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
    assert_int_equal(store->connection_id, 77);
    expect("SET bowline:{n} %s NX PX 30000", lock->hold.claim.token);
    says("$-1\r\n"); /* what RESP3 says by _ */
    turn();
    assert_int_equal(operation.ended, BWL_BUSY);
}

static void test_redis_resp2_password_without_a_user_goes_alone(void **state)
{
    (void)state;
    begin("lease=30s&timeout=5s&protocol=token", NULL, "secret");
    expect("HELLO 3 AUTH default secret\nINFO server");
    says("-NOPROTO unsupported protocol version\r\n-NOAUTH no\r\n");
    turn();
    expect("AUTH secret\nINFO server\nCLIENT ID");
}

static void test_redis_resp2_without_a_password_is_nobody(void **state)
{
    (void)state;
    begin("lease=30s&timeout=5s&protocol=token", NULL, NULL);
    expect("HELLO 3\nINFO server");
    says(NO_HELLO VERSION_6_2_14);
    turn();
    expect("INFO server\nCLIENT ID");
    says(VERSION_6_2_14 "-ERR unknown\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
    assert_int_equal(store->connection_id, 0);
}

/* The answers to what was said before AUTH are those to nobody: they must not count. */
static void test_redis_resp2_password_that_is_refused_ends_it(void **state)
{
    (void)state;
    begin("lease=30s&timeout=5s&protocol=token", "ann", "secret");
    expect("HELLO 3 AUTH ann secret\nINFO server");
    says(NO_HELLO VERSION_6_2_14 "-WRONGPASS invalid username-password pair\r\n" VERSION_6_2_14
                                 ":7\r\n");
    turn();
    refused_with("WRONGPASS");
    expect("AUTH ann secret\nINFO server\nCLIENT ID"); /* and nothing behind it */
}

static void test_redis_resp2_version_is_what_info_says(void **state)
{
    static const struct {
        const char *info;
        const char *word;
    } list[] = {
        { VERSION_5_0_14, "is Redis 5.0.14" },
        { VERSION_MISSING, "6.2 or newer" },
        { "-NOPERM no\r\n", "6.2 or newer" },
        { "+OK\r\n", "6.2 or newer" },
        { INFO_OF("17\r\n\nredis_version:\r\n\r\n"), "6.2 or newer" },
        { INFO_OF("45\r\n\nredis_version:6666666666666666666666666666\r\n\r\n"), "6.2 or newer" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        print_message("# %zu\n", i);
        begin("lease=30s&timeout=5s&protocol=token", NULL, NULL);
        expect("HELLO 3\nINFO server");
        says(NO_HELLO);
        says(VERSION_6_2_14);
        says(list[i].info);
        turn();
        refused_with(list[i].word);
    }
}

/* On the next connection it is asked for HELLO again: another server may be there by then. */
static void test_redis_resp2_next_connection_says_hello_again(void **state)
{
    (void)state;
    begin("lease=30s&timeout=5s&protocol=token", NULL, NULL);
    expect("HELLO 3\nINFO server");
    says(NO_HELLO VERSION_6_2_14 VERSION_6_2_14 ":7\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
    hang_up();
    turn();
    for (int n = 0; n < 1000 && store->phase != BWL_REDIS_GREETING; n++) {
        pass(2);
        turn();
    }
    if (store->phase != BWL_REDIS_GREETING) { /* nothing is wanted: then it is when asked */
        static bwl_operation again;
        bwl_lock_acquire(lock_named("m"), &again, 1000);
        turn();
    }
    server_accepts();
    expect("HELLO 3\nINFO server");
    says(HELLO INFO);
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
    assert_false(store->is_resp2);
}

/* Such a connection cannot listen and ask. */
static void test_redis_resp2_is_refused_to_who_listens(void **state)
{
    static const char *const said[] = { NO_HELLO, "-NOPROTO unsupported protocol version\r\n",
                                        "-NOPERM this user has no permissions\r\n" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        begin("lease=30s&timeout=5s&protocol=queue", NULL, NULL);
        says(said[i]);
        turn();
        refused_with("HELLO 3");
        refused_with("protocol=token");
        refused_with(store->where);
    }
}

/* A replica could not be told from a primary. */
static void test_redis_resp2_is_refused_where_one_of_several_is_meant(void **state)
{
    (void)state;
    begin("lease=30s&timeout=5s&protocol=token", NULL, NULL);
    store->is_of_many = true;
    expect("HELLO 3\nINFO server");
    says(NO_HELLO);
    turn();
    refused_with("primary or replica");
    refused_with(store->where);
    store->is_of_many = false;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_resp2_begins_anew_and_asks_as_ever),
        CASE(test_redis_resp2_password_without_a_user_goes_alone),
        CASE(test_redis_resp2_without_a_password_is_nobody),
        CASE(test_redis_resp2_password_that_is_refused_ends_it),
        CASE(test_redis_resp2_version_is_what_info_says),
        CASE(test_redis_resp2_next_connection_says_hello_again),
        CASE(test_redis_resp2_is_refused_to_who_listens),
        CASE(test_redis_resp2_is_refused_where_one_of_several_is_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
