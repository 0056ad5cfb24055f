/*
 * test_seats.c -- a cohort in the real world: who sits, what is asked of the store for all of them,
 * and that nothing is left when they have gone.
 *
 * The store is a fake: it writes down what it was asked, and the test answers.
 */
#include "runtime/local_groups.h"
#include "api/engines.h"
#include "core/one_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LEASE_MS = 60000, WAITS = true, FENCE = 5 * 1024 };

/* A protocol that asks a word for each verb, and is answered by yes and no. */
typedef struct fake_state {
    bwl_verb        verb;
    bwl_one_request asking;
} fake_state;

static void fake_init(void *state, unsigned nodes)
{
    (void)nodes;
    *(fake_state *)state = (fake_state){ .verb = BWL_ACQUIRE };
}

static void fake_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                         bwl_effects *fx)
{
    fake_state *s = state;

    (void)request;
    s->verb = cmd->verb;
    bwl_send_one(&s->asking, cmd->verb, 0, fx);
}

static void fake_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                       bwl_effects *fx)
{
    fake_state *s = state;

    if (!bwl_ends_request(&s->asking, ev) || !bwl_was_answered(ev, fx))
        return;
    if (ev->answer == BWL_YES && s->verb == BWL_RELEASE)
        bwl_complete(fx, BWL_RELEASED);
    else if (ev->answer == BWL_YES)
        bwl_complete_held(fx, ev->now + request->lease_ms, FENCE);
    else
        bwl_complete(fx, s->verb == BWL_ACQUIRE ? BWL_BUSY : BWL_LOST);
}

static const bwl_protocol fake_protocol = {
    .name             = "fake",
    .state_size       = sizeof(fake_state),
    .extends          = true,
    .can_verify_owner = true,
    .uses_push        = true,
    .init             = fake_init,
    .command          = fake_command,
    .event            = fake_event,
};

static bwl_engine      engine;
static bwl_shard      *client;
static bwl_lock       *asked; /* who asked last, and what */
static bwl_send        latest;
static unsigned        questions;
static bwl_operation   operations[4];
static const bwl_terms terms = {
    .lease_ms = LEASE_MS, .max_hold_ms = BWL_NEVER, .answer_ms = 100, .renews = true
};

static int fake_prepare(bwl_lock *lock, bwl_fault *fault)
{
    (void)lock;
    (void)fault;
    return BWL_OK;
}

static bool fake_ask(bwl_lock *lock, const bwl_send *send, bwl_event *ret_reply)
{
    (void)ret_reply;
    asked  = lock;
    latest = *send;
    questions++;
    return false;
}

static void fake_forget(bwl_lock *lock)
{
    (void)lock;
}

static int open_client(void **state)
{
    static const bwl_settings nothing;
    bwl_fault                 fault = { 0 };

    (void)state;
    assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, "thread:", &fault),
                     BWL_OK);
    engine                             = *client->host.engine;
    engine.protocol                    = &fake_protocol;
    engine.prepare                     = fake_prepare;
    engine.send                        = fake_ask;
    engine.forget                      = fake_forget;
    engine.has_lease                   = true;
    client->host.engine                = &engine;
    client->host.settings.handoffs_max = 64;
    client->host.settings.handoffs_ms  = BWL_NEVER;
    client->host.settings.answer_ms    = 100;
    client->host.settings.renews       = true;
    questions                          = 0;
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

static bwl_lock *comes(const char *name, bool waits, unsigned n)
{
    bwl_lock *lock  = NULL;
    bwl_fault fault = { 0 };

    assert_int_equal(bwl_lock_new_or_join(&lock, client, name, &terms, waits, &fault), BWL_OK);
    bwl_lock_acquire(lock, &operations[n], waits ? BWL_NEVER : 0);
    return lock;
}

static void answers(bwl_answer answer)
{
    bwl_lock_event(asked, (bwl_event){ .kind = BWL_REPLY, .answer = answer, .tag = latest.tag });
}

/* Releases and gives the handle up, as callers do once it has ended. */
static bwl_outcome_kind goes(bwl_lock *lock, unsigned n)
{
    bwl_lock_release(lock, &operations[n]);
    if (operations[n].completion.result == BWL_PENDING)
        answers(BWL_YES);
    bwl_outcome_kind ended = operations[n].completion.result;
    bwl_lock_drop_handle(lock);
    return ended;
}

