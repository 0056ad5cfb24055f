/*
 * test_open.c -- opening and closing a client, and the options of every call.
 *
 * An options struct says how large it is, so that a program built against an older or a newer
 * header works as long as it asks for nothing that is not there.  That is played with structs that
 * are smaller and larger than ours.
 */
#include "api/handles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bowline_error error;

static int no_error(void **state)
{
    (void)state;
    error = (bowline_error){ 0 };
    return 0;
}

static void assert_usage(int status, const char *word)
{
    assert_int_equal(status, BOWLINE_USAGE);
    assert_int_equal(error.status, BOWLINE_USAGE);
    assert_non_null(strstr(error.text, word));
}

/* ---- options of another size ----------------------------------------------------------------- */

typedef struct ours {
    size_t   size;
    uint64_t one;
    uint64_t two;
} ours;

typedef struct larger {
    ours     known;
    uint64_t three;
} larger;

static int copy(ours *ret_ours, const void *theirs)
{
    return bwl_copy_options(ret_ours, sizeof *ret_ours, theirs, "MACRO", &error);
}

static void test_open_no_options_are_all_zero(void **state)
{
    ours o;

    (void)state;
    memset(&o, 7, sizeof o);
    assert_int_equal(copy(&o, NULL), BOWLINE_OK);
    assert_true(o.size == 0 && o.one == 0 && o.two == 0);
}

static void test_open_options_of_our_size_are_copied(void **state)
{
    const ours theirs = { .size = sizeof theirs, .one = 1, .two = 2 };
    ours       o;

    (void)state;
    assert_int_equal(copy(&o, &theirs), BOWLINE_OK);
    assert_memory_equal(&o, &theirs, sizeof o);
}

static void test_open_smaller_options_leave_the_rest_zero(void **state)
{
    const ours head  = { .size = offsetof(ours, two), .one = 1 };
    void      *small = malloc(offsetof(ours, two)); /* no larger, for the sanitizer */
    ours       o;

    (void)state;
    assert_non_null(small);
    memcpy(small, &head, offsetof(ours, two));
    memset(&o, 7, sizeof o);
    assert_int_equal(copy(&o, small), BOWLINE_OK);
    assert_true(o.one == 1 && o.two == 0);
    free(small);
}

static void test_open_larger_options_may_ask_for_nothing_unknown(void **state)
{
    larger theirs = { .known = { .size = sizeof theirs, .one = 1, .two = 2 } };
    ours   o;

    (void)state;
    assert_int_equal(copy(&o, &theirs), BOWLINE_OK);
    assert_true(o.one == 1 && o.two == 2);
    theirs.three = UINT64_C(1) << 56; /* the last byte of all */
    assert_int_equal(copy(&o, &theirs), BOWLINE_UNSUPPORTED);
    assert_int_equal(error.status, BOWLINE_UNSUPPORTED);
}

static void test_open_options_without_a_size_are_usage(void **state)
{
    static const size_t bad[] = { 0, 1, sizeof(size_t) - 1, 4097, SIZE_MAX };
    ours                theirs;
    ours                o;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        theirs = (ours){ .size = bad[i] };
        assert_usage(copy(&o, &theirs), "use MACRO(...)");
    }
    theirs = (ours){ .size = sizeof(size_t), .one = 1 };
    assert_int_equal(copy(&o, &theirs), BOWLINE_OK);
    assert_true(o.one == 0);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_with(bowline_client **ret_client, const bowline_options *options)
{
    *ret_client = NULL;
    return bowline_open(ret_client, options, &error);
}

static void test_open_gives_a_client_with_what_was_asked(void **state)
{
    bowline_client *client;

    (void)state;
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:?wait=3s", .lease_ms = 9000,
                                                        .reply_ms = 700, .max_hold_ms = 60000)),
                     BOWLINE_OK);
    assert_ptr_equal(client->first->client, client);
    assert_null(client->operations);
    const bwl_settings *s = &client->first->host.settings;
    assert_int_equal(s->lease_ms, 9000);
    assert_int_equal(s->answer_ms, 700);
    assert_int_equal(s->max_hold_ms, 60000);
    assert_int_equal(s->wait_ms, 3000);
    assert_true(s->renews);
    assert_true(s->keeps);
    bowline_close(client);
}

