/*
 * test_redis.c -- the engine's table: what a lock says of itself when it asks, who holds a key, and
 * what a child of fork may do to it all.
 *
 * A look is put to the server that is played (redis_fixture.h), which answers when it has been
 * asked and not before; from each answer the holder that the caller is shown.
 */
#include "engine/redis/topology/quorum.h"
#include "redis_fixture.h"

#include "base/fork_guard.h"

#include <poll.h>
#include <sys/wait.h>

static bwl_holder holder;

static void test_redis_engines_are_two_names_for_the_same(void **state)
{
    (void)state;
    assert_string_equal(bwl_redis_engine.scheme, "redis");
    assert_string_equal(bwl_unix_engine.scheme, "unix");
    for (unsigned i = 0; i < 2; i++) {
        const bwl_engine *e = i == 0 ? &bwl_redis_engine : &bwl_unix_engine;
        assert_ptr_equal(e->protocol, &bwl_queue);
        assert_true(e->has_lease);
        assert_null(e->fds);
        assert_ptr_equal(e->ask, bwl_unix_engine.ask);
    }
}

static void test_redis_question_goes_with_the_claim_of_its_time(void **state)
{
    static bwl_operation operation;
    bwl_lock            *lock = held_lock("n", &operation);
    char                 token[BWL_TOKEN_MAX + 1];

    (void)state;
    memcpy(token, lock->hold.claim.token, sizeof token);
    assert_int_equal(strlen(token), 22);
    bwl_lock_extend(lock, &operation, 20000);
    lock->hold.claim.lease_ms = 10000; /* which the question that is out must not follow */
    expect("EVALSHA @extend_if_mine 1 bowline:{n} %s 20000", token);
    says("-NOSCRIPT no\r\n");
    turn();
    expect("EVAL #extend_if_mine 1 bowline:{n} %s 20000", token);
}

/* ---- who ------------------------------------------------------------------------------------- */

/* An answer that lay there already would not be taken for one. */
static void *say_when_asked(void *arg)
{
    struct pollfd asked = { .fd = server, .events = POLLIN };

    (void)poll(&asked, 1, 10000);
    (void)send(server, arg, strlen(arg), MSG_NOSIGNAL);
    return NULL;
}

/* Looks, and waits for what is seen. */
static int look(bwl_lock *lock)
{
    bwl_operation operation;

    bwl_lock_look(lock, &operation);
    assert_int_equal(bwl_client_wait(client, &operation, BWL_NEVER, &fault), BWL_OK);
    return bwl_unix_engine.who(lock, &holder, &fault);
}

static int who(const char *answer)
{
    bwl_lock *lock = lock_named("n");
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, say_when_asked, (void *)(uintptr_t)answer), 0);
    holder     = (bwl_holder){ .pid = 4711 };
    fault      = (bwl_fault){ 0 };
    int status = look(lock);
    bwl_lock_unwanted(lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return status;
}

