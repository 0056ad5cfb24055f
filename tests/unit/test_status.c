/*
 * test_status.c -- how calls come out, in numbers and in words.
 *
 * Every number of the public header has its name and its words, every other number has some too.
 * Then every outcome of an operation, with and without something that the store said: which status
 * it is, and what the caller is told.
 */
#include "api/handles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static void test_status_every_number_has_a_name_and_words(void **state)
{
    (void)state;
#define X(name, number, words)                                       \
    assert_string_equal(bowline_status_name(BOWLINE_##name), #name); \
    assert_string_equal(bowline_status_words(number), words);
    BOWLINE_STATUS_MAP(X)
#undef X
    assert_string_equal(bowline_status_name(0), "OK");
    assert_string_equal(bowline_status_name(-3), "LOST");
}

static void test_status_number_that_is_none_has_words_too(void **state)
{
    static const int none[] = { 1, -13, 100, -100, INT32_MAX, INT32_MIN };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        assert_string_equal(bowline_status_name(none[i]), "?");
        assert_non_null(strstr(bowline_status_words(none[i]), "does not know"));
    }
}

static void test_status_version_is_that_of_the_header(void **state)
{
    char text[32];

    (void)state;
    assert_int_equal(bowline_version(), BOWLINE_VERSION_NUMBER);
    assert_string_equal(bowline_version_string(), BOWLINE_VERSION_STRING);
    (void)snprintf(text, sizeof text, "%d.%d.%d", BOWLINE_VERSION_MAJOR, BOWLINE_VERSION_MINOR,
                   BOWLINE_VERSION_PATCH);
    assert_string_equal(bowline_version_string(), text);
}

static void test_status_child_of_fork_is_told_so(void **state)
{
    bwl_shard     client = { .host.engine = NULL };
    bowline_error error  = { 0 };
    int           status;

    (void)state;
    assert_true(bwl_fork_guard_init(&client.host.guard));
    assert_int_equal(bwl_check_fork(&client, &error), BOWLINE_OK);
    assert_string_equal(error.text, "");
    pid_t child = fork();
    if (child == 0)
        _exit(bwl_check_fork(&client, &error) == BOWLINE_FORKED && error.status == BOWLINE_FORKED &&
                      strstr(error.text, "fork") != NULL &&
                      bwl_check_fork(&client, NULL) == BOWLINE_FORKED
                  ? 7
                  : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    bwl_fork_guard_free(&client.host.guard);
}

typedef struct report {
    bwl_outcome_kind ended;
    bwl_verb         verb;
    int              status;
    const char      *with;    /* what the store said: "h: OOM"   */
    const char      *without; /* it said nothing                 */
} report;

static const report reports[] = {
    { BWL_HELD, BWL_ACQUIRE, BOWLINE_OK, "", "" },
    { BWL_RELEASED, BWL_RELEASE, BOWLINE_OK, "", "" },
    { BWL_BUSY, BWL_ACQUIRE, BOWLINE_BUSY, "n is held by someone else",
      "n is held by someone else" },
    { BWL_FULL, BWL_ACQUIRE, BOWLINE_BUSY, "n is held, and h: OOM",
      "n is held, and the store gave no reason" },
    { BWL_TIMED_OUT, BWL_ACQUIRE, BOWLINE_TIMEOUT, "n was held by others for all of the wait",
      "n was held by others for all of the wait" },
    { BWL_NOT_NOW, BWL_ACQUIRE, BOWLINE_REFUSED, "n: h: OOM",
      "n: the server answers too slowly for this lease" },
    { BWL_STORE_REFUSED, BWL_ACQUIRE, BOWLINE_REFUSED, "n: h: OOM", "n: the store gave no reason" },
    { BWL_UNREACHABLE, BWL_ACQUIRE, BOWLINE_UNREACHABLE, "n: h: OOM",
      "n: the store gave no reason" },
    { BWL_LOST, BWL_EXTEND, BOWLINE_LOST, "n is not ours any more: h: OOM",
      "n is not ours any more: the lease ended, or the store lost it" },
    { BWL_UNKNOWN, BWL_ACQUIRE, BOWLINE_UNKNOWN, "n: h: OOM", "n: the server did not answer" },
    { BWL_UNKNOWN, BWL_EXTEND, BOWLINE_UNKNOWN, "n: h: OOM", "n: the server did not answer" },
    { BWL_UNKNOWN, BWL_RELEASE, BOWLINE_UNKNOWN,
      "n: whether it was given back is not known, it ends with its lease: h: OOM",
      "n: whether it was given back is not known, it ends with its lease: the server did not "
      "answer" },
    { BWL_CANCELLED, BWL_ACQUIRE, BOWLINE_CANCELLED, "n: cancelled", "n: cancelled" },
};

static void test_status_every_outcome_is_reported(void **state)
{
    bwl_lock lock = { .base.name = "n", .base.name_size = 1 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        const report *r         = &reports[i];
        bwl_operation operation = { .lock = &lock, .verb = r->verb, .completion.result = r->ended };
        for (unsigned said = 0; said < 2; said++) {
            bowline_error error = { 0 };
            (void)snprintf(lock.base.why, sizeof lock.base.why, "%s", said ? "h: OOM" : "");
            assert_int_equal(bwl_report(&operation, &error), r->status);
            assert_int_equal(error.status, r->status);
            assert_string_equal(error.text, said ? r->with : r->without);
            assert_int_equal(bwl_report(&operation, NULL), r->status);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_every_number_has_a_name_and_words),
        cmocka_unit_test(test_status_number_that_is_none_has_words_too),
        cmocka_unit_test(test_status_version_is_that_of_the_header),
        cmocka_unit_test(test_status_child_of_fork_is_told_so),
        cmocka_unit_test(test_status_every_outcome_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
