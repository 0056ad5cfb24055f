/*
 * test_sentinel_poll.c -- which primary follows from the answers of several sentinels.
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

/* 0: none. */
static unsigned chosen(uint64_t epoch)
{
    const bwl_sentinel_answer *answer = bwl_sentinel_poll_choose(&poll, epoch, NULL);

    return answer != NULL ? answer->primary.port : 0;
}

TEST(majority_is_more_than_half_of_the_sentinels)
{
    static const struct {
        unsigned count, answers;
        bool     is_majority;
    } rows[] = { { 1, 1, true }, { 2, 1, false }, { 2, 2, true }, { 3, 1, false },
                 { 3, 2, true }, { 4, 2, false }, { 5, 3, true } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(rows[i].count);
        for (unsigned k = 0; k < rows[i].answers; k++)
            says(k, OLD, 1);
        assert_int_equal(bwl_sentinel_poll_is_majority(&poll), rows[i].is_majority);
        assert_int_equal(bwl_sentinel_poll_due(&poll), rows[i].count - rows[i].answers);
    }
}

TEST(newest_epoch_wins_over_the_first_answer)
{
    begin(3);
    says(0, OLD, 4);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 0, 1000), 4);
    assert_int_equal(chosen(4), OLD);
    says(2, NEW, 5);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 4, 1000), 5);
    assert_int_equal(chosen(5), NEW);
}

TEST(older_epoch_is_not_accepted_from_one_of_three)
{
    begin(3);
    says(0, OLD, 4);
    for (bwl_ms now = 1000; now < 100000; now += 1000)
        assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, now), 5);
    assert_int_equal(chosen(5), 0);
}

TEST(older_epoch_is_accepted_when_a_majority_says_it_for_long)
{
    begin(3);
    says(0, OLD, 3);
    says(1, OLD, 4);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 1000), 5);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 999 + BWL_SENTINEL_LOWER_MS), 5);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 1000 + BWL_SENTINEL_LOWER_MS), 4);
    assert_int_equal(chosen(4), OLD);
}

TEST(newest_epoch_starts_the_time_of_a_lower_one_again)
{
    begin(3);
    says(0, OLD, 4);
    says(1, OLD, 4);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 1000), 5);
    says(2, NEW, 5);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 5000), 5);
    bwl_sentinel_poll_fail(&poll, 2); /* its answer does not count any more */
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 6000), 5);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 1000 + BWL_SENTINEL_LOWER_MS), 5);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 6000 + BWL_SENTINEL_LOWER_MS), 4);
}

TEST(lost_majority_starts_the_time_of_a_lower_epoch_again)
{
    begin(3);
    says(0, OLD, 4);
    says(1, OLD, 4);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 1000), 5);
    bwl_sentinel_poll_fail(&poll, 1);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 2000), 5);
    says(1, OLD, 4);
    assert_int_equal(bwl_sentinel_poll_epoch(&poll, 5, 1000 + BWL_SENTINEL_LOWER_MS), 5);
}

TEST(answer_of_an_earlier_question_is_not_chosen)
{
    begin(1);
    says(0, OLD, 4);
    bwl_sentinel_poll_begin(&poll);
    assert_int_equal(chosen(4), 0);
    assert_int_equal(bwl_sentinel_poll_answered(&poll), 0);
    says(0, OLD, 4);
    assert_int_equal(chosen(4), OLD);
}

TEST(server_that_was_tried_is_not_chosen_again_in_an_attempt)
{
    bwl_primary tried = at(OLD);

    begin(3);
    says(0, OLD, 4);
    says(1, NEW, 4);
    assert_int_equal(chosen(4), OLD);
    bwl_sentinel_poll_tried(&poll, &tried);
    assert_int_equal(chosen(4), NEW);
    says(2, OLD, 4); /* also if another sentinel names it later */
    bwl_sentinel_poll_fail(&poll, 1);
    assert_int_equal(chosen(4), 0);
    bwl_sentinel_poll_begin(&poll);
    says(2, OLD, 4);
    assert_int_equal(chosen(4), OLD);
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