static void test_redis_who_says_what_is_there(void **state)
{
    static const struct {
        const char *answer;
        bool        held;
        bool        foreign;
        bwl_ms      left_ms;
        const char *note;
    } list[] = {
        { "*3\r\n+none\r\n:-2\r\n$0\r\n\r\n", false, false, 0, "" },
        { "*3\r\n+string\r\n:29000\r\n$22\r\nAbCdEfGhIjKlMnOpQr-_09\r\n", true, false, 29000, "" },
        { "*3\r\n+string\r\n:0\r\n$22\r\nAbCdEfGhIjKlMnOpQr-_09\r\n", true, false, 0, "" },
        { "*3\r\n+string\r\n:-1\r\n$22\r\nAbCdEfGhIjKlMnOpQr-_09\r\n", true, false, BWL_NEVER,
          "the key has no expiry: nothing ends it by itself" },
        { "*3\r\n+string\r\n:5\r\n$21\r\nAbCdEfGhIjKlMnOpQr-_0\r\n", true, true, 5,
          "the value is not in the form of bowline" },
        { "*3\r\n+string\r\n:5\r\n$23\r\nAbCdEfGhIjKlMnOpQr-_091\r\n", true, true, 5,
          "the value is not in the form of bowline" },
        { "*3\r\n+string\r\n:5\r\n$22\r\nAbCdEfGhIjKlMnOpQr-_0=\r\n", true, true, 5,
          "the value is not in the form of bowline" },
        { "*3\r\n+string\r\n:5\r\n$4\r\nb1:x\r\n", true, true, 5, "taken by protocol queue" },
        { "*3\r\n+string\r\n:5\r\n$4\r\nb2:x\r\n", true, true, 5,
          "taken by another version of bowline (b2)" },
        { "*3\r\n+string\r\n:-1\r\n$0\r\n\r\n", true, true, BWL_NEVER,
          "the key has no expiry: nothing ends it by itself" },
        { "*3\r\n+list\r\n:-1\r\n$0\r\n\r\n", true, true, BWL_NEVER,
          "the key is a list, which no lock is" },
        { "*3\r\n+hash\r\n:7\r\n$0\r\n\r\n", true, true, 7,
          "the key is a hash, as locks of Redisson are: profile=redisson" },
    };
    static bwl_operation operation;

    (void)state;
    (void)held_lock("first", &operation);
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        print_message("# %.*s\n", (int)strcspn(list[i].answer + 4, "\r"), list[i].answer + 4);
        assert_int_equal(who(list[i].answer), BWL_OK);
        expect("EVALSHA @look 1 bowline:{n}");
        assert_int_equal(holder.held, list[i].held);
        assert_int_equal(holder.foreign, list[i].foreign);
        assert_true(holder.left_ms == list[i].left_ms);
        assert_string_equal(holder.note, list[i].note);
        assert_int_equal(holder.pid, 0);
    }
    assert_int_equal(client->locks_count, 1);
}

static void test_redis_who_that_is_refused_says_why(void **state)
{
    static bwl_operation operation;

    (void)state;
    (void)held_lock("first", &operation);
    assert_int_equal(who("-NOPERM no permission\r\n"), BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "NOPERM no permission"));
    expect("EVALSHA @look 1 bowline:{n}");
    assert_int_equal(who("-LOADING not yet\r\n"), BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "LOADING not yet"));
}

static void test_redis_who_without_a_server_is_unreachable(void **state)
{
    static bwl_operation operation;

    (void)state;
    (void)held_lock("first", &operation);
    assert_int_equal(who("+OK\r\n"), BWL_STATUS_UNREACHABLE);
    assert_non_null(strstr(fault.text, "answers what was not asked"));
    hang_up();
    vanish();
    bwl_lock *lock = lock_named("n");
    /* Another connection was under way already, for what is held, and nobody takes it. */
    assert_int_equal(look(lock), BWL_STATUS_UNREACHABLE);
    bwl_lock_unwanted(lock);
    lock = lock_named("n");
    assert_int_equal(look(lock), BWL_STATUS_UNREACHABLE);
    assert_non_null(strstr(fault.text, "No such file"));
    bwl_lock_unwanted(lock);
    assert_int_equal(client->locks_count, 1);
}

/* Whoever looked may be gone: what he left stays until the answer, and then nothing does. */
static void test_redis_look_that_is_cancelled_frees_itself_with_its_answer(void **state)
{
    static bwl_operation operation;
    bwl_operation        looking;

    (void)state;
    (void)held_lock("first", &operation);
    bwl_lock *lock = lock_named("n");
    bwl_lock_look(lock, &looking);
    expect("EVALSHA @look 1 bowline:{n}");
    bwl_lock_cancel(&looking);
    assert_int_equal(looking.ended, BWL_CANCELLED);
    bwl_lock_unwanted(lock);
    assert_int_equal(client->locks_count, 2);
    says("*3\r\n+none\r\n:-2\r\n$0\r\n\r\n");
    turn();
    assert_int_equal(client->locks_count, 1);
}

