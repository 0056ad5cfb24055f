/*
 * test_open.c -- how the options of bowline_open and of the URL become the settings of the client.
 *
 * conformance/engines_time and engines_input test the effect of each setting, session/url.txt its
 * limits; NO_SPIN and reply_ms are not visible from outside.
 */
#include "api/handles.h"
#include "tests/lib/suite.h"

static const struct {
    bowline_options asked;
    bwl_settings    wanted;
    const char     *program;
} list[] = {
    { { .url = "thread:" },
      { .lease_ms    = 30000,
        .answer_ms   = 5000,
        .max_hold_ms = BWL_NEVER,
        .renews      = true,
        .keeps       = true,
        .spins       = true },
      "" },
    { { .url         = "thread:?wait=3s&spin=off&renew=off&lease=1h&max-hold=1h",
        .lease_ms    = 9000,
        .reply_ms    = 700,
        .max_hold_ms = 60000,
        .program     = "backup" },
      { .lease_ms = 9000, .answer_ms = 700, .max_hold_ms = 60000, .wait_ms = 3000, .keeps = true },
      "backup" },
    { { .url     = "thread:?renew=on&spin=on",
        .flags   = BOWLINE_NO_RENEW,
        .program = "0123456789012345678901234567890123456789012345678901234567890123456789" },
      { .lease_ms    = 30000,
        .answer_ms   = 5000,
        .max_hold_ms = BWL_NEVER,
        .keeps       = true,
        .spins       = true },
      "012345678901234567890123456789012345678901234567890123456789012" },
    { { .url = "thread:?wait=forever&spin=on", .flags = BOWLINE_NO_THREAD | BOWLINE_NO_SPIN },
      { .lease_ms    = 30000,
        .answer_ms   = 5000,
        .max_hold_ms = BWL_NEVER,
        .wait_ms     = BWL_NEVER,
        .renews      = true },
      "" },
};

TEST(open_settings_come_from_the_options_then_the_url)
{
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        bowline_client *client = NULL;
        bowline_options o      = list[i].asked;
        o.size                 = sizeof o;
        assert_int_equal(bowline_open(&client, &o, NULL), BOWLINE_OK);
        const bwl_settings *is     = &client->first->host.settings;
        const bwl_settings *wanted = &list[i].wanted;
        assert_true(is->lease_ms == wanted->lease_ms && is->answer_ms == wanted->answer_ms);
        assert_true(is->max_hold_ms == wanted->max_hold_ms && is->wait_ms == wanted->wait_ms);
        assert_int_equal(is->renews, wanted->renews);
        assert_int_equal(is->keeps, wanted->keeps);
        assert_int_equal(is->spins, wanted->spins);
        assert_string_equal(client->first->host.program, list[i].program);
        bowline_close(client);
    }
}
