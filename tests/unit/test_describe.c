/*
 * test_describe.c -- who holds a name, told to one who did not get it.
 *
 * The engine is one whose `who` says what the test wants, so that every field, and every lack of
 * one, can be seen in the text.  What the store does not know must not be made up.
 */
#include "api/describe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bowline_client *client;
static bwl_engine      engine;
static bwl_holder      says;
static int             status_of_who;
static char            asked_for[BWL_NAME_MAX + 1];
static bowline_error   error;

static int fake_who(bwl_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    memcpy(asked_for, lock->base.name, sizeof asked_for);
    if (status_of_who < 0) {
        if (fault != NULL)
            *fault = (bwl_fault){ .status = status_of_who, .text = "no" };
        return status_of_who;
    }
    *ret_holder = says;
    return BWL_OK;
}

static int open_client(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    engine                     = *client->first->host.engine;
    engine.who                 = fake_who;
    client->first->host.engine = &engine;
    says                       = (bwl_holder){ .held = true };
    status_of_who              = BWL_OK;
    error                      = (bowline_error){ .text = "n is held" };
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    bowline_close(client);
    return 0;
}

static void assert_described(const char *wanted)
{
    error = (bowline_error){ .text = "n is held" };
    bwl_shard_lock(client->first);
    bwl_describe_holder(client->first, "n", BWL_NEVER, &error);
    assert_int_equal(client->first->locks_count, 0);
    bwl_shard_unlock(client->first);
    assert_string_equal(error.text, wanted);
}

/* ---- for who did not get it ------------------------------------------------------------------ */

static void test_describe_says_what_the_store_knows_and_no_more(void **state)
{
    (void)state;
    assert_described("n is held");
    says = (bwl_holder){ .held = true, .user = "ann", .host = "h" };
    assert_described("n is held: by ann@h");
    says.pid = 17;
    assert_described("n is held: by ann@h pid 17");
    (void)strcpy(says.program, "cp");
    assert_described("n is held: by ann@h pid 17 (cp)");
    (void)strcpy(says.note, "odd");
    assert_described("n is held: by ann@h pid 17 (cp); odd");
    says = (bwl_holder){ .held = true, .pid = 17, .program = "cp" };
    assert_described("n is held pid 17 (cp)");
    says = (bwl_holder){ .held = true, .note = "the key is a list" };
    assert_described("n is held; the key is a list");
}

static void test_describe_says_nothing_of_who_is_gone_or_cannot_be_asked(void **state)
{
    (void)state;
    says = (bwl_holder){ .held = false, .user = "ann", .host = "h" };
    assert_described("n is held");
    status_of_who = BWL_STATUS_UNREACHABLE;
    says.held     = true;
    assert_described("n is held");
}

static void test_describe_longest_texts_are_cut(void **state)
{
    (void)state;
    says = (bwl_holder){ .held = true, .pid = INT64_MAX };
    memset(says.user, 'u', BWL_HOLDER_TEXT_MAX - 1);
    memset(says.host, 'h', BWL_HOLDER_TEXT_MAX - 1);
    memset(says.program, 'p', BWL_HOLDER_TEXT_MAX - 1);
    memset(says.note, 'n', BWL_HOLDER_TEXT_MAX - 1);
    memset(error.text, 'x', sizeof error.text - 1);
    bwl_shard_lock(client->first);
    bwl_describe_holder(client->first, "n", BWL_NEVER, &error);
    bwl_shard_unlock(client->first);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    error = (bowline_error){ .text = "n is held" };
    bwl_shard_lock(client->first);
    bwl_describe_holder(client->first, "n", BWL_NEVER, &error);
    bwl_shard_unlock(client->first);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
}

static void test_describe_text_of_busy_says_who(void **state)
{
    bowline_hold *hold;
    bowline_hold *none = NULL;

    (void)state;
    says = (bwl_holder){ .held = true, .user = "ann", .host = "h" };
    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire(&none, client, "n", NULL, &error), BOWLINE_BUSY);
    assert_string_equal(error.text, "n is held by someone else: by ann@h");
    assert_int_equal(bowline_acquire(&none, client, "n", BOWLINE_ACQUIRE(.wait_ms = 5), &error),
                     BOWLINE_TIMEOUT);
    assert_string_equal(error.text, "n was held by others for all of the wait: by ann@h");
    asked_for[0] = '\0';
    assert_int_equal(bowline_acquire(&none, client, "n", NULL, NULL), BOWLINE_BUSY);
    assert_string_equal(asked_for, ""); /* nobody would read it */
    assert_null(none);
}

static unsigned looks;

static bool look_and_hear_nothing(bwl_lock *lock)
{
    (void)lock;
    looks++;
    return false;
}

/* The question who has it is asked within the time that the caller has granted for one answer: a
 * server that falls silent then delays BUSY by no more, and does not change it. */
static void test_describe_ends_with_the_time_for_the_answer(void **state)
{
    bowline_hold *hold;
    bowline_hold *none = NULL;

    (void)state;
    says = (bwl_holder){ .held = true, .user = "ann" };
    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, &error), BOWLINE_OK);
    engine.look                            = look_and_hear_nothing;
    client->first->host.settings.answer_ms = 20;
    looks                                  = 0;
    assert_int_equal(bowline_acquire(&none, client, "n", NULL, &error), BOWLINE_BUSY);
    assert_int_equal(looks, 1);
    assert_string_equal(error.text, "n is held by someone else");
    assert_int_equal(bowline_acquire(&none, client, "n", NULL, NULL), BOWLINE_BUSY);
    assert_int_equal(looks, 1);
    assert_int_equal(client->first->locks_count, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_describe_says_what_the_store_knows_and_no_more),
        CASE(test_describe_says_nothing_of_who_is_gone_or_cannot_be_asked),
        CASE(test_describe_longest_texts_are_cut),
        CASE(test_describe_text_of_busy_says_who),
        CASE(test_describe_ends_with_the_time_for_the_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
