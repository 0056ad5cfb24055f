/*
 * test_lock.c -- one machine in the real world: events in, effects out, and how long it lives.
 *
 * The machine is the one for Redis; the engine is a fake that writes down what it was asked, and
 * answers at once, later or never.  So the lock can be seen between a question and its answer,
 * which is when its memory is easily lost: it must outlive every pointer to it, and not by a
 * moment.
 */
#include "api/engines.h"
#include "runtime/lock.h"
#include "api/engines.h"
#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

typedef struct fake { /* the engine */
    bwl_ask    latest;
    unsigned   asked;
    bwl_answer answers;  /* at once with this; 0: not now */
    bwl_ms     takes_ms; /* to ask */
    int        prepare_status;
    unsigned   forgotten;
    unsigned   unsent_below; /* these nodes cannot be reached, and it is known at once          */
    char       words[64];    /* what was asked of which node, of a majority                     */
} fake;

static fake            world;
static bwl_engine      engine;
static bwl_shard      *client;
static bwl_fault       fault;
static bwl_operation   operation; /* static, because a client may be closed with it under way */
static bwl_operation   second;
static const bwl_terms terms = {
    .lease_ms = 1000, .max_hold_ms = BWL_NEVER, .answer_ms = 100, .renews = true
};

static int fake_prepare(bwl_lock *lock, bwl_fault *ret_fault)
{
    (void)ret_fault;
    memset(lock->base.part, 7, engine.lock_size);
    return world.prepare_status;
}

static bool fake_ask(bwl_lock *lock, const bwl_ask *ask, bwl_event *ret_reply)
{
    world.latest = *ask;
    world.asked++;
    lock->shard->host.latest += world.takes_ms;
    if (world.unsent_below > 0) {
        size_t size = strlen(world.words);
        (void)snprintf(world.words + size, sizeof world.words - size, "%c%u",
                       ask->word == REDIS_DELETE_IF_MINE ? 'D' : 'S', ask->node);
    }
    if (ask->node < world.unsent_below) {
        ret_reply->answer = BWL_UNSENT;
        return true;
    }
    if (world.answers == 0)
        return false;
    ret_reply->answer = world.answers;
    return true;
}

static void fake_forget(bwl_lock *lock)
{
    (void)lock;
    world.forgotten++;
}

static int open_client(void **state)
{
    static const bwl_settings nothing;

    (void)state;
    world = (fake){ 0 };
    assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, "thread:", &fault),
                     BWL_OK);
    engine              = *client->host.engine;
    engine.protocol     = &bwl_token;
    engine.lock_size    = 100;
    engine.prepare      = fake_prepare;
    engine.ask          = fake_ask;
    engine.forget       = fake_forget;
    client->host.engine = &engine;
    bwl_shard_lock(client);
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    bwl_shard_unlock(client);
    bwl_shard_close(client);
    return 0;
}

static bwl_lock *new_lock(const char *name)
{
    bwl_lock *lock;

    assert_int_equal(bwl_lock_new(&lock, client, name, &terms, &fault), BWL_OK);
    return lock;
}

static bwl_lock *held_lock(const char *name)
{
    bwl_lock *lock = new_lock(name);

    world.answers = BWL_YES;
    bwl_lock_acquire(lock, &operation, 0);
    assert_int_equal(operation.completion.result, BWL_HELD);
    world.answers = 0;
    return lock;
}

static void answer(bwl_lock *lock, bwl_answer what)
{
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_REPLY, .answer = what, .tag = world.latest.tag });
}

static void test_lock_an_answer_known_at_once_is_of_the_moment_of_the_question(void **state)
{
    (void)state;
    world.takes_ms  = 100;
    bwl_lock *lock  = held_lock("slow");
    bwl_ms    asked = lock->base.hold.until - (1000 - bwl_drift_ms(1000));
    assert_true(client->host.latest >= asked + 100);
    assert_int_equal(lock->timer.at, asked + 1000 / 3);
    world.answers = BWL_YES;
    bwl_lock_release(lock, &operation);
    assert_int_equal(operation.completion.result, BWL_RELEASED);
    bwl_lock_drop_handle(lock);
}

/* ---- making one ------------------------------------------------------------------------------ */

/* Three of five are known at once not to be reachable: the other two are not asked for what they
 * were told to delete a moment before. */