static void test_seats_the_first_stands_alone_and_the_others_sit(void **state)
{
    (void)state;
    bwl_lock *first = comes("x", WAITS, 0);
    assert_false(bwl_lock_is_local_waiter(first));
    answers(BWL_YES);
    assert_int_equal(operations[0].completion.result, BWL_HELD);
    bwl_lock *second = comes("x", WAITS, 1);
    assert_true(bwl_lock_is_local_waiter(second));
    assert_int_equal(questions, 2); /* the place of those who sit */
    bwl_lock *third = comes("x", WAITS, 2);
    assert_int_equal(questions, 2);
    assert_int_equal(goes(first, 0), BWL_RELEASED);
    assert_int_equal(questions, 3);
    assert_int_equal(operations[1].completion.result, BWL_PENDING);
    asked = client->locks; /* who stands for them was made before the third came */
    while (asked->group == NULL || bwl_lock_is_local_waiter(asked))
        asked = asked->next;
    latest.tag = asked->base.latest_tag;
    answers(BWL_YES);
    assert_int_equal(operations[1].completion.result, BWL_HELD);
    assert_int_equal(second->base.hold.fence, FENCE);
    assert_int_equal(goes(second, 1), BWL_RELEASED);
    assert_int_equal(questions, 3); /* nobody was asked */
    assert_int_equal(operations[2].completion.result, BWL_HELD);
    assert_int_equal(third->base.hold.fence, FENCE + 1);
    assert_int_equal(third->base.hold.until, asked->base.hold.until);
    assert_int_equal(goes(third, 2), BWL_RELEASED);
    assert_int_equal(questions, 4);
    assert_int_equal(client->locks_count, 0);
    assert_int_equal(client->named.count, 0);
}

static void test_seats_are_for_who_waits_and_where_there_are_turns(void **state)
{
    (void)state;
    bwl_lock *first = comes("x", WAITS, 0);
    answers(BWL_YES);
    bwl_lock *once = comes("x", !WAITS, 1);
    assert_false(bwl_lock_is_local_waiter(once));
    answers(BWL_NO);
    assert_int_equal(operations[1].completion.result, BWL_BUSY);
    bwl_lock_drop_handle(once);
    bwl_lock *another = comes("y", WAITS, 1);
    assert_false(bwl_lock_is_local_waiter(another));
    answers(BWL_YES);
    client->host.settings.handoffs_max = 1;
    bwl_lock *alone                    = comes("x", WAITS, 2);
    assert_false(bwl_lock_is_local_waiter(alone));
    answers(BWL_YES); /* says the fake */
    client->host.settings.handoffs_max = 64;
    client->host.settings.renews = false; /* then a lease is what was asked for, and no less */
    bwl_lock *unrenewed          = comes("x", WAITS, 3);
    assert_false(bwl_lock_is_local_waiter(unrenewed));
    answers(BWL_YES);
    assert_int_equal(goes(unrenewed, 3), BWL_RELEASED);
    assert_int_equal(goes(alone, 2), BWL_RELEASED);
    assert_int_equal(goes(another, 1), BWL_RELEASED);
    assert_int_equal(goes(first, 0), BWL_RELEASED);
    assert_int_equal(client->locks_count, 0);
}

static void test_seats_a_cancel_leaves_the_others_their_place(void **state)
{
    (void)state;
    bwl_lock *first = comes("x", WAITS, 0);
    answers(BWL_YES);
    bwl_lock *second = comes("x", WAITS, 1);
    bwl_lock *store  = asked;
    bwl_lock *third  = comes("x", WAITS, 2);
    bwl_lock_cancel(&operations[1]);
    assert_int_equal(operations[1].completion.result, BWL_CANCELLED);
    bwl_lock_drop_handle(second);
    assert_ptr_equal(third->group, store->group);
    bwl_lock_cancel(&operations[2]); /* the last one: the store is told */
    assert_int_equal(operations[2].completion.result, BWL_CANCELLED);
    assert_ptr_equal(asked, store);
    assert_int_equal(latest.command, BWL_RELEASE);
    assert_null(store->group);
    bwl_lock_drop_handle(third);
    answers(BWL_YES);
    assert_int_equal(goes(first, 0), BWL_RELEASED);
    assert_int_equal(client->locks_count, 0);
}

