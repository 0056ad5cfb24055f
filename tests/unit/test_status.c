/*
 * test_status.c -- how calls come out, in numbers and in words.
 *
 * Every number of the public header has its name and its words, every other number has some too.
 * Then every outcome of an operation, with and without something that the store said: which status
 * it is, and what the caller is told.
 */
#include "api/handles.h"
#include "tests/lib/suite.h"

#include <errno.h>
#include <stdio.h>

TEST(status_every_number_has_a_name_and_words)
{
    static const struct {
        int         status;
        const char *name;
    } list[] = {
        { BOWLINE_OK, "OK" },
        { BOWLINE_BUSY, "BUSY" },
        { BOWLINE_TIMEOUT, "TIMEOUT" },
        { BOWLINE_LOST, "LOST" },
        { BOWLINE_UNKNOWN, "UNKNOWN" },
        { BOWLINE_CANCELLED, "CANCELLED" },
        { BOWLINE_UNREACHABLE, "UNREACHABLE" },
        { BOWLINE_REFUSED, "REFUSED" },
        { BOWLINE_USAGE, "USAGE" },
        { BOWLINE_UNSUPPORTED, "UNSUPPORTED" },
        { BOWLINE_NOMEM, "NOMEM" },
        { BOWLINE_SYSTEM, "SYSTEM" },
        { BOWLINE_FORKED, "FORKED" },
    };

    for (size_t i = 0; i < COUNT_OF(list); i++) {
        assert_int_equal(list[i].status, -(int)i); /* numbers never change */
        assert_string_equal(bowline_status_name(list[i].status), list[i].name);
        assert_null(strstr(bowline_status_words(list[i].status), "does not know"));
    }
}

TEST(status_number_that_is_none_has_words_too)
{
    static const int none[] = { 1, -13, 100, -100, INT32_MAX, INT32_MIN };

    for (size_t i = 0; i < COUNT_OF(none); i++) {
        assert_string_equal(bowline_status_name(none[i]), "?");
        assert_non_null(strstr(bowline_status_words(none[i]), "does not know"));
    }
}

TEST(status_version_is_that_of_the_header)
{
    char text[32];

    assert_int_equal(bowline_version(), BOWLINE_VERSION_NUMBER);
    assert_string_equal(bowline_version_string(), BOWLINE_VERSION_STRING);
    (void)snprintf(text, sizeof text, "%d.%d.%d", BOWLINE_VERSION_MAJOR, BOWLINE_VERSION_MINOR,
                   BOWLINE_VERSION_PATCH);
    assert_string_equal(bowline_version_string(), text);
}

typedef struct report {
    bwl_outcome_kind ended;
    bwl_verb         verb;
    int              status;
    const char      *with;      /* what the store said: "h: OOM"   */
    const char      *without;   /* it said nothing                 */
    bool             has_cause; /* the errno and the code of what the store said are kept */
} report;

static const report reports[] = {
    { BWL_HELD, BWL_ACQUIRE, BOWLINE_OK, "", "", false },
    { BWL_RELEASED, BWL_RELEASE, BOWLINE_OK, "", "", false },
    { BWL_BUSY, BWL_ACQUIRE, BOWLINE_BUSY, "n is held by someone else", "n is held by someone else",
      false },
    { BWL_FULL, BWL_ACQUIRE, BOWLINE_BUSY, "n is held, and h: OOM",
      "n is held, and the store gave no reason", false },
    { BWL_TIMED_OUT, BWL_ACQUIRE, BOWLINE_TIMEOUT,
      "n was held by other clients during the whole wait",
      "n was held by other clients during the whole wait", false },
    { BWL_NOT_NOW, BWL_ACQUIRE, BOWLINE_REFUSED, "n: h: OOM",
      "n: the server answers too slowly for this lease", true },
    { BWL_STORE_REFUSED, BWL_ACQUIRE, BOWLINE_REFUSED, "n: h: OOM", "n: the store gave no reason",
      true },
    { BWL_UNREACHABLE, BWL_ACQUIRE, BOWLINE_UNREACHABLE, "n: h: OOM", "n: the store gave no reason",
      true },
    { BWL_LOST, BWL_EXTEND, BOWLINE_LOST, "n is no longer ours: h: OOM",
      "n is no longer ours: the lease ended, or the store lost it", true },
    { BWL_UNKNOWN, BWL_ACQUIRE, BOWLINE_UNKNOWN, "n: h: OOM", "n: the server did not answer",
      true },
    { BWL_UNKNOWN, BWL_EXTEND, BOWLINE_UNKNOWN, "n: h: OOM", "n: the server did not answer", true },
    { BWL_UNKNOWN, BWL_RELEASE, BOWLINE_UNKNOWN,
      "n: the result of the release is unknown, the lock ends with its lease: h: OOM",
      "n: the result of the release is unknown, the lock ends with its lease: the server did not "
      "answer",
      true },
    { BWL_CANCELLED, BWL_ACQUIRE, BOWLINE_CANCELLED, "n: cancelled", "n: cancelled", false },
};

TEST(status_every_outcome_is_reported)
{
    bwl_lock lock = { .base.name = "n", .base.name_size = 1 };

    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        const report *r         = &reports[i];
        bwl_operation operation = { .lock = &lock, .verb = r->verb, .completion.result = r->ended };
        for (unsigned said = 0; said < 2; said++) {
            bowline_error error = { 0 };
            lock.base.why       = said ? (bwl_fault){ 0, 111, "OOM", "h: OOM" } : (bwl_fault){ 0 };
            assert_int_equal(bwl_report(&operation, &error), r->status);
            assert_int_equal(error.status, r->status);
            assert_string_equal(error.text, said ? r->with : r->without);
            bool has_cause = said && r->has_cause;
            assert_int_equal(error.system_errno, has_cause ? 111 : 0);
            assert_string_equal(error.server_code, has_cause ? "OOM" : "");
            assert_int_equal(bwl_report(&operation, NULL), r->status);
        }
    }
}

/* The errno comes all the way from connect. */
TEST(status_errno_of_a_failed_connection_is_in_the_error)
{
    bowline_client *client;
    bowline_hold   *hold  = NULL;
    bowline_error   error = { 0 };

    assert_int_equal(
        bowline_open(&client, BOWLINE_OPTIONS(.url = "unix:///no/such/socket"), &error),
        BOWLINE_OK);
    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, &error), BOWLINE_UNREACHABLE);
    assert_int_equal(error.system_errno, ENOENT);
    assert_string_equal(error.server_code, "");
    bowline_close(client);
}
