/*
 * test_fault.c -- an error as one sentence.
 *
 * The text fits or is cut and never overflows; the status is returned with or without a buffer for
 * the text; the text for errno is added where there is room.
 */
#include "base/fault.h"
#include "tests/lib/suite.h"

#include <errno.h>

/* A fault followed by guard bytes. */
static struct {
    bwl_fault fault;
    char      guard[300];
} place;

static char long_text[400];

static int fresh_place(void **state)
{
    memset(&place, '#', sizeof place);
    memset(long_text, 'x', sizeof long_text - 1);
    return 0;
}

static void assert_guarded(void)
{
    for (size_t i = 0; i < sizeof place.guard; i++)
        assert_int_equal(place.guard[i], '#');
}

FIXTURE(fresh_place, NULL)

TEST(fault_holds_status_and_text)
{
    assert_int_equal(bwl_fail(&place.fault, BWL_STATUS_REFUSED, "%s has %d", "x", 7),
                     BWL_STATUS_REFUSED);
    assert_int_equal(place.fault.status, BWL_STATUS_REFUSED);
    assert_string_equal(place.fault.text, "x has 7");
    assert_guarded();
}

TEST(fault_keeps_errno_and_the_code_of_its_cause)
{
    bwl_fault cause = { .server_code = "NOPERM" };

    errno = EACCES;
    assert_int_equal(bwl_fail_errno(&place.fault, "no"), BWL_STATUS_SYSTEM);
    assert_int_equal(place.fault.system_errno, EACCES);
    assert_string_equal(place.fault.server_code, "");
    assert_int_equal(bwl_fail_because(&place.fault, BWL_STATUS_REFUSED, &cause, "%d", 1),
                     BWL_STATUS_REFUSED);
    assert_int_equal(place.fault.system_errno, 0);
    assert_string_equal(place.fault.server_code, "NOPERM");
    assert_string_equal(place.fault.text, "1");
    cause = (bwl_fault){ .system_errno = ECONNREFUSED };
    (void)bwl_fail_because(&place.fault, BWL_STATUS_UNREACHABLE, &cause, "%d", 2);
    assert_int_equal(place.fault.system_errno, ECONNREFUSED);
    assert_string_equal(place.fault.server_code, "");
    (void)bwl_fail(&place.fault, BWL_STATUS_USAGE, "3");
    assert_int_equal(place.fault.system_errno, 0);
    assert_int_equal(bwl_fail_because(NULL, BWL_STATUS_LOST, &cause, "4"), BWL_STATUS_LOST);
    assert_guarded();
}

TEST(fault_may_be_NULL)
{
    assert_int_equal(bwl_fail(NULL, BWL_STATUS_USAGE, "nothing"), BWL_STATUS_USAGE);
    errno = EACCES;
    assert_int_equal(bwl_fail_errno(NULL, "nothing"), BWL_STATUS_SYSTEM);
    errno = ENOMEM;
    assert_int_equal(bwl_fail_errno(NULL, "nothing"), BWL_STATUS_NOMEM);
}

TEST(fault_text_that_is_too_long_is_cut)
{
    (void)bwl_fail(&place.fault, BWL_STATUS_USAGE, "%s", long_text);
    assert_int_equal(strlen(place.fault.text), BWL_FAULT_TEXT_MAX - 1);
    assert_string_equal(place.fault.text + BWL_FAULT_TEXT_MAX - 5, "x...");
    assert_guarded();
}

TEST(fault_of_a_system_call_ends_with_the_text_for_errno)
{
    errno = ENOENT;
    assert_int_equal(bwl_fail_errno(&place.fault, "cannot open %s", "it"), BWL_STATUS_SYSTEM);
    assert_int_equal(place.fault.status, BWL_STATUS_SYSTEM);
    assert_string_equal(place.fault.text, "cannot open it: No such file or directory");
    errno = 99999;
    (void)bwl_fail_errno(&place.fault, "what");
    assert_memory_equal(place.fault.text, "what: ", 6);
    assert_guarded();
}

TEST(fault_hides_the_password_of_a_url)
{
    (void)bwl_fail(&place.fault, BWL_STATUS_BUSY, "%s is held", "redis://u:hunter2@h");
    assert_string_equal(place.fault.text, "redis://u:***@h is held");
    errno = EACCES;
    (void)bwl_fail_errno(&place.fault, "cannot open %s", "redis://u:hunter2@h");
    assert_non_null(strstr(place.fault.text, "cannot open redis://u:***@h: "));
    assert_guarded();
}

/* The '@' is cut off, and with it the end of the password. */
TEST(fault_hides_a_password_that_is_cut_off)
{
    (void)bwl_fail(&place.fault, BWL_STATUS_BUSY, "%.200s redis://u:%s@h", long_text, long_text);
    assert_string_equal(place.fault.text + 200, " redis://u:***");
    assert_guarded();
}

TEST(fault_of_missing_memory_is_nomem)
{
    errno = ENOMEM;
    assert_int_equal(bwl_fail_errno(&place.fault, "cannot grow"), BWL_STATUS_NOMEM);
    assert_int_equal(place.fault.status, BWL_STATUS_NOMEM);
}

TEST(fault_text_for_errno_is_cut_at_the_end_of_the_buffer)
{
    errno = ENOENT;
    (void)bwl_fail_errno(&place.fault, "%.*s", BWL_FAULT_TEXT_MAX - 5, long_text);
    assert_string_equal(place.fault.text + BWL_FAULT_TEXT_MAX - 5, ": No");
    (void)bwl_fail_errno(&place.fault, "%s", long_text);
    assert_int_equal(strlen(place.fault.text), BWL_FAULT_TEXT_MAX - 1);
    assert_null(strchr(place.fault.text, ':'));
    assert_guarded();
}
