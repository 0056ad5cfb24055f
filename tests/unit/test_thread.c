/*
 * test_thread.c -- locks between the threads of one process.
 *
 * Most of it in one thread, with three clients, so that every order of events can be chosen: who
 * asks, who leaves, who has been granted the lock and does not know it yet.  Then a thousand names;
 * then a child of fork; and at the end many threads at once, who would notice a second holder.
 */
#include "api/engines.h"
#include "runtime/lock.h"
#include "api/engines.h"
#include "protocol/store/local.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CLIENTS = 3, NAMES = 1000 };

typedef struct asker { /* a lock with what is under way for it */
    bwl_lock     *lock;
    bwl_operation operation;
} asker;

static bwl_shard *clients[CLIENTS];
static bwl_fault  fault;

static bwl_shard *open_one(void)
{
    static const bwl_settings nothing;
    bwl_shard                *client;

    assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, "thread:", &fault),
                     BWL_OK);
    return client;
}

static int open_clients(void **state)
{
    (void)state;
    memset(clients, 0, sizeof clients); /* those of the test before are no more */
    for (unsigned i = 0; i < CLIENTS; i++)
        clients[i] = open_one();
    return 0;
}

static int close_clients(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CLIENTS; i++)
        bwl_shard_close(clients[i]);
    return 0;
}

/* ---- one step each --------------------------------------------------------------------------- */

static bwl_outcome_kind ask(asker *a, bwl_shard *client, const char *name, bwl_ms wait_ms)
{
    const bwl_terms terms = { .lease_ms = 30000, .max_hold_ms = BWL_NEVER, .answer_ms = 5000 };

    bwl_shard_lock(client);
    int status = bwl_lock_new(&a->lock, client, name, &terms, &fault);
    if (status == BWL_OK)
        bwl_lock_acquire(a->lock, &a->operation, wait_ms);
    bwl_shard_unlock(client);
    return status == BWL_OK ? a->operation.completion.result : BWL_PENDING;
}

static void drive(bwl_shard *client)
{
    bwl_shard_lock(client);
    assert_int_equal(bwl_loop_run(&client->loop, bwl_shard_now(client), &fault), BWL_OK);
    bwl_shard_unlock(client);
}

/* How it stands with this asker, after all that has come for its client. */
static bwl_outcome_kind now(asker *a)
{
    drive(a->lock->shard);
    return a->operation.completion.result;
}

static void forget(asker *a)
{
    bwl_shard *client = a->lock->shard;

    bwl_shard_lock(client);
    bwl_lock_drop_handle(a->lock);
    bwl_shard_unlock(client);
}

static void release(asker *a)
{
    bwl_shard *client = a->lock->shard;

    bwl_shard_lock(client);
    bwl_lock_release(a->lock, &a->operation);
    bwl_shard_unlock(client);
    assert_int_equal(a->operation.completion.result, BWL_RELEASED);
    forget(a);
}

static void cancel(asker *a)
{
    bwl_shard *client = a->lock->shard;

    bwl_shard_lock(client);
    bwl_lock_cancel(&a->operation);
    bwl_shard_unlock(client);
    assert_int_equal(a->operation.completion.result, BWL_CANCELLED);
    forget(a);
}

static bool is_held(const char *name, uint64_t *ret_fence)
{
    const bwl_terms terms = { .lease_ms = 30000, .max_hold_ms = BWL_NEVER };
    bwl_lock       *lock;
    bwl_holder      holder;

    bwl_shard_lock(clients[0]);
    assert_int_equal(bwl_lock_new(&lock, clients[0], name, &terms, &fault), BWL_OK);
    assert_int_equal(bwl_thread_engine.who(lock, &holder, &fault), BWL_OK);
    bwl_lock_drop_handle(lock);
    bwl_shard_unlock(clients[0]);
    assert_true(holder.left_ms == (holder.held ? BWL_NEVER : 0));
    assert_false(holder.foreign);
    *ret_fence = holder.fence;
    return holder.held;
}

