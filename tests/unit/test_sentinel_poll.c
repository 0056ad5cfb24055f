/*
 * test_sentinel_poll.c -- which primary follows from answers of the same epoch; tests/session has
 * the epochs.
 */
#include "engine/redis/topology/sentinel_poll.h"
#include "tests/lib/suite.h"

enum { OLD = 7001, NEW = 7002 };

static bwl_sentinel_poll poll;

static bwl_primary at(uint16_t port)
{
    return (bwl_primary){ .host = "127.0.0.1", .port = port };
}

/* All are asked. */
static void begin(unsigned count)
{
    poll = (bwl_sentinel_poll){ .count = count };
    bwl_sentinel_poll_begin(&poll);
}

static void says(unsigned i, uint16_t port, uint64_t epoch)
{
    bwl_sentinel_answer answer = { .primary = at(port), .epoch = epoch };

    bwl_sentinel_poll_answer(&poll, i, &answer);
}

static void says_down(unsigned i, uint16_t port, uint64_t epoch)
{
    bwl_sentinel_answer answer = { .primary = at(port), .epoch = epoch, .is_down = true };

    bwl_sentinel_poll_answer(&poll, i, &answer);
}

TEST(current_name_of_the_primary_is_kept)
{
    bwl_primary current = at(NEW);

    begin(2);
    says(0, OLD, 4);
    says(1, NEW, 4);
    assert_int_equal(bwl_sentinel_poll_choose(&poll, 4, &current)->primary.port, NEW);
    assert_true(bwl_sentinel_poll_names(&poll, 4, &current));
    assert_false(bwl_sentinel_poll_names(&poll, 5, &current));
    bwl_sentinel_poll_fail(&poll, 1);
    assert_false(bwl_sentinel_poll_names(&poll, 4, &current));
}

TEST(server_that_is_down_for_one_sentinel_only_is_chosen)
{
    begin(2);
    says_down(0, OLD, 4);
    assert_true(bwl_sentinel_poll_choose(&poll, 4, NULL)->is_down);
    says(1, OLD, 4);
    assert_false(bwl_sentinel_poll_choose(&poll, 4, NULL)->is_down);
}
