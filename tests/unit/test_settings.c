/*
 * test_settings.c -- the settings of a client: an option of the caller comes before the URL, and
 * the URL comes before the defaults.
 *
 * Each setting is given in the three ways, at its limits and one beyond them.  A value that cannot
 * be read is an error and never the default: the user who wrote "lease=30" meant a lease.
 */
#include "engine/settings.h"
#include "tests/lib/suite.h"

#include <stdio.h>

static bwl_settings settings;
static bwl_fault    fault;

static int from(const bwl_settings *asked, bool renewal_off, const char *options)
{
    static const bwl_settings nothing;
    char                      text[256];
    bwl_url                   url;

    fault = (bwl_fault){ 0 };
    (void)snprintf(text, sizeof text, "redis://h%s%s", options[0] != '\0' ? "?" : "", options);
    assert_int_equal(bwl_url_parse(&url, text, &fault), BWL_OK);
    return bwl_settings_from(&settings, asked != NULL ? asked : &nothing, renewal_off, &url,
                             &fault);
}

static void good(const char *options)
{
    print_message("# %s\n", options);
    assert_int_equal(from(NULL, false, options), BWL_OK);
}

/* Refused, with a text that contains this word, and nothing is written. */
static void bad(const char *options, const char *word)
{
    bwl_settings before = { .lease_ms = 4711 };

    print_message("# %s\n", options);
    settings = before;
    assert_int_equal(from(NULL, false, options), BWL_STATUS_USAGE);
    assert_non_null(strstr(fault.text, word));
    assert_memory_equal(&settings, &before, sizeof before);
}

TEST(settings_without_values_are_the_defaults)
{
    good("");
    assert_int_equal(settings.lease_ms, 30000);
    assert_int_equal(settings.answer_ms, 5000);
    assert_int_equal(settings.wait_ms, 0);
    assert_true(settings.max_hold_ms == BWL_NEVER);
    assert_true(settings.renews);
    assert_false(settings.keeps);
}

TEST(settings_of_the_caller_come_before_the_url)
{
    const bwl_settings asked = {
        .lease_ms = 1000, .answer_ms = 100, .wait_ms = 7, .max_hold_ms = 9, .keeps = true
    };

    assert_int_equal(from(&asked, false, "lease=10s&timeout=2s&wait=1m&max-hold=1h"), BWL_OK);
    assert_int_equal(settings.lease_ms, 1000);
    assert_int_equal(settings.answer_ms, 100);
    assert_int_equal(settings.wait_ms, 7);
    assert_int_equal(settings.max_hold_ms, 9);
    assert_true(settings.keeps);
}

TEST(settings_reply_time_is_a_third_of_a_short_lease)
{
    good("lease=15s");
    assert_int_equal(settings.answer_ms, 5000);
    good("lease=14997ms");
    assert_int_equal(settings.answer_ms, 4999);
    good("lease=100ms");
    assert_int_equal(settings.answer_ms, 33);
}

TEST(settings_lease_is_100_ms_to_one_day)
{
    good("lease=100ms");
    assert_int_equal(settings.lease_ms, 100);
    bad("lease=99ms", "a lease is");
    good("lease=1d");
    assert_int_equal(settings.lease_ms, 86400000);
    bad("lease=1d1ms", "a lease is");
    bad("lease=0s", "a lease is");
    bad("lease=", "lease=");
    bad("lease=30", "lease=");
    bad("lease=-1s", "lease=");
    bad("lease=1.5s", "lease=");
    bad("lease=30S", "lease=");
}

TEST(settings_reply_time_is_10_ms_to_the_lease)
{
    good("lease=10s&timeout=10s");
    bad("lease=10s&timeout=10001ms", "silent");
    good("timeout=10ms");
    bad("timeout=9ms", "silent");
    bad("timeout=0s", "silent");
    bad("timeout=soon", "timeout=");
}

TEST(settings_wait_is_at_most_24_days_or_for_ever)
{
    good("wait=forever");
    assert_true(settings.wait_ms == BWL_NEVER);
    good("wait=0s");
    assert_int_equal(settings.wait_ms, 0);
    good("wait=2147483647ms");
    assert_int_equal(settings.wait_ms, INT32_MAX);
    bad("wait=2147483648ms", "24 days");
    bad("wait=for ever", "wait=");
    bad("wait=Forever", "wait=");
}

TEST(settings_max_hold_is_at_least_1_ms)
{
    good("max-hold=1ms");
    assert_int_equal(settings.max_hold_ms, 1);
    bad("max-hold=0ms", "max-hold");
    bad("max-hold=never", "max-hold=");
}

TEST(settings_renewal_is_off_by_the_caller_or_the_url)
{
    good("renew=on");
    assert_true(settings.renews);
    good("renew=off");
    assert_false(settings.renews);
    assert_int_equal(from(NULL, true, "renew=on"), BWL_OK);
    assert_false(settings.renews);
    assert_int_equal(from(NULL, true, ""), BWL_OK);
    assert_false(settings.renews);
    bad("renew=no", "renew=");
    bad("renew=", "renew=");
}

TEST(settings_spinning_is_off_by_the_caller_or_the_url)
{
    const bwl_settings spinning = { .spins = true };

    assert_int_equal(from(&spinning, false, ""), BWL_OK);
    assert_true(settings.spins);
    assert_int_equal(from(&spinning, false, "spin=on"), BWL_OK);
    assert_true(settings.spins);
    assert_int_equal(from(&spinning, false, "spin=off"), BWL_OK);
    assert_false(settings.spins);
    good("spin=on");
    assert_false(settings.spins);
    bad("spin=always", "spin=");
    bad("spin=", "spin=");
}

TEST(settings_of_the_caller_have_the_same_limits)
{
    const bwl_settings leases   = { .lease_ms = 99 };
    const bwl_settings answers  = { .lease_ms = 1000, .answer_ms = 1001 };
    const bwl_settings max_hold = { .max_hold_ms = -5 };

    assert_int_equal(from(&leases, false, ""), BWL_STATUS_USAGE);
    assert_int_equal(from(&answers, false, ""), BWL_STATUS_USAGE);
    assert_int_equal(from(&max_hold, false, ""), BWL_STATUS_USAGE);
}