static void assert_free(const char *name)
{
    uint64_t fence;

    assert_false(is_held(name, &fence));
    assert_int_equal(fence, 0);
}

/* ---- who gets it ----------------------------------------------------------------------------- */

static void test_thread_free_name_is_ours_at_once(void **state)
{
    asker    a;
    uint64_t fence;

    (void)state;
    assert_free("n");
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    assert_true(a.lock->base.hold.fence > 0);
    assert_true(bwl_hold_left(&a.lock->base.hold, 1) == BWL_NEVER);
    assert_true(is_held("n", &fence));
    assert_true(fence == a.lock->base.hold.fence);
    release(&a);
    assert_free("n");
}

static void test_thread_held_name_is_busy_for_who_does_not_wait(void **state)
{
    asker a, b, other;

    (void)state;
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    assert_int_equal(ask(&b, clients[1], "n", 0), BWL_BUSY);
    forget(&b);
    assert_int_equal(ask(&b, clients[0], "n", 0), BWL_BUSY); /* nor through the same client */
    forget(&b);
    assert_int_equal(ask(&other, clients[1], "n2", 0), BWL_HELD);
    release(&other);
}

static void test_thread_order_is_first_come_first_served(void **state)
{
    asker a, waiting[6];

    (void)state;
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(ask(&waiting[i], clients[i % CLIENTS], "n", BWL_NEVER), BWL_PENDING);
    uint64_t latest = a.lock->base.hold.fence;
    release(&a);
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned j = i + 1; j < 6; j++)
            assert_int_equal(now(&waiting[j]), BWL_PENDING);
        assert_int_equal(now(&waiting[i]), BWL_HELD);
        assert_true(waiting[i].lock->base.hold.fence > latest);
        latest = waiting[i].lock->base.hold.fence;
        release(&waiting[i]);
    }
    assert_free("n");
}

static void test_thread_who_leaves_the_queue_leaves_the_order_as_it_is(void **state)
{
    asker a, b, c, d, e;

    (void)state;
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    (void)ask(&b, clients[1], "n", BWL_NEVER);
    (void)ask(&c, clients[2], "n", BWL_NEVER);
    (void)ask(&d, clients[1], "n", BWL_NEVER);
    cancel(&c); /* from the middle */
    cancel(&d); /* from the end */
    (void)ask(&e, clients[2], "n", BWL_NEVER);
    release(&a);
    assert_int_equal(now(&e), BWL_PENDING);
    assert_int_equal(now(&b), BWL_HELD);
    release(&b);
    assert_int_equal(now(&e), BWL_HELD);
    release(&e);
    assert_free("n");
}

static void test_thread_grant_to_a_waiter_who_has_cancelled_passes_on(void **state)
{
    asker a, b, c;

    (void)state;
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    (void)ask(&b, clients[1], "n", BWL_NEVER);
    (void)ask(&c, clients[2], "n", BWL_NEVER);
    release(&a); /* b has been granted it, and was not driven since */
    cancel(&b);
    drive(clients[1]);
    assert_int_equal(now(&c), BWL_HELD);
    (void)ask(&b, clients[1], "n", BWL_NEVER);
    release(&c);
    cancel(&b); /* and there is nobody behind it */
    assert_free("n");
}

static void test_thread_client_that_closes_hands_on_what_it_holds_and_was_granted(void **state)
{
    asker a, b, c, m, o;

    (void)state;
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    assert_int_equal(ask(&m, clients[1], "m", 0), BWL_HELD);
    (void)ask(&b, clients[1], "n", BWL_NEVER);
    (void)ask(&c, clients[2], "n", BWL_NEVER);
    (void)ask(&o, clients[2], "m", BWL_NEVER);
    release(&a); /* to b, of the client that closes */
    bwl_shard *closing = clients[1];
    clients[1]         = open_one();
    bwl_shard_close(closing);
    assert_int_equal(now(&c), BWL_HELD);
    assert_int_equal(now(&o), BWL_HELD);
    release(&c);
    release(&o);
}

