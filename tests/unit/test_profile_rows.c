/*
 * test_profile_rows.c -- every row of the table is consistent.
 *
 * live/test_redis_profiles.c compares the rows with real keys and values.
 */
#include "core/status.h"
#include "core/text.h"
#include "protocol/format/token.h"
#include "engine/redis/profile.h"
#include "engine/redis/wire/value.h"
#include "protocol/protocol.h"
#include "tests/lib/suite.h"

#include <bowline/bowline.h>

#include <stdio.h>

#define WALL_NS INT64_C(1795307460123456789)

static const bwl_random bits = { { 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 121, 98, 219,
                                   61 } };

/* Runs the body for each row, and names the row in a failure. */
#define FOR_EACH(row)                                            \
    for (const bwl_profile *row = bwl_profile_at(0);             \
         row != NULL && (print_message("# %s\n", row->name), 1); \
         row = bwl_profile_at((size_t)(row - bwl_profile_at(0)) + 1))

TEST(rows_have_names_of_plain_characters)
{
    assert_non_null(bwl_profile_at(14));
    FOR_EACH(row)
    {
        size_t size = strlen(row->name);
        assert_true(size > 0 && size <= 24);
        assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789-."), size);
        for (const bwl_profile *other = bwl_profile_at(0); other < row; other++)
            assert_string_not_equal(other->name, row->name);
        assert_non_null(row->program);
    }
}

/* A written value is read as ours, by these rules and by no weaker ones. */
TEST(rows_can_read_the_values_that_they_write)
{
    char token[BWL_TOKEN_MAX + 1];
    char value[BWL_VALUE_MAX];

    FOR_EACH(row)
    {
        const bwl_compat_rules *rules     = row->rules;
        int64_t                 timestamp = rules->unit_ns != 0 ? WALL_NS / rules->unit_ns : 0;
        int64_t                 read      = -1;
        bwl_token_write_as(token, rules->token, &bits, WALL_NS);
        size_t size = bwl_value_write(value, rules, token, timestamp);
        assert_true(size > 0 && size <= BWL_VALUE_MAX);
        print_message("# %.*s\n", (int)size, value);
        assert_true(bwl_value_read(&read, rules, value, size));
        assert_int_equal(read, timestamp);
        assert_false(bwl_value_read(&read, rules, value, size - 1) &&
                     rules->value == BWL_VALUE_TOKEN);
        assert_false(bwl_value_read(&read, rules, "somebody", 8));
    }
}

/* The texts go into an error of 243 bytes, with the rest of the sentence. */
TEST(rows_with_timestamps_have_a_fault_that_fits_into_an_error)
{
    FOR_EACH(row)
    {
        const bwl_protocol *protocol = bwl_protocol_named(row->protocol);
        const char         *fault =
            row->fault != NULL ? row->fault : bwl_protocol_fault(protocol, row->rules);
        if (row->rules->unit_ns != 0)
            assert_non_null(fault);
        if (fault != NULL)
            assert_true(strlen(row->name) + strlen(fault) +
                            strlen("profile  is not safe: ; to use it all the same, add "
                                   "accept-risk=1") <
                        BWL_FAULT_TEXT_MAX);
        assert_true(row->fault == NULL || row->fault[strlen(row->fault) - 1] != '.');
        assert_true(row->note == NULL || row->note[strlen(row->note) - 1] == '.');
    }
}

/* All of them take over by GETSET, except ServiceStack, which uses a transaction. */
TEST(rows_with_GETSET_say_that_a_losing_waiter_changes_the_timestamp)
{
    FOR_EACH(row)
    {
        if (row->rules->clock != BWL_CLOCK_OF_SERVER)
            continue;
        bool says =
            strstr(row->fault, "moves our timestamp, and our release leaves the key") != NULL;
        assert_int_equal(says, strcmp(row->name, "servicestack") != 0);
    }
}

/* Opens the profile once, with its risk accepted or not.  *ret_warning: its warning. */
static int open_profile(const bwl_profile *row, bool accepts, char ret_warning[400])
{
    char            url[200];
    bowline_client *client = NULL;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1?profile=%s%s%s", row->name,
                   accepts ? "&accept-risk=1" : "",
                   row->takes_prefix || row->wants_key != NULL ? "&key=x:%25s" : "");
    int         status  = bowline_open(&client, BOWLINE_OPTIONS(.url = url), NULL);
    const char *warning = client != NULL ? bowline_client_warning(client) : NULL;
    (void)snprintf(ret_warning, 400, "%s", warning != NULL ? warning : "");
    bowline_close(client);
    return status;
}

TEST(row_with_a_fault_opens_only_when_the_risk_is_accepted)
{
    char warning[400];

    FOR_EACH(row)
    {
        const char *fault = row->fault;
        if (fault == NULL)
            fault = bwl_protocol_fault(bwl_protocol_named(row->protocol), row->rules);
        assert_int_equal(open_profile(row, false, warning),
                         fault != NULL ? BOWLINE_USAGE : BOWLINE_OK);
        assert_int_equal(open_profile(row, true, warning), BOWLINE_OK);
        assert_int_equal(warning[0] != '\0', fault != NULL);
        if (fault != NULL)
            assert_non_null(strstr(warning, fault));
    }
}