static void test_redis_look_that_is_open_at_the_end_is_freed(void **state)
{
    static bwl_operation operation;
    bwl_operation        looking;

    (void)state;
    (void)held_lock("first", &operation);
    bwl_lock_look(lock_named("n"), &looking);
    close_client();
    assert_int_equal(looking.ended, BWL_CANCELLED);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void test_redis_close_sends_the_releases_and_waits_for_nothing(void **state)
{
    static bwl_operation operation;
    bwl_lock            *lock = held_lock("n", &operation);
    char                 token[BWL_TOKEN_MAX + 1];

    (void)state;
    memcpy(token, lock->hold.claim.token, sizeof token);
    close_client();
    expect("CLIENT REPLY OFF\nEVAL #delete_if_mine 1 bowline:{n} %s", token);
    expect_closed();
}

static void test_redis_close_takes_back_what_is_still_being_asked_for(void **state)
{
    static bwl_operation operation;
    bwl_lock            *lock = lock_named("n");
    char                 token[BWL_TOKEN_MAX + 1];

    (void)state;
    bwl_lock_acquire(lock, &operation, BWL_NEVER);
    greet();
    memcpy(token, lock->hold.claim.token, sizeof token);
    expect("SET bowline:{n} %s NX PX 30000", token);
    close_client();
    assert_int_equal(operation.ended, BWL_CANCELLED);
    expect("CLIENT REPLY OFF\nEVAL #delete_if_mine 1 bowline:{n} %s", token);
    expect_closed();
}

static void test_redis_child_that_closes_says_nothing_and_harms_nothing(void **state)
{
    static bwl_operation operation;
    bwl_lock            *lock = held_lock("n", &operation);
    int                  status;

    (void)state;
    pid_t child = fork();
    if (child == 0) {
        bool forked = bwl_forked(&client->guard);
        bwl_client_close(client);
        _exit(forked ? 7 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    expect(NOTHING);
    bwl_lock_release(lock, &operation);
    expect("EVALSHA @delete_if_mine 1 bowline:{n} %s", lock->hold.claim.token);
    says(":1\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_RELEASED);
}

/* ---- holder queries of several servers ------------------------------------------------------- */

/* Sanitizers end a program that asks for too much memory, unless they are told that it is meant. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* The pipeline is full, and cannot be made larger. */
static void has_no_memory(bwl_redis_store *full)
{
    full->questions_count = full->questions_room = SIZE_MAX / 8;
}

static bwl_operation looking;

/* No TCP connection goes to a group address: connect() fails at once.  So no reply is outstanding
 * when the last request cannot be made. */
static void test_holder_query_ends_when_nodes_fail_at_once_and_memory_ends(void **state)
{
    static const bwl_settings nothing;
    const bwl_terms terms = { .lease_ms = 10000, .max_hold_ms = BWL_NEVER, .answer_ms = 1000 };
    bwl_lock       *asked = NULL;

    (void)state;
    close_client();
    assert_int_equal(bwl_client_open(&client, &nothing, false,
                                     "redlock://224.0.0.1,224.0.0.2,224.0.0.3", &fault),
                     BWL_OK);
    bwl_client_lock(client);
    assert_int_equal(bwl_lock_new(&asked, client, "n", &terms, &fault), BWL_OK);
    has_no_memory(bwl_redis_store_of(client, 2));
    bwl_lock_look(asked, &looking);
    bwl_redis_store_of(client, 2)->questions_count = 0;
    bwl_redis_store_of(client, 2)->questions_room  = 0;
    assert_int_equal(client->pending, 0);
    assert_int_equal(looking.ended, BWL_RELEASED);
    assert_int_equal(client->engine->who(asked, &holder, &fault), BWL_STATUS_UNREACHABLE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_engines_are_two_names_for_the_same),
        CASE(test_redis_question_goes_with_the_claim_of_its_time),
        CASE(test_redis_who_says_what_is_there),
        CASE(test_redis_who_that_is_refused_says_why),
        CASE(test_redis_who_without_a_server_is_unreachable),
        CASE(test_redis_look_that_is_cancelled_frees_itself_with_its_answer),
        CASE(test_redis_look_that_is_open_at_the_end_is_freed),
        CASE(test_redis_close_sends_the_releases_and_waits_for_nothing),
        CASE(test_redis_close_takes_back_what_is_still_being_asked_for),
        CASE(test_redis_child_that_closes_says_nothing_and_harms_nothing),
        CASE(test_holder_query_ends_when_nodes_fail_at_once_and_memory_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
