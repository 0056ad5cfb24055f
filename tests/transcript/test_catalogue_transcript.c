/*
 * test_catalogue_transcript.c -- the locks of the articles under a hold: timed stories.
 *
 * transcript.h says how they are read.  A lease of 10000 ms is worth 9898 ms to us.
 */
#include "transcript.h"

static const bwl_terms by_the_servers_clock = {
    .lease_ms = 10000, .max_hold_ms = BWL_NEVER, .answer_ms = 5000, .rules = &bwl_rules_server
};

/* The stamp has ended: LOST, and nothing is sent, because another client may have the key. */
#define STAMP_IS_OVER                 \
    "[    0] caller acquires, once\n" \
    "[    0] asks SETNX of 10\n"      \
    "[    3] server says yes\n"       \
    "[    3] HELD until 9898\n"       \
    "[ 9898] LOST\n"                  \
    "[ 9898] over\n"

static const story stories[] = {
    { "setnx_stamp_del_that_is_over_is_not_released", &bwl_setnx_stamp_del, NULL, STAMP_IS_OVER },
    { "setnx_getset_that_is_over_is_not_released", &bwl_setnx_getset, NULL, STAMP_IS_OVER },
    /* Cancelled while SETNX is out: what it wins is given back, and nothing else is touched. */
    { "setnx_del_cancelled", &bwl_setnx_del, NULL,
      "[    0] caller acquires, for 20000\n"
      "[    0] asks SETNX of 0\n"
      "[    5] caller cancels\n"
      "[    5] CANCELLED\n"
      "[    9] server says yes\n"
      "[    9] asks DELETE\n"
      "[   12] server says yes\n"
      "[   12] over\n" },
    { "setnx_del_cancelled_2", &bwl_setnx_del, NULL,
      "[    0] caller acquires, for 20000\n"
      "[    0] asks SETNX of 0\n"
      "[    5] caller cancels\n"
      "[    5] CANCELLED\n"
      "[    9] server says no\n"
      "[    9] over\n" },
    /* Without an answer nobody knows, and a second DEL could be of somebody else's key. */
    { "setnx_del_without_an_answer", &bwl_setnx_del, NULL,
      "[    0] caller acquires, for 20000\n"
      "[    0] asks SETNX of 0\n"
      "[    5] link cuts\n"
      "[    5] UNKNOWN\n"
      "[    5] over\n" },
    { "setnx_del_without_an_answer_2", &bwl_setnx_del, NULL,
      "[    0] caller acquires, once\n"
      "[    0] asks SETNX of 0\n"
      "[    5] server says yes\n"
      "[    5] HELD until released\n"
      "[99000] caller releases\n"
      "[99000] asks DELETE\n"
      "[99005] link cuts\n"
      "[99005] UNKNOWN\n"
      "[99005] over\n" },
    /* The second way asks once more, by EXPIRE 0. */
    { "setnx_del_expire_without_an_answer", &bwl_setnx_del_expire, NULL,
      "[    0] caller acquires, once\n"
      "[    0] asks SETNX of 0\n"
      "[    5] server says yes\n"
      "[    5] HELD until released\n"
      "[  100] caller releases\n"
      "[  100] asks DELETE\n"
      "[  105] link cuts\n"
      "[  105] asks EXPIRE_NOW\n"
      "[  110] server says no\n"
      "[  110] UNKNOWN\n"
      "[  110] over\n" },
    /* P1 overran.  Its time is over, and its DEL is never sent. */
    { "set_nx_ex_that_overran", &bwl_set_nx_ex, NULL,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 10000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 9898\n"
      "[ 9898] LOST\n"
      "[ 9898] over\n" },
    { "setnx_getset_waits_and_takes_over", &bwl_setnx_getset,
      &(bwl_terms){ .lease_ms    = 300000,
                    .max_hold_ms = BWL_NEVER,
                    .answer_ms   = 5000,
                    .rules       = &bwl_rules_jedis },
      "[    0] caller acquires, for 300\n"
      "[    0] asks SETNX of 300001\n"
      "[    1] server says no\n"
      "[    1] asks READ of 300001\n"
      "[    2] server shows 150\n"
      "[  102] asks SETNX of 300103\n"
      "[  103] server says no\n"
      "[  103] asks READ of 300103\n"
      "[  104] server shows 150\n"
      "[  204] asks SETNX of 300205\n"
      "[  205] server says no\n"
      "[  205] asks READ of 300205\n"
      "[  206] server shows 150\n"
      "[  206] asks FIND_NO_EXPIRY\n"
      "[  206] server says yes\n"
      "[  206] asks SWAP of 300205\n"
      "[  207] server shows 150\n"
      "[  207] HELD until 297203\n"
      "[  300] caller releases\n"
      "[  300] asks DELETE\n"
      "[  301] server says yes\n"
      "[  301] RELEASED\n"
      "[  301] over\n" },
    /* "The lock has expired, but somebody else has just taken it." */
    { "setnx_getset_comes_second", &bwl_setnx_getset, NULL,
      "[    0] caller acquires, once\n"
      "[    0] asks SETNX of 10\n"
      "[    1] server says no\n"
      "[    1] asks READ of 10\n"
      "[    2] server shows -3\n"
      "[    2] asks FIND_NO_EXPIRY\n"
      "[    2] server says yes\n"
      "[    2] asks SWAP of 10\n"
      "[    3] server shows 10\n"
      "[    3] BUSY\n"
      "[    3] over\n" },
    { "setnx_getset_leaves_a_stranger_alone", &bwl_setnx_getset, NULL,
      "[    0] caller acquires, once\n"
      "[    0] asks SETNX of 10\n"
      "[    1] server says no\n"
      "[    1] asks READ of 10\n"
      "[    2] server shows a stranger's\n"
      "[    2] BUSY\n"
      "[    2] over\n" },
    /* Expired by its stamp, but the key has an expiry: the lock of another kind of program. */
    { "setnx_getset_leaves_a_key_with_an_expiry_alone", &bwl_setnx_getset, NULL,
      "[    0] caller acquires, once\n"
      "[    0] asks SETNX of 10\n"
      "[    1] server says no\n"
      "[    1] asks READ of 10\n"
      "[    2] server shows -3\n"
      "[    2] asks FIND_NO_EXPIRY\n"
      "[    3] server shows a stranger's\n"
      "[    3] BUSY\n"
      "[    3] over\n" },
    { "setnx_stamp_del_deletes_and_sets", &bwl_setnx_stamp_del, NULL,
      "[    0] caller acquires, once\n"
      "[    0] asks SETNX of 10\n"
      "[    1] server says no\n"
      "[    1] asks READ\n"
      "[    2] server shows 0\n"
      "[    2] asks FIND_NO_EXPIRY\n"
      "[    2] server says yes\n"
      "[    2] asks DELETE\n"
      "[    3] server says yes\n"
      "[    3] asks SETNX of 10\n"
      "[    4] server says yes\n"
      "[    4] HELD until 9898\n" },
    /* A waiter repairs, the holder's release is disturbed by such a repair, and begins again. */
    { "setnx_expire_watch_repairs_and_begins_a_release_again", &bwl_setnx_expire_watch, NULL,
      "[    0] caller acquires, for 20000\n"
      "[    0] asks SETNX\n"
      "[    1] server says no\n"
      "[    1] asks READ_EXPIRY\n"
      "[    2] server says no expiry\n"
      "[    2] asks READ\n"
      "[    3] server shows 0\n"
      "[    3] asks EXPIRE\n"
      "[    4] server says yes\n"
      "[  204] asks SETNX\n"
      "[  205] server says yes\n"
      "[  205] asks EXPIRE\n"
      "[  206] server says yes\n"
      "[  206] HELD until 10103\n"
      "[  300] caller releases\n"
      "[  300] asks WATCH_READ\n"
      "[  301] server shows 0 mine\n"
      "[  301] asks DELETE_WATCHED\n"
      "[  302] server says no\n"
      "[  307] asks WATCH_READ\n"
      "[  308] server shows 0 mine\n"
      "[  308] asks DELETE_WATCHED\n"
      "[  309] server says yes\n"
      "[  309] RELEASED\n"
      "[  309] over\n" },
    /* It knows its own value: what had no answer is asked for again. */
    { "setnx_expire_watch_settles", &bwl_setnx_expire_watch, NULL,
      "[    0] caller acquires, once\n"
      "[    0] asks SETNX\n"
      "[    5] link cuts\n"
      "[   10] asks READ\n"
      "[   12] server shows 0 mine\n"
      "[   12] asks EXPIRE\n"
      "[   13] server says yes\n"
      "[   13] HELD until 9910\n" },
    { "setnx_getset_by_the_servers_clock", &bwl_setnx_getset, &by_the_servers_clock,
      "[    0] caller acquires, once\n"
      "[    0] asks TAKE_STAMP\n"
      "[    2] server shows 11 mine\n"
      "[    2] HELD until 9898\n"
      "[  100] caller releases\n"
      "[  100] asks DROP_STAMP of 11\n"
      "[  101] server says yes\n"
      "[  101] RELEASED\n"
      "[  101] over\n" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