static void test_thread_several_grants_of_one_client_all_arrive(void **state)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    asker                    holders[4], waiting[4];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(ask(&holders[i], clients[0], names[i], 0), BWL_HELD);
        (void)ask(&waiting[i], clients[1], names[i], BWL_NEVER);
    }
    for (unsigned i = 0; i < 4; i++)
        release(&holders[i]);
    cancel(&waiting[1]); /* taken out of the middle of the list of grants */
    drive(clients[1]);
    for (unsigned i = 0; i < 4; i++)
        if (i != 1) {
            assert_int_equal(waiting[i].operation.completion.result, BWL_HELD);
            release(&waiting[i]);
        }
    for (unsigned i = 0; i < 4; i++)
        assert_free(names[i]);
}

static void test_thread_waiter_whose_time_is_over_stands_there_no_more(void **state)
{
    asker a, b, c;

    (void)state;
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    (void)ask(&b, clients[1], "n", 5);
    (void)ask(&c, clients[2], "n", BWL_NEVER);
    bwl_shard_lock(clients[1]);
    assert_int_equal(bwl_loop_wait(&clients[1]->loop, &b.operation.completion, BWL_NEVER, &fault),
                     BWL_OK);
    bwl_shard_unlock(clients[1]);
    assert_int_equal(b.operation.completion.result, BWL_TIMED_OUT);
    forget(&b);
    release(&a);
    assert_int_equal(now(&c), BWL_HELD);
    release(&c);
    assert_free("n");
}

/* What the protocol never does with this store, and the store answers all the same. */
static void test_thread_every_word_has_its_answer(void **state)
{
    asker     a;
    bwl_event reply = { 0 };

    (void)state;
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    bwl_shard_lock(clients[0]);
    assert_true(bwl_thread_engine.ask(a.lock, &(bwl_ask){ .word = LOCAL_TRY }, &reply));
    assert_int_equal(reply.answer, BWL_NO);
    assert_int_equal(reply.number, LOCAL_WILL_GRANT);
    bwl_shard_unlock(clients[0]);
    release(&a);
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    bwl_shard_lock(clients[0]);
    for (unsigned i = 0; i < 2; i++) { /* the second stands nowhere any more */
        assert_true(bwl_thread_engine.ask(a.lock, &(bwl_ask){ .word = LOCAL_LEAVE }, &reply));
        assert_int_equal(reply.answer, BWL_YES);
    }
    bwl_shard_unlock(clients[0]);
    assert_free("n");
    release(&a);
}

/* ---- a thousand names ------------------------------------------------------------------------ */

static uint64_t chance_state;

static unsigned chance(unsigned below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (unsigned)(chance_state >> 32) % below;
}

static void test_thread_table_of_1000_names_grows_and_shrinks_to_nothing(void **state)
{
    static asker askers[NAMES];
    unsigned     order[NAMES];
    char         name[16];
    uint64_t     fence;
    uint64_t     latest = 0;

    (void)state;
    chance_state = UINT64_C(0x9E3779B97F4A7C15);
    print_message("# seed 0x%" PRIX64 "\n", chance_state);
    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "name-%u", i);
        assert_int_equal(ask(&askers[i], clients[i % CLIENTS], name, 0), BWL_HELD);
        assert_true(askers[i].lock->base.hold.fence > latest); /* of whatever name */
        latest   = askers[i].lock->base.hold.fence;
        order[i] = i;
    }
    for (unsigned i = NAMES - 1; i > 0; i--) {
        unsigned j = chance(i + 1);
        unsigned k = order[i];
        order[i]   = order[j];
        order[j]   = k;
    }
    for (unsigned i = 0; i < NAMES; i++) {
        unsigned n = order[i];
        (void)snprintf(name, sizeof name, "name-%u", n);
        assert_true(is_held(name, &fence));
        assert_true(fence == askers[n].lock->base.hold.fence);
        release(&askers[n]);
        assert_free(name);
    }
    for (unsigned i = 0; i < NAMES; i += 7) { /* nothing came back */
        (void)snprintf(name, sizeof name, "name-%u", i);
        assert_free(name);
    }
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* In the child; 7 if all is as it should be. */
static int child(uint64_t parents_fence)
{
    asker      a, b;
    bwl_shard *client = open_one();

    if (ask(&a, client, "n", 0) != BWL_HELD)
        return 1; /* the parent's lock is not the child's */
    if (a.lock->base.hold.fence <= parents_fence)
        return 2;
    if (ask(&b, client, "n", 0) != BWL_BUSY)
        return 3;
    for (unsigned i = 1; i < CLIENTS; i++)
        bwl_shard_close(clients[i]); /* the parent's: frees, and does not touch its table */
    bwl_shard_close(client);
    return 7;
}