static void test_open_program_is_named_or_cut(void **state)
{
    char            name[200];
    bowline_client *client;

    (void)state;
    memset(name, 'p', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:")), BOWLINE_OK);
    assert_string_equal(client->first->host.program, "");
    bowline_close(client);
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .program = "backup")),
                     BOWLINE_OK);
    assert_string_equal(client->first->host.program, "backup");
    bowline_close(client);
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .program = name)),
                     BOWLINE_OK);
    assert_int_equal(strlen(client->first->host.program), BWL_HOLDER_TEXT_MAX - 1);
    bowline_close(client);
}

static void test_open_renewal_and_keeper_can_be_turned_off(void **state)
{
    bowline_client *client;

    (void)state;
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .renew = BOWLINE_OFF)),
                     BOWLINE_OK);
    assert_false(client->first->host.settings.renews);
    assert_true(client->first->host.settings.keeps);
    bowline_close(client);
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .keeper = BOWLINE_OFF)),
                     BOWLINE_OK);
    assert_true(client->first->host.settings.renews);
    assert_false(client->first->host.settings.keeps);
    bowline_close(client);
}

static void test_open_spinning_can_be_turned_off(void **state)
{
    bowline_client *client;

    (void)state;
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:")), BOWLINE_OK);
    assert_true(client->first->host.settings.spins);
    bowline_close(client);
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .spin = BOWLINE_OFF)),
                     BOWLINE_OK);
    assert_false(client->first->host.settings.spins);
    bowline_close(client);
}

static void test_open_checks_every_option(void **state)
{
    bowline_client *client;

    (void)state;
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .lease_ms = 99)), "lease_ms");
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .lease_ms = 86400001)),
                 "lease_ms");
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .max_hold_ms = -1)),
                 "max_hold_ms");
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .renew = 1)), "renew");
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .renew = -2)), "renew");
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .keeper = 1)), "keeper");
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .spin = 1)), "spin");
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .reply_ms = 9)), "reply_ms");
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .reply_ms = 30001)),
                 "reply_ms");
    assert_usage(open_with(&client, &(bowline_options){ .url = "thread:" }), "BOWLINE_OPTIONS");
    assert_null(client);
    assert_usage(bowline_open(NULL, BOWLINE_OPTIONS(.url = "thread:"), &error), "place");
}

static void test_open_takes_the_limits_themselves(void **state)
{
    bowline_client *client;

    (void)state;
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .lease_ms = 100)),
                     BOWLINE_OK);
    bowline_close(client);
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "thread:", .lease_ms = 86400000)),
                     BOWLINE_OK);
    bowline_close(client);
}

static void test_open_says_what_is_wrong_with_the_url(void **state)
{
    bowline_client *client;

    (void)state;
    assert_usage(open_with(&client, BOWLINE_OPTIONS(.url = "nonsense")), "not a URL");
    assert_int_equal(open_with(&client, BOWLINE_OPTIONS(.url = "etcd://h")), BOWLINE_UNSUPPORTED);
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = "nonsense"), NULL),
                     BOWLINE_USAGE);
    assert_null(client);
}

static void test_open_close_of_nothing_is_nothing(void **state)
{
    (void)state;
    bowline_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_open_no_options_are_all_zero, no_error),
        cmocka_unit_test_setup(test_open_options_of_our_size_are_copied, no_error),
        cmocka_unit_test_setup(test_open_smaller_options_leave_the_rest_zero, no_error),
        cmocka_unit_test_setup(test_open_larger_options_may_ask_for_nothing_unknown, no_error),
        cmocka_unit_test_setup(test_open_options_without_a_size_are_usage, no_error),
        cmocka_unit_test_setup(test_open_gives_a_client_with_what_was_asked, no_error),
        cmocka_unit_test_setup(test_open_program_is_named_or_cut, no_error),
        cmocka_unit_test_setup(test_open_renewal_and_keeper_can_be_turned_off, no_error),
        cmocka_unit_test_setup(test_open_spinning_can_be_turned_off, no_error),
        cmocka_unit_test_setup(test_open_checks_every_option, no_error),
        cmocka_unit_test_setup(test_open_takes_the_limits_themselves, no_error),
        cmocka_unit_test_setup(test_open_says_what_is_wrong_with_the_url, no_error),
        cmocka_unit_test_setup(test_open_close_of_nothing_is_nothing, no_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
