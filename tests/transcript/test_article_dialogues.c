/*
 * test_article_dialogues.c -- the locks of the articles, request by request.
 *
 * transcript.h describes the stories. A lease of 10000 ms is valid for 9898 ms here. A row without
 * terms has the rules of its article.
 */
#include "transcript.h"
#include "protocol/articles.h"
#include "protocol/protocol.h"

#define BY(the_rules) \
    TERMS(.lease_ms = 10000, .options = &(const bwl_protocol_options){ .rules = the_rules })

/* A timestamp in seconds. */
#define RULES(...)                                                                                 \
    {                                                                                              \
        .value = BWL_VALUE_DECIMAL, .unit_ns = 1000000000, .expired = BWL_TIMESTAMP_NOT_AFTER_NOW, \
        __VA_ARGS__                                                                                \
    }

/* Rules that no article has: each differs from bwl_compat_rules_seconds in what its name says. */
static const bwl_compat_rules expired_or_missing =
    RULES(.reads = BWL_READS_ALWAYS, .gone = BWL_GONE_SWAP, .wins = BWL_WINS_IF_EXPIRED,
          .missing_wins = true, .release = BWL_RELEASE_IF_MINE, .clock = BWL_CLOCK_OF_CLIENT);
static const bwl_compat_rules same_not_missing =
    RULES(.reads = BWL_READS_ALWAYS, .gone = BWL_GONE_SWAP, .wins = BWL_WINS_IF_SAME,
          .release = BWL_RELEASE_BLIND, .clock = BWL_CLOCK_OF_CLIENT);
static const bwl_compat_rules timestamp_is_start =
    RULES(.timestamp_is_start = true, .reads = BWL_READS_ONCE, .gone = BWL_GONE_SWAP,
          .wins = BWL_WINS_IF_SAME, .missing_wins = true, .release = BWL_RELEASE_BLIND,
          .clock = BWL_CLOCK_OF_CLIENT);
static const bwl_compat_rules server_start =
    RULES(.timestamp_is_start = true, .clock = BWL_CLOCK_OF_SERVER);
static const bwl_compat_rules before_now = { .value   = BWL_VALUE_DECIMAL,
                                             .unit_ns = 1000000000,
                                             .expired = BWL_TIMESTAMP_BEFORE_NOW,
                                             .gone    = BWL_GONE_START_OVER };

static const bwl_terms mine             = BY(&expired_or_missing);
static const bwl_terms same             = BY(&same_not_missing);
static const bwl_terms beginning        = BY(&timestamp_is_start);
static const bwl_terms of_server        = BY(&bwl_compat_rules_server);
static const bwl_terms server_beginning = BY(&server_start);
static const bwl_terms jedis            = BY(&bwl_compat_rules_jedis);
static const bwl_terms foo              = BY(&bwl_compat_rules_lock_foo);
static const bwl_terms buffers          = BY(&bwl_compat_rules_buffers);
static const bwl_terms strict           = BY(&before_now);

/* The usual beginnings. */
#define SETNX_HELD     "acquires, once; SETNX of 0 -> yes; HELD until released; "
#define TRIES_AT_10    "acquires, once; SETNX of 10 -> "
#define READS_AT_10001 "acquires, once; SETNX of 10001 -> no; READ of 10001 -> "