static void test_lock_what_was_taken_back_is_not_asked_any_more(void **state)
{
    (void)state;
    engine.protocol    = &bwl_redlock;
    client->host.nodes = 5;
    world.unsent_below = 3;
    bwl_lock *lock     = new_lock("n");
    bwl_lock_acquire(lock, &operation, 0);
    assert_int_equal(operation.completion.result, BWL_UNREACHABLE);
    assert_string_equal(world.words, "S0S1S2D0D1D2D3D4");
    bwl_lock_drop_handle(lock);
}

static void test_lock_new_is_of_its_client_and_wants_nothing(void **state)
{
    bwl_lock *one = new_lock("one");
    bwl_lock *two = new_lock("two");

    (void)state;
    assert_ptr_equal(client->locks, two);
    assert_ptr_equal(two->next, one);
    assert_ptr_equal(one->previous, two);
    assert_int_equal(client->locks_count, 2);
    assert_string_equal(one->base.name, "one");
    assert_int_equal(one->base.name_size, 3);
    assert_int_equal(((unsigned char *)one->base.part)[99], 7);
    assert_int_equal(world.asked, 0);
    assert_true(bwl_loop_next_timer(&client->loop) == BWL_NEVER);
    bwl_lock_drop_handle(one);
    bwl_lock_drop_handle(two);
    assert_int_equal(world.forgotten, 2);
}

static void test_lock_name_is_checked_at_the_door(void **state)
{
    char      name[BWL_NAME_MAX + 2];
    bwl_lock *lock = NULL;

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(bwl_lock_new(&lock, client, name, &terms, &fault), BWL_STATUS_USAGE);
    assert_non_null(strstr(fault.text, "200 bytes"));
    assert_int_equal(bwl_lock_new(&lock, client, "", &terms, &fault), BWL_STATUS_USAGE);
    assert_int_equal(bwl_lock_new(&lock, client, "a\nb", &terms, &fault), BWL_STATUS_USAGE);
    assert_null(lock);
    name[BWL_NAME_MAX] = '\0';
    lock               = new_lock(name);
    assert_string_equal(lock->base.name, name);
    assert_int_equal(client->locks_count, 1);
}

static void test_lock_that_could_not_be_prepared_is_not_there(void **state)
{
    bwl_lock *lock  = NULL;
    bwl_lock *other = new_lock("other");

    (void)state;
    world.prepare_status = BWL_STATUS_SYSTEM;
    assert_int_equal(bwl_lock_new(&lock, client, "n", &terms, &fault), BWL_STATUS_SYSTEM);
    assert_null(lock);
    assert_int_equal(world.forgotten, 0); /* there was nothing of the engine's in it */
    assert_ptr_equal(client->locks, other);
    assert_null(other->previous);
}

static void test_lock_taken_out_of_the_middle_leaves_the_others(void **state)
{
    bwl_lock *locks[3] = { new_lock("a"), new_lock("b"), new_lock("c") };

    (void)state;
    bwl_lock_drop_handle(locks[1]);
    assert_ptr_equal(client->locks, locks[2]);
    assert_ptr_equal(locks[2]->next, locks[0]);
    assert_ptr_equal(locks[0]->previous, locks[2]);
    bwl_lock_drop_handle(locks[2]);
    assert_ptr_equal(client->locks, locks[0]);
    assert_null(locks[0]->previous);
    assert_int_equal(client->locks_count, 1);
}

/* ---- questions and answers ------------------------------------------------------------------- */

static void test_lock_answer_at_once_ends_the_operation_within_the_call(void **state)
{
    bwl_lock *lock = new_lock("n");

    (void)state;
    world.answers = BWL_NO;
    bwl_lock_acquire(lock, &operation, 0);
    assert_int_equal(operation.completion.result, BWL_BUSY);
    assert_null(lock->operation);
    assert_int_equal(lock->pins, 0);
    assert_int_equal(world.forgotten, 0); /* the caller still has it */
    bwl_lock_drop_handle(lock);
    assert_int_equal(world.forgotten, 1);
}

static void test_lock_answer_later_ends_it_then(void **state)
{
    bwl_lock *lock = new_lock("n");

    (void)state;
    bwl_lock_acquire(lock, &operation, 0);
    assert_int_equal(operation.completion.result, BWL_PENDING);
    assert_int_equal(lock->base.latest_tag, world.latest.tag);
    answer(lock, BWL_YES);
    assert_int_equal(operation.completion.result, BWL_HELD);
    assert_true(bwl_loop_next_timer(&client->loop) <
                bwl_shard_now(client) + 1000); /* to renew it */
}