static void test_seats_a_loss_is_told_with_its_reason_and_it_is_sought_anew(void **state)
{
    (void)state;
    bwl_lock *first = comes("x", WAITS, 0);
    answers(BWL_YES);
    bwl_lock *second = comes("x", WAITS, 1);
    bwl_lock *store  = asked;
    bwl_lock *third  = comes("x", WAITS, 2);
    answers(BWL_YES);
    assert_int_equal(operations[1].completion.result, BWL_HELD);
    bwl_lock_set_error(store, "the server was started again");
    bwl_lock_revoke(store);
    assert_false(bwl_hold_is_held(&second->base.hold));
    assert_string_equal(second->base.why.text, "the server was started again");
    assert_ptr_not_equal(asked, store); /* a new one, for who sits there still */
    assert_int_equal(latest.command, BWL_ACQUIRE);
    answers(BWL_YES);
    assert_int_equal(operations[2].completion.result, BWL_HELD);
    bwl_lock_release(second, &operations[1]);
    assert_int_equal(operations[1].completion.result, BWL_LOST);
    bwl_lock_drop_handle(second);
    assert_int_equal(goes(third, 2), BWL_RELEASED);
    assert_int_equal(goes(first, 0), BWL_RELEASED);
}

static void test_seats_a_refusal_is_told_to_all(void **state)
{
    (void)state;
    bwl_lock *first = comes("x", WAITS, 0);
    answers(BWL_YES);
    bwl_lock *second = comes("x", WAITS, 1);
    bwl_lock *third  = comes("x", WAITS, 2);
    bwl_lock_set_error(asked, "no permission");
    answers(BWL_REFUSED);
    assert_int_equal(operations[1].completion.result, BWL_STORE_REFUSED);
    assert_int_equal(operations[2].completion.result, BWL_STORE_REFUSED);
    assert_string_equal(second->base.why.text, "no permission");
    assert_string_equal(third->base.why.text, "no permission");
    bwl_lock_drop_handle(second);
    bwl_lock_drop_handle(third);
    assert_int_equal(goes(first, 0), BWL_RELEASED);
    assert_int_equal(client->locks_count, 0);
}

/* Nothing is handed on any more, and nothing of it is left: the sanitizers would see it. */
static void test_seats_close_with_their_client(void **state)
{
    (void)state;
    (void)comes("x", WAITS, 0);
    answers(BWL_YES);
    (void)comes("x", WAITS, 1);
    (void)comes("x", WAITS, 2);
    answers(BWL_YES);
    operations[3] = operations[2];
    assert_int_equal(operations[1].completion.result, BWL_HELD);
}

static void test_seats_many_sit_in_order(void **state)
{
    enum { MANY = 40 };
    static bwl_operation ops[MANY];
    bwl_lock            *locks[MANY];
    bwl_fault            fault = { 0 };

    (void)state;
    bwl_lock *first = comes("x", WAITS, 0);
    answers(BWL_YES);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(bwl_lock_new_or_join(&locks[i], client, "x", &terms, WAITS, &fault),
                         BWL_OK);
        bwl_lock_acquire(locks[i], &ops[i], BWL_NEVER);
    }
    assert_int_equal(questions, 2);
    answers(BWL_YES);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(ops[i].completion.result, BWL_HELD);
        assert_true(i + 1 == MANY || ops[i + 1].completion.result == BWL_PENDING);
        assert_int_equal(goes(locks[i], 1), BWL_RELEASED);
    }
    assert_int_equal(goes(first, 0), BWL_RELEASED);
    assert_int_equal(client->locks_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_seats_##name, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_stands_alone_and_the_others_sit),
        TEST(are_for_who_waits_and_where_there_are_turns),
        TEST(a_cancel_leaves_the_others_their_place),
        TEST(a_loss_is_told_with_its_reason_and_it_is_sought_anew),
        TEST(a_refusal_is_told_to_all),
        TEST(close_with_their_client),
        TEST(many_sit_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