static const story stories[] = {
    { "setnx_del_release_deletes_any_value", &bwl_setnx_del, NULL,
      SETNX_HELD "+99000 releases; DELETE -> yes; RELEASED; over" },
    { "setnx_del_release_of_a_missing_key_is_LOST", &bwl_setnx_del, NULL,
      SETNX_HELD "releases; DELETE -> no; LOST; over" },
    { "setnx_del_with_an_existing_key", &bwl_setnx_del, NULL,
      "acquires, once; SETNX of 0 -> no; BUSY; over" },
    { "setnx_del_acquire_without_a_reply", &bwl_setnx_del, NULL,
      "acquires, for 20000; SETNX of 0 -> cut; UNKNOWN; over" },
    { "setnx_del_release_without_a_reply", &bwl_setnx_del, NULL,
      SETNX_HELD "releases; DELETE -> cut; UNKNOWN; over" },
    /* The present value of the key was never ours. */
    { "after_a_delete_of_a_missing_key_the_lock_was_not_ours", &bwl_setnx_del_expire, NULL,
      SETNX_HELD "releases; DELETE -> no; EXPIRE_NOW -> yes; LOST; over" },
    { "setnx_del_expire_of_a_missing_key_twice", &bwl_setnx_del_expire, NULL,
      SETNX_HELD "releases; DELETE -> no; EXPIRE_NOW -> no; LOST; over" },
    { "after_a_delete_without_a_reply_only_YES_is_a_release", &bwl_setnx_del_expire, NULL,
      SETNX_HELD "releases; DELETE -> cut; EXPIRE_NOW -> yes; RELEASED; over" },
    { "setnx_del_expire_without_a_reply_then_a_missing_key", &bwl_setnx_del_expire, NULL,
      SETNX_HELD "releases; DELETE -> cut; EXPIRE_NOW -> no; UNKNOWN; over" },
    { "setnx_del_expire_release_not_now", &bwl_setnx_del_expire, NULL,
      SETNX_HELD "releases; DELETE -> retry; +5 DELETE -> refused; STORE_REFUSED; over" },
    { "set_nx_ex_overran", &bwl_set_nx_ex, NULL,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 9898; +9895 LOST; over" },
    { "set_nx_ex_release", &bwl_set_nx_ex, NULL,
      "acquires, for 100; SET_IF_ABSENT as A -> no; +5 SET_IF_ABSENT as B -> yes; HELD until 9903; "
      "releases; DELETE -> yes; RELEASED; over" },
    { "stamp_del_set", &bwl_setnx_stamp_del, NULL,
      "acquires, once; SETNX of 10 -> +3 yes; HELD until 9898; +9895 LOST; over" },
    { "setnx_stamp_del_deletes_and_sets", &bwl_setnx_stamp_del, NULL,
      "acquires, once; SETNX of 10 -> no; READ -> shows 0; FIND_NO_EXPIRY -> yes; DELETE -> yes; "
      "SETNX of 10 -> yes; HELD until 9898" },
    { "stamp_del_is_ahead", &bwl_setnx_stamp_del, NULL,
      "acquires, once; SETNX of 10 -> no; READ -> shows 1; BUSY; over" },
    { "stamp_del_expires_now_by_before_now", &bwl_setnx_stamp_del, &strict,
      "acquires, once; SETNX of 10 -> no; READ -> shows 0; BUSY; over" },
    { "stamp_del_expires_before_now", &bwl_setnx_stamp_del, &strict,
      "acquires, once; SETNX of 10 -> no; READ -> shows -1; FIND_NO_EXPIRY -> yes; DELETE -> yes; "
      "SETNX of 10 -> yes; HELD until 9898" },
    { "stamp_del_gone_starts_over", &bwl_setnx_stamp_del, &strict,
      "acquires, once; SETNX of 10 -> no; READ -> no; BUSY; over" },
    { "foreign_value_is_not_changed", &bwl_setnx_stamp_del, NULL,
      "acquires, once; SETNX of 10 -> no; READ -> shows foreign; BUSY; over" },
    { "key_with_an_expiry_is_not_deleted", &bwl_setnx_stamp_del, NULL,
      TRIES_AT_10 "no; READ -> shows -3; FIND_NO_EXPIRY -> shows foreign; BUSY; over" },
    { "stamp_del_deletes_nothing", &bwl_setnx_stamp_del, NULL,
      TRIES_AT_10 "no; READ -> shows -3; FIND_NO_EXPIRY -> yes; DELETE -> no; BUSY; over" },
    { "stamp_del_second_set_comes_late", &bwl_setnx_stamp_del, NULL,
      "acquires, once; SETNX of 10 -> no; READ -> shows -3; FIND_NO_EXPIRY -> yes; DELETE -> yes; "
      "SETNX of 10 -> no; BUSY; over" },
    { "stamp_del_second_stamp_is_of_its_own_time", &bwl_setnx_stamp_del, NULL,
      "acquires, once; SETNX of 10 -> +2500 no; READ -> shows -3; FIND_NO_EXPIRY -> yes; DELETE -> "
      "yes; SETNX of 12 -> yes; HELD until 11898; releases; DELETE -> yes; RELEASED; over" },
    { "stamp_del_not_now", &bwl_setnx_stamp_del, NULL,
      "acquires, once; SETNX of 10 -> no; READ -> retry; NOT_NOW; over" },
    { "stamp_del_without_a_reply", &bwl_setnx_stamp_del, NULL,
      "acquires, once; SETNX of 10 -> no; READ -> shows -3; FIND_NO_EXPIRY -> cut; UNKNOWN; over" },
    { "watch_lease_counts_from_the_expire", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> +5 yes; EXPIRE -> +2 yes; HELD until 9903" },
    { "watch_key_is_missing_at_expire", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> yes; EXPIRE -> no; BUSY; over" },
    { "watch_expire_NOT_NOW_is_resolved", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> yes; EXPIRE -> retry; +5 READ -> shows 0 mine; EXPIRE -> yes; HELD "
      "until 9903" },
    { "watch_expire_REFUSED_is_resolved", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> yes; EXPIRE -> refused; +5 READ -> shows 0 mine; EXPIRE -> cut; "
      "+10 READ -> shows 0 mine; EXPIRE -> unsent" },
    { "watch_waiter_repairs", &bwl_setnx_expire_watch, NULL,
      "acquires, for 20000; SETNX -> no; READ_EXPIRY -> no expiry; READ -> shows 0; EXPIRE -> yes; "
      "+200 SETNX -> yes; EXPIRE" },
    { "watch_waiter_finds_an_expiry", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> no; READ_EXPIRY -> yes 10; BUSY; over" },
    { "watch_waiter_finds_no_key", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> no; READ_EXPIRY -> no; BUSY; over" },
    { "waiter_does_not_repair_a_foreign_key", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> no; READ_EXPIRY -> no expiry; READ -> shows foreign; BUSY; over" },
    { "watch_waiter_finds_the_key_deleted", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> no; READ_EXPIRY -> no expiry; READ -> no; BUSY; over" },
    { "watch_resolves_to_a_missing_key_and_sets_again", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> cut; +5 READ -> no; SETNX -> yes; EXPIRE -> yes; HELD until 9903" },
    { "watch_resolves_to_another_token", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> cut; +5 READ -> shows 0; BUSY; over" },
    { "watch_resolves_to_a_foreign_value", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> cut; +5 READ -> shows foreign; BUSY; over" },
    { "watch_release", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> yes; EXPIRE -> yes; HELD until 9898; releases; WATCH_READ -> shows "
      "0 mine; DELETE_WATCHED -> yes; RELEASED; over" },
    { "watch_release_begins_again_when_the_key_was_touched", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> yes; EXPIRE -> yes; HELD until 9898; releases; WATCH_READ -> shows "
      "0 mine; DELETE_WATCHED -> no; +5 WATCH_READ -> shows 0 mine; DELETE_WATCHED -> yes; "
      "RELEASED; over" },
    { "watch_release_of_another_unwatches", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> yes; EXPIRE -> yes; HELD until 9898; releases; WATCH_READ -> shows "
      "0; UNWATCH -> yes; LOST; over" },
    { "watch_release_of_a_missing_key_unwatches", &bwl_setnx_expire_watch, NULL,
      "acquires, once; SETNX -> yes; EXPIRE -> yes; HELD until 9898; releases; WATCH_READ -> no; "
      "UNWATCH -> cut; LOST; over" },
    { "getset_set", &bwl_setnx_getset, NULL,
      "+300 acquires, once; SETNX of 10 -> +3 yes; HELD until 9898; releases; DELETE -> yes; "
      "RELEASED; over" },
    { "getset_expires_now", &bwl_setnx_getset, NULL,
      "acquires, once; SETNX of 10 -> no; READ of 10 -> shows 0; FIND_NO_EXPIRY -> yes; SWAP of 10 "
      "-> shows 0; HELD until 9898" },
    { "getset_expires_before_now", &bwl_setnx_getset, &jedis,
      "acquires, once; SETNX of 10001 -> no; READ of 10001 -> shows -1; FIND_NO_EXPIRY -> yes; "
      "SWAP of 10001 -> shows -1; HELD until 9899" },
    { "getset_expires_now_by_before_now", &bwl_setnx_getset, &jedis,
      "acquires, once; SETNX of 10001 -> no; READ of 10001 -> shows 0; BUSY; over" },
    { "getset_other_bytes_are_too_late", &bwl_setnx_getset, NULL,
      "acquires, once; SETNX of 10 -> no; READ of 10 -> shows -3; FIND_NO_EXPIRY -> yes; SWAP of "
      "10 -> shows -3 in other bytes; BUSY; over" },
    { "getset_ahead_does_not_win", &bwl_setnx_getset, &foo,
      READS_AT_10001 "shows -3; FIND_NO_EXPIRY -> yes; SWAP of 10001 -> shows 9; BUSY; over" },
    { "getset_gone_starts_over", &bwl_setnx_getset, &jedis,
      "acquires, once; SETNX of 10001 -> no; READ of 10001 -> no; BUSY; over" },
    { "getset_missing_is_the_same_as_missing", &bwl_setnx_getset, NULL,
      "acquires, once; SETNX of 10 -> no; READ of 10 -> no; SWAP of 10 -> no; HELD until 9898" },
    { "getset_missing_is_not_something", &bwl_setnx_getset, NULL,
      "acquires, once; SETNX of 10 -> no; READ of 10 -> shows -3; FIND_NO_EXPIRY -> yes; SWAP of "
      "10 -> no; BUSY; over" },
    { "getset_missing_does_not_win_by_rule", &bwl_setnx_getset, &same,
      "acquires, once; SETNX of 10 -> no; READ of 10 -> no; SWAP of 10 -> no; BUSY; over" },
    { "foreign_value_never_wins", &bwl_setnx_getset, NULL,
      "acquires, once; SETNX of 10 -> no; READ of 10 -> shows -3; FIND_NO_EXPIRY -> yes; SWAP of "
      "10 -> shows foreign; BUSY; over" },
    { "getset_foreign_value_has_not_expired", &bwl_setnx_getset, &mine,
      TRIES_AT_10 "no; READ of 10 -> no; SWAP of 10 -> shows foreign; BUSY; over" },
    { "setnx_getset_does_not_change_a_foreign_value", &bwl_setnx_getset, NULL,
      "acquires, once; SETNX of 10 -> no; READ of 10 -> shows foreign; BUSY; over" },
    { "setnx_getset_does_not_change_a_key_with_an_expiry", &bwl_setnx_getset, NULL,
      TRIES_AT_10 "no; READ of 10 -> shows -3; FIND_NO_EXPIRY -> shows foreign; BUSY; over" },
    { "key_with_an_expiry_is_not_taken", &bwl_setnx_getset, &jedis,
      READS_AT_10001 "shows -3; FIND_NO_EXPIRY -> shows foreign; BUSY; over" },
    { "getset_time_is_read_always", &bwl_setnx_getset, NULL,
      "acquires, once; SETNX of 10 -> no; READ of 10 -> +3000 shows 3; FIND_NO_EXPIRY -> yes; SWAP "
      "of 13 -> +500 shows 3; HELD until 12898" },
    { "getset_time_of_the_stamp_is_read_once", &bwl_setnx_getset, &jedis,
      "acquires, once; SETNX of 10001 -> no; READ of 10001 -> +3000 shows 3; FIND_NO_EXPIRY -> "
      "yes; SWAP of 10001 -> shows 3; HELD until 9899" },
    { "getset_time_is_read_once_for_the_swap_too", &bwl_setnx_getset, &buffers,
      "acquires, once; SETNX of 10001 -> no; READ of 10001 -> +3000 shows -1; FIND_NO_EXPIRY -> "
      "yes; SWAP of 10001 -> shows 3; BUSY; over" },
    { "getset_value_of_an_earlier_try_is_not_used", &bwl_setnx_getset, NULL,
      "acquires, for 9000; SETNX of 10 -> no; READ of 10 -> shows -3; FIND_NO_EXPIRY -> yes; SWAP "
      "of 10 -> shows -4; +5 SETNX of 10 -> no; READ of 10 -> no; SWAP of 10 -> shows -3" },
    { "getset_start_is_not_over", &bwl_setnx_getset, &beginning,
      "+300 acquires, once; SETNX of 0 -> no; READ of 0 -> shows -9; BUSY; over" },
    { "getset_start_is_over", &bwl_setnx_getset, &beginning,
      "+300 acquires, once; SETNX of 0 -> no; READ of 0 -> shows -10; FIND_NO_EXPIRY -> yes; SWAP "
      "of 0 -> shows -10; HELD until 9898" },
    { "getset_release_of_a_timestamp_ahead", &bwl_setnx_getset, &buffers,
      "acquires, once; SETNX of 10001 -> yes; HELD until 9899; +5 releases; READ of 10001 -> shows "
      "10001 mine; DELETE -> yes; RELEASED; over" },
    { "getset_release_is_too_close_to_the_end", &bwl_setnx_getset, &buffers,
      "acquires, once; SETNX of 10001 -> yes; HELD until 9899; +5 releases; READ of 10001 -> shows "
      "8 mine; RELEASED; over" },
    { "release_deletes_a_successor_with_a_timestamp_ahead", &bwl_setnx_getset, &buffers,
      "acquires, once; SETNX of 10001 -> yes; HELD until 9899; +5 releases; READ of 10001 -> shows "
      "20000; DELETE -> yes; LOST; over" },
    { "getset_release_of_a_foreign_value", &bwl_setnx_getset, &buffers,
      "acquires, once; SETNX of 10001 -> yes; HELD until 9899; +5 releases; READ of 10001 -> shows "
      "foreign; LOST; over" },
    { "getset_release_of_another", &bwl_setnx_getset, &mine,
      TRIES_AT_10 "yes; HELD until 9898; releases; READ of 10 -> shows 10; LOST; over" },
    { "getset_release_compares_with_the_last_written_value", &bwl_setnx_getset, &mine,
      "acquires, once; SETNX of 10 -> +2000 no; READ of 10 -> shows -3; FIND_NO_EXPIRY -> yes; "
      "SWAP of 12 -> shows -3; HELD until 11898; releases; READ of 12 -> shows 12 mine; DELETE -> "
      "yes; RELEASED; over" },
    { "getset_server_takes_in_one_step", &bwl_setnx_getset, &of_server,
      "acquires, once; TAKE_TIMESTAMP -> +2 yes 1700000011; HELD until 9898; +98 releases; "
      "DROP_TIMESTAMP of 11 -> yes; RELEASED; over" },
    { "getset_server_does_not_change_a_foreign_value", &bwl_setnx_getset, &of_server,
      "acquires, once; TAKE_TIMESTAMP -> shows foreign; BUSY; over" },
    { "getset_server_drops_nothing", &bwl_setnx_getset, &of_server,
      "acquires, once; TAKE_TIMESTAMP -> yes 1700000011; HELD until 9898; releases; DROP_TIMESTAMP "
      "of 11 -> no; LOST; over" },
    { "getset_server_rounds_down_a_start", &bwl_setnx_getset, &server_beginning,
      "acquires, once; TAKE_TIMESTAMP -> yes 1700000000; HELD until 8897" },
};

ROWS(stories, play_row)