static void test_lock_every_attempt_has_a_new_token(void **state)
{
    char      before[BWL_TOKEN_MAX + 1];
    bwl_lock *lock = new_lock("n");

    (void)state;
    world.answers = BWL_NO;
    bwl_lock_acquire(lock, &operation, 60000);
    memcpy(before, lock->base.hold.claim.token, sizeof before);
    assert_int_equal(strlen(before), 22);
    (void)nanosleep(&(struct timespec){ .tv_nsec = 15000000 }, NULL);
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_ALARM });
    assert_int_equal(world.asked, 2);
    assert_string_not_equal(lock->base.hold.claim.token, before);
}

static void test_lock_renewal_sets_the_timer_anew(void **state)
{
    bwl_lock *lock = held_lock("n");
    bwl_ms    due  = lock->timer.at;

    (void)state;
    (void)nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    world.answers = BWL_YES;
    bwl_lock_extend(lock, &operation, 2000);
    assert_int_equal(operation.completion.result, BWL_HELD);
    assert_true(lock->timer.at > due + 200);
    assert_int_equal(bwl_loop_next_timer(&client->loop), lock->timer.at);
}

/* ---- what callers may do at any time --------------------------------------------------------- */

static void test_lock_that_is_not_held_is_lost_to_who_extends_or_releases(void **state)
{
    bwl_lock *lock = held_lock("n");

    (void)state;
    world.answers = BWL_NO;
    bwl_lock_extend(lock, &operation, 2000);
    assert_int_equal(operation.completion.result, BWL_LOST);
    unsigned asked = world.asked;
    bwl_lock_extend(lock, &operation, 2000);
    assert_int_equal(operation.completion.result, BWL_LOST);
    bwl_lock_release(lock, &operation);
    assert_int_equal(operation.completion.result, BWL_LOST);
    assert_int_equal(world.asked, asked);
    assert_null(lock->operation);
}

static void test_lock_cancel_ends_an_acquire_and_takes_it_back(void **state)
{
    bwl_lock *lock = new_lock("n");

    (void)state;
    bwl_lock_acquire(lock, &operation, 60000);
    bwl_lock_cancel(&operation);
    assert_int_equal(operation.completion.result, BWL_CANCELLED);
    assert_int_equal(world.asked, 2);
    bwl_lock_drop_handle(lock);
    assert_int_equal(world.forgotten, 0); /* whether it was taken back is not known yet */
    answer(lock, BWL_YES);
    assert_int_equal(world.forgotten, 1);
    assert_int_equal(client->locks_count, 0);
}

static void test_lock_cancel_of_an_extend_lets_the_machine_go_on(void **state)
{
    bwl_lock *lock = held_lock("n");

    (void)state;
    bwl_lock_extend(lock, &operation, 2000);
    bwl_lock_cancel(&operation);
    assert_int_equal(operation.completion.result, BWL_CANCELLED);
    answer(lock, BWL_YES);
    assert_true(bwl_hold_left(&lock->base.hold, bwl_shard_now(client)) > 1500);
    assert_int_equal(operation.completion.result, BWL_CANCELLED);
}

static void test_lock_release_cannot_be_called_back(void **state)
{
    bwl_lock *lock = held_lock("n");

    (void)state;
    bwl_lock_release(lock, &operation);
    bwl_lock_cancel(&operation);
    assert_int_equal(operation.completion.result, BWL_PENDING);
    answer(lock, BWL_YES);
    assert_int_equal(operation.completion.result, BWL_RELEASED);
    bwl_lock_cancel(&operation);
    assert_int_equal(operation.completion.result, BWL_RELEASED);
}

static void test_lock_lost_while_nobody_asks_is_seen_in_the_time_left(void **state)
{
    bwl_lock *lock = held_lock("n");

    (void)state;
    bwl_lock_extend(lock, &operation, 1000);
    bwl_lock_cancel(&operation);
    answer(lock, BWL_NO);
    assert_int_equal(bwl_hold_left(&lock->base.hold, bwl_shard_now(client)), 0);
}

/* Of the last ms nobody is told, so who releases in it has lost the lock.  (A clock that goes on
 * meanwhile says the same.) */
static void test_lock_last_ms_is_nobodys(void **state)
{
    bwl_lock *lock = held_lock("n");

    (void)state;
    lock->base.hold.until = bwl_shard_now(client) + 1;
    assert_int_equal(bwl_hold_left_truly(&lock->base.hold, bwl_shard_now(client)), 0);
    bwl_lock_release(lock, &operation);
    assert_int_equal(operation.completion.result, BWL_LOST);
    answer(lock, BWL_NO);
}

