/*
 * The evaluation of recorded holds of the peers, which proves mutual exclusion.
 */
#include "bench/duel/turns.h"
#include "tests/lib/suite.h"

#include <stdlib.h>
#include <unistd.h>

/* Records of two drivers; the waiters of the second count from 10. */
static int read_both(bench_turns *turns, const char *first, const char *second, bench_text *why)
{
    const char *const texts[] = { first, second };
    int               status  = 0;

    for (unsigned i = 0; i < 2 && status == 0; i++) {
        char path[] = "/tmp/bowline-turns-XXXXXX"; /* mkstemp's own form */
        int  fd     = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
        (void)close(fd);
        status = bench_turns_read(turns, path, i * 10, why);
        (void)unlink(path);
    }
    return status;
}

static bench_turns_sum sum_of(const char *first, const char *second, int64_t end_ns)
{
    bench_turns turns = { .count = 0 };
    bench_text  why;

    assert_int_equal(read_both(&turns, first, second, &why), 0);
    bench_turns_sum sum = bench_turns_sum_up(&turns, 12, end_ns);
    bench_turns_free(&turns);
    return sum;
}

TEST(holds_are_summed_up)
{
    static const struct {
        const char *what, *first, *second;
        int64_t     end_ns;
        unsigned    overlaps, hand_overs, hand_overs_before, turns_before;
    } rows[] = {
        { "one after the other", "0 100 200\n1 300 400\n", "0 200 300\n", 1000, 0, 2, 2, 3 },
        { "two at once, in two programs", "0 100 200\n", "0 199 300\n", 1000, 1, 1, 1, 2 },
        { "two at once, in one program", "0 100 200\n1 150 160\n", "", 1000, 1, 1, 1, 2 },
        { "a short one inside a long one does not hide the next", "0 100 500\n1 150 160\n",
          "0 170 180\n", 1000, 2, 2, 2, 3 },
        { "the next of one waiter is no handoff", "0 1 2\n0 3 4\n0 5 6\n", "0 7 8\n", 1000, 0, 1, 1,
          4 },
        { "a late one counts separately", "0 1 2\n1 3 4\n", "0 100 200\n", 100, 0, 2, 1, 2 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench_turns_sum sum = sum_of(rows[i].first, rows[i].second, rows[i].end_ns);
        print_message("# %s\n", rows[i].what);
        assert_int_equal(sum.overlaps, rows[i].overlaps);
        assert_int_equal(sum.hand_overs, rows[i].hand_overs);
        assert_int_equal(sum.hand_overs_before, rows[i].hand_overs_before);
        assert_int_equal(sum.turns_before, rows[i].turns_before);
    }
}

TEST(fairness_is_the_fewest_holds_divided_by_the_most)
{
    bench_turns turns = { .count = 0 };
    bench_text  why;

    assert_int_equal(read_both(&turns, "0 1 2\n1 3 4\n0 5 6\n", "", &why), 0);
    assert_true(bench_turns_sum_up(&turns, 2, 1000).fairness == 0.5);
    assert_int_equal(bench_turns_sum_up(&turns, 2, 1000).fewest * 2,
                     bench_turns_sum_up(&turns, 2, 1000).most);
    /* A third waiter never held the lock. */
    assert_true(bench_turns_sum_up(&turns, 3, 1000).fairness == 0);
    bench_turns_free(&turns);
}

TEST(line_that_is_no_hold_is_reported)
{
    static const char *const bad[] = { "0 100\n", "0 200 100\n", "x", "0 1 2\n0 1 x\n" };
    bench_text               why;

    for (unsigned i = 0; i < COUNT_OF(bad); i++) {
        bench_turns turns = { .count = 0 };
        assert_int_equal(read_both(&turns, bad[i], "", &why), -1);
        bench_turns_free(&turns);
    }
    bench_turns none = { .count = 0 };
    assert_int_equal(bench_turns_read(&none, "/nowhere/turns", 0, &why), -1);
}
