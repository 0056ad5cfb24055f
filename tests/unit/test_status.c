/*
 * test_status.c -- the status and the error text of every outcome of an operation, with and without
 * a reason from the store.
 */
#include "api/handles.h"
#include "tests/lib/suite.h"

#include <errno.h>

typedef struct report {
    bwl_outcome_kind ended;
    bwl_verb         verb;
    int              status;
    const char      *with;      /* error of the store: "h: OOM" */
    const char      *without;   /* no error text */
    bool             has_cause; /* errno and code of the error of the store */
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
    const bwl_protocol_options options = { 0 };
    bwl_lock lock = { .base = { .name = "n", .name_size = 1, .hold.request.options = &options } };

    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        const report *r         = &reports[i];
        bwl_operation operation = { .lock = &lock, .verb = r->verb, .completion.result = r->ended };
        for (unsigned said = 0; said < 2; said++) {
            bowline_error error = { 0 };
            lock.base.why       = said ? (bwl_fault){ 0, 111, "OOM", "h: OOM", BOWLINE_LOSS_TAKEN }
                                       : (bwl_fault){ 0 };
            assert_int_equal(bwl_report(&operation, &error), r->status);
            assert_int_equal(error.status, r->status);
            assert_string_equal(error.text, said ? r->with : r->without);
            bool has_cause = said && r->has_cause;
            assert_int_equal(error.system_errno, has_cause ? 111 : 0);
            assert_string_equal(error.server_code, has_cause ? "OOM" : "");
            assert_int_equal(error.loss,
                             r->status == BOWLINE_LOST && said ? BOWLINE_LOSS_TAKEN : 0);
            assert_int_equal(bwl_report(&operation, NULL), r->status);
        }
    }
}

/* The errno is that of connect. */
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

TEST(every_status_has_a_name_and_a_text)
{
    for (int status = -20; status < 20; status++) {
        assert_non_null(bowline_status_name(status));
        assert_true(strlen(bowline_status_words(status)) > 3);
    }
    assert_string_equal(bowline_status_name(BOWLINE_LOST), "LOST");
    assert_string_equal(bowline_status_name(-99), "?");
    assert_non_null(strstr(bowline_status_words(-99), "does not know"));
    assert_int_equal(bowline_version(), BOWLINE_VERSION_NUMBER);
    assert_string_equal(bowline_version_string(), BOWLINE_VERSION_STRING);
}