static void test_thread_child_of_fork_has_a_table_of_its_own(void **state)
{
    asker    a;
    int      status;
    uint64_t fence;

    (void)state;
    assert_int_equal(ask(&a, clients[0], "n", 0), BWL_HELD);
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(a.lock->base.hold.fence));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_true(is_held("n", &fence));
    release(&a);
}

/* ---- many at once ---------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 200 };

static unsigned long     inside; /* guarded by the lock "n", and by nothing else */
static uint64_t          latest_fence;
static pthread_barrier_t start;
static atomic_uint       waited;

static void *take_turns(void *arg)
{
    bwl_shard *client = arg;

    (void)pthread_barrier_wait(&start);
    for (unsigned i = 0; i < ROUNDS; i++) {
        asker a = { 0 };
        atomic_fetch_add(&waited, ask(&a, client, "n", BWL_NEVER) == BWL_PENDING);
        if (a.lock == NULL)
            return NULL; /* out of memory: the count tells */
        bwl_shard_lock(client);
        (void)bwl_loop_wait(&client->loop, &a.operation.completion, BWL_NEVER, NULL);
        bwl_shard_unlock(client);
        if (a.operation.completion.result != BWL_HELD || a.lock->base.hold.fence <= latest_fence)
            abort();
        inside++;
        latest_fence = a.lock->base.hold.fence;
        (void)sched_yield(); /* or nobody would ever have to wait */
        release(&a);
    }
    return NULL;
}

static void test_thread_many_threads_are_inside_one_at_a_time(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, clients[i % CLIENTS]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)pthread_barrier_destroy(&start);
    assert_true(atomic_load(&waited) > ROUNDS); /* or it shows nothing */
    assert_int_equal(inside, THREADS * ROUNDS);
    assert_free("n");
}

/* ---- opening --------------------------------------------------------------------------------- */

static void test_thread_open_takes_options_and_nothing_else(void **state)
{
    static const char *const  bad[] = { "thread:x", "thread:/x", "thread://h", "thread:?db=1",
                                        "thread:?wait=1s&wait=1s" };
    static const bwl_settings nothing;
    bwl_shard                *client;

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, bad[i], &fault),
                         BWL_STATUS_USAGE);
    assert_int_equal(
        bwl_shard_open(&client, bwl_engines, &nothing, false, "thread:?wait=5s", &fault), BWL_OK);
    assert_int_equal(client->host.reactor.epoll_fd, -1); /* no descriptor before somebody waits */
    bwl_shard_close(client);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_clients, close_clients)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_thread_free_name_is_ours_at_once),
        CASE(test_thread_held_name_is_busy_for_who_does_not_wait),
        CASE(test_thread_order_is_first_come_first_served),
        CASE(test_thread_who_leaves_the_queue_leaves_the_order_as_it_is),
        CASE(test_thread_grant_to_a_waiter_who_has_cancelled_passes_on),
        CASE(test_thread_client_that_closes_hands_on_what_it_holds_and_was_granted),
        CASE(test_thread_several_grants_of_one_client_all_arrive),
        CASE(test_thread_waiter_whose_time_is_over_stands_there_no_more),
        CASE(test_thread_every_word_has_its_answer),
        CASE(test_thread_table_of_1000_names_grows_and_shrinks_to_nothing),
        CASE(test_thread_child_of_fork_has_a_table_of_its_own),
        CASE(test_thread_many_threads_are_inside_one_at_a_time),
        CASE(test_thread_open_takes_options_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