/* ---- how long it lives ----------------------------------------------------------------------- */

static void test_lock_with_an_open_question_outlives_its_caller(void **state)
{
    bwl_lock *lock = new_lock("n");

    (void)state;
    bwl_lock_pin(lock); /* as an engine does that has a question open */
    world.answers = BWL_REFUSED;
    bwl_lock_acquire(lock, &operation, 0);
    assert_int_equal(operation.completion.result, BWL_STORE_REFUSED);
    bwl_lock_drop_handle(lock);
    assert_int_equal(world.forgotten, 0);
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_DOWN, .tag = 1 }); /* too late: says nothing */
    bwl_lock_unpin(lock);
    assert_int_equal(world.forgotten, 1);
    assert_int_equal(client->locks_count, 0);
}

static void test_lock_that_is_gone_rings_no_more(void **state)
{
    bwl_lock *lock = held_lock("n");

    (void)state;
    assert_true(bwl_loop_next_timer(&client->loop) != BWL_NEVER);
    world.answers = BWL_YES;
    bwl_lock_release(lock, &operation);
    bwl_lock_drop_handle(lock);
    assert_int_equal(world.forgotten, 1);
    assert_true(bwl_loop_next_timer(&client->loop) == BWL_NEVER);
}

static void test_lock_remembers_why_the_store_refused_as_far_as_it_fits(void **state)
{
    char      text[400];
    bwl_lock *lock = new_lock("n");

    (void)state;
    assert_string_equal(lock->base.why.text, "");
    bwl_lock_set_error(lock, "%s: %d", "no", 7);
    assert_string_equal(lock->base.why.text, "no: 7");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    bwl_lock_set_error(lock, "%s", text);
    assert_int_equal(strlen(lock->base.why.text), BWL_FAULT_TEXT_MAX - 1);
}

/* All who wait on this machine beat in the same moments, however many programs they are. */
static void test_lock_beats_at_a_tick_and_gives_up_when_it_said(void **state)
{
    bwl_place place = { .how = BWL_HOW_QUEUED, .ticket = 7, .rank = 1, .server_us = 1 };
    bwl_event ev    = { .kind = BWL_REPLY, .answer = BWL_NO, .place = &place };

    (void)state;
    engine.protocol = &bwl_queue;
    bwl_lock *lock  = new_lock("line");
    bwl_lock_acquire(lock, &operation, 60000);
    ev.tag = world.latest.tag;
    bwl_lock_event(lock, ev);
    assert_int_equal(lock->base.hold.state, BWL_HOLD_QUEUED);
    assert_in_range(lock->timer.at, client->host.latest + 1000, client->host.latest + 2050);
    assert_int_equal(lock->timer.at % 50, 0);

    lock = new_lock("brief");
    bwl_lock_acquire(lock, &second, 777);
    ev.tag = world.latest.tag;
    bwl_lock_event(lock, ev);
    assert_int_equal(lock->timer.at, lock->base.hold.give_up_at);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_lock_what_was_taken_back_is_not_asked_any_more),
        CASE(test_lock_new_is_of_its_client_and_wants_nothing),
        CASE(test_lock_name_is_checked_at_the_door),
        CASE(test_lock_that_could_not_be_prepared_is_not_there),
        CASE(test_lock_taken_out_of_the_middle_leaves_the_others),
        CASE(test_lock_answer_at_once_ends_the_operation_within_the_call),
        CASE(test_lock_an_answer_known_at_once_is_of_the_moment_of_the_question),
        CASE(test_lock_answer_later_ends_it_then),
        CASE(test_lock_every_attempt_has_a_new_token),
        CASE(test_lock_renewal_sets_the_timer_anew),
        CASE(test_lock_that_is_not_held_is_lost_to_who_extends_or_releases),
        CASE(test_lock_cancel_ends_an_acquire_and_takes_it_back),
        CASE(test_lock_cancel_of_an_extend_lets_the_machine_go_on),
        CASE(test_lock_release_cannot_be_called_back),
        CASE(test_lock_lost_while_nobody_asks_is_seen_in_the_time_left),
        CASE(test_lock_last_ms_is_nobodys),
        CASE(test_lock_with_an_open_question_outlives_its_caller),
        CASE(test_lock_that_is_gone_rings_no_more),
        CASE(test_lock_beats_at_a_tick_and_gives_up_when_it_said),
        CASE(test_lock_remembers_why_the_store_refused_as_far_as_it_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
