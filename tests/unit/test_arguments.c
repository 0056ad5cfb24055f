/*
 * test_arguments.c -- the argument checks of every public function: a table with a row for each
 * argument and the word that the error text contains; and options of every size.
 *
 * The test has one client on thread:, with a held lock and an acquire that waits for it.
 */
#include "tests/lib/suite.h"

#include <bowline/election.h>
#include <bowline/update.h>

#include <stdlib.h>

static bowline_client    *client;
static bowline_hold      *hold;
static bowline_operation *waiting; /* an acquire */
static bowline_operation *looking; /* a who */
static bowline_error      error;

static int begin(void **state)
{
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire_start(&waiting, client, "n",
                                           BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
                     BOWLINE_OK);
    assert_int_equal(bowline_who_start(&looking, client, "n", &error), BOWLINE_OK);
    return 0;
}

static int end(void **state)
{
    bowline_close(client);
    return 0;
}

/* ---- every argument -------------------------------------------------------------------------- */

/* A refused call must not write here. */
static bowline_client    *no_client;
static bowline_hold      *none;
static bowline_operation *no_op;
static bowline_holder     holder = { .size = sizeof(bowline_holder) };
static bowline_holder     small  = { .size = sizeof(bowline_holder) - 1 };
static bowline_event      event  = { .size = sizeof(bowline_event) };
static bowline_event      large  = { .size = sizeof(bowline_event) + 1 };
static bowline_event      short_ = { .size = sizeof(bowline_event) - 1 };
static bowline_leader     leader = BOWLINE_LEADER_INIT;
static bowline_leader     tiny   = { .size = sizeof(bowline_leader) - 1 };
static bowline_list      *no_list;
static int64_t            ms                       = 4711;
static char               text[BOWLINE_TICKET_MAX] = "as before";

#define NO_NAME  "bowline-ticket 1 queue 0123456789abcdef 7 b1:v "
#define A_TICKET NO_NAME "a job"

static int compute(bowline_change *change, void *context)
{
    return BOWLINE_UPDATE_LEAVE;
}

static char long_name[BOWLINE_NAME_MAX + 2];
static char long_key[BOWLINE_KEY_MAX + 2];

/* X(call, status, word of the text) */
#define BAD_CALLS(X)                                                                               \
    X(bowline_open(NULL, NULL, e), USAGE, "place")                                                 \
    X(bowline_open(&no_client, OPEN(.lease_ms = 99), e), USAGE, "lease_ms")                        \
    X(bowline_open(&no_client, OPEN(.lease_ms = 86400001), e), USAGE, "lease_ms")                  \
    X(bowline_open(&no_client, OPEN(.max_hold_ms = -1), e), USAGE, "max_hold_ms")                  \
    X(bowline_open(&no_client, OPEN(.flags = BOWLINE_NO_STICKY << 1), e), USAGE, "flags")          \
    X(bowline_open(&no_client, OPEN(.flags = 1u << 31), e), USAGE, "flags")                        \
    X(bowline_open(&no_client, OPEN(.reply_ms = 9), e), USAGE, "reply_ms")                         \
    X(bowline_open(&no_client, OPEN(.reply_ms = 30001), e), USAGE, "reply_ms")                     \
    X(bowline_open(&no_client, OPEN(.lease_ms = 1000, .reply_ms = 1001), e), USAGE, "reply_ms")    \
    X(bowline_open(&no_client, &(bowline_options){ .size = SIZE_MAX }, e), USAGE,                  \
      "BOWLINE_OPTIONS")                                                                           \
    X(bowline_open(&no_client, &(bowline_options){ 0 }, e), USAGE, "BOWLINE_OPTIONS")              \
    X(bowline_open(&no_client, BOWLINE_OPTIONS(.url = "nonsense"), e), USAGE, "not a URL")         \
    X(bowline_open(&no_client, BOWLINE_OPTIONS(.url = "etcd://h"), e), UNSUPPORTED, "etcd")        \
    X(bowline_ping(NULL, 0, e), USAGE, "client")                                                   \
    X(bowline_ping(client, -3, e), USAGE, "wait_ms")                                               \
    X(bowline_acquire(NULL, client, "x", NULL, e), USAGE, "place for the hold")                    \
    X(bowline_acquire(&none, NULL, "x", NULL, e), USAGE, "client")                                 \
    X(bowline_acquire(&none, client, NULL, NULL, e), USAGE, "name")                                \
    X(bowline_acquire(&none, client, "", NULL, e), USAGE, "at least one")                          \
    X(bowline_acquire(&none, client, "a\tb", NULL, e), USAGE, "control")                           \
    X(bowline_acquire(&none, client, long_name, NULL, e), USAGE, "200")                            \
    X(bowline_acquire(&none, client, "x", TAKE(.wait_ms = -3), e), USAGE, "wait_ms")               \
    X(bowline_acquire(&none, client, "x", TAKE(.wait_ms = 1LL << 31), e), USAGE, "wait_ms")        \
    X(bowline_acquire(&none, client, "x", TAKE(.lease_ms = 99), e), USAGE, "lease_ms")             \
    X(bowline_acquire(&none, client, "x", TAKE(.lease_ms = 86400001), e), USAGE, "lease_ms")       \
    X(bowline_acquire(&none, client, "x", TAKE(.max_hold_ms = -1), e), USAGE, "max_hold_ms")       \
    X(bowline_acquire(&none, client, "x", TAKE(.mode = 3), e), USAGE, "no mode")                   \
    X(bowline_acquire_start(NULL, client, "x", NULL, e), USAGE, "operation")                       \
    X(bowline_acquire_start(&no_op, NULL, "x", NULL, e), USAGE, "client")                          \
    X(bowline_acquire_start(&no_op, client, NULL, NULL, e), USAGE, "name")                         \
    X(bowline_acquire_start(&no_op, client, "", NULL, e), USAGE, "at least one")                   \
    X(bowline_extend(NULL, 0, e), USAGE, "hold")                                                   \
    X(bowline_extend(hold, 99, e), USAGE, "lease_ms")                                              \
    X(bowline_extend(hold, 86400001, e), USAGE, "lease_ms")                                        \
    X(bowline_extend_start(NULL, hold, 0, e), USAGE, "operation")                                  \
    X(bowline_extend_start(&no_op, NULL, 0, e), USAGE, "hold")                                     \
    X(bowline_extend_start(&no_op, hold, 99, e), USAGE, "lease_ms")                                \
    X(bowline_release_start(NULL, hold, e), USAGE, "operation")                                    \
    X(bowline_release_start(&no_op, NULL, e), USAGE, "hold")                                       \
    X(bowline_flush_releases(NULL, 0, e), USAGE, "client")                                         \
    X(bowline_flush_releases(client, -3, e), USAGE, "wait_ms")                                     \
    X(bowline_yield(NULL, BOWLINE_DEFAULT, e), USAGE, "hold")                                      \
    X(bowline_yield(hold, 0, e), USAGE, "release it")                                              \
    X(bowline_yield(hold, -3, e), USAGE, "wait_ms")                                                \
    X(bowline_yield(hold, 1LL << 31, e), USAGE, "wait_ms")                                         \
    X(bowline_yield_start(NULL, hold, BOWLINE_DEFAULT, e), USAGE, "place")                         \
    X(bowline_yield_start(&no_op, NULL, BOWLINE_DEFAULT, e), USAGE, "place")                       \
    X(bowline_hold_check(NULL, e), USAGE, "hold")                                                  \
    X(bowline_hold_lost_fd(NULL, e), USAGE, "hold")                                                \
    X(bowline_who(NULL, "x", &holder, e), USAGE, "client")                                         \
    X(bowline_who(client, NULL, &holder, e), USAGE, "name")                                        \
    X(bowline_who(client, "", &holder, e), USAGE, "at least one")                                  \
    X(bowline_who(client, "x", NULL, e), USAGE, "place")                                           \
    X(bowline_who(client, "x", &small, e), USAGE, "sizeof(bowline_holder)")                        \
    X(bowline_who_start(NULL, client, "x", e), USAGE, "place")                                     \
    X(bowline_who_start(&no_op, NULL, "x", e), USAGE, "client")                                    \
    X(bowline_who_start(&no_op, client, NULL, e), USAGE, "name")                                   \
    X(bowline_who_start(&no_op, client, "", e), USAGE, "at least one")                             \
    X(bowline_holders(client, "free", NULL, 0, e), OK, "")                                         \
    X(bowline_holders_finish(&holder, 1, looking, e), USAGE, "bowline_holders_start has started")  \
    X(bowline_who_finish(NULL, looking, e), USAGE, "place")                                        \
    X(bowline_who_finish(&small, looking, e), USAGE, "sizeof(bowline_holder)")                     \
    X(bowline_who_finish(&holder, NULL, e), USAGE, "who")                                          \
    X(bowline_who_finish(&holder, waiting, e), USAGE, "takes a place for the holder, and a who")   \
    X(bowline_announce(NULL, "a", e), USAGE, "hold")                                               \
    X(bowline_announce(hold, "a\n", e), USAGE, "control")                                          \
    X(bowline_announce(hold, "a", e), UNSUPPORTED, "known in its process")                         \
    X(bowline_announce_start(NULL, hold, "a", e), USAGE, "operation")                              \
    X(bowline_announce_start(&no_op, NULL, "a", e), USAGE, "hold")                                 \
    X(bowline_announce_start(&no_op, hold, "a", e), UNSUPPORTED, "known in its process")           \
    X(bowline_observe(NULL, client, "x", 0, e), USAGE, "leader")                                   \
    X(bowline_observe(&leader, NULL, "x", 0, e), USAGE, "client")                                  \
    X(bowline_observe(&leader, client, NULL, 0, e), USAGE, "name")                                 \
    X(bowline_observe(&tiny, client, "x", 0, e), USAGE, "sizeof(bowline_leader)")                  \
    X(bowline_observe(&leader, client, "x", -3, e), USAGE, "wait_ms")                              \
    X(bowline_observe(&leader, client, "x", 0, e), UNSUPPORTED, "known in its process")            \
    X(bowline_observe_start(NULL, client, "x", &leader, 0, e), USAGE, "operation")                 \
    X(bowline_observe_start(&no_op, client, "x", NULL, 0, e), USAGE, "leader")                     \
    X(bowline_observe_start(&no_op, client, "x", &leader, 0, e), UNSUPPORTED, "known in its")      \
    X(bowline_observe_finish(NULL, looking, e), USAGE, "leader")                                   \
    X(bowline_observe_finish(&leader, NULL, e), USAGE, "bowline_observe_start")                    \
    X(bowline_observe_finish(&leader, looking, e), USAGE, "bowline_observe_start")                 \
    X(bowline_acquire_finish(NULL, waiting, e), USAGE, "place for the hold")                       \
    X(bowline_acquire_finish(&none, looking, e), USAGE, "takes an acquire")                        \
    X(bowline_finish(waiting, e), USAGE, "bowline_acquire_finish")                                 \
    X(bowline_finish(looking, e), USAGE, "bowline_who_finish")                                     \
    X(bowline_operation_wait(waiting, -3, e), USAGE, "wait_ms")                                    \
    X(bowline_dispatch(client, -3, e), USAGE, "wait_ms")                                           \
    X(bowline_dispatch(client, INT64_MIN, e), USAGE, "wait_ms")                                    \
    X(bowline_wakeup_fd(NULL, e), USAGE, "client")                                                 \
    X(bowline_next_event(NULL, &event, e), USAGE, "client")                                        \
    X(bowline_next_event(client, NULL, e), USAGE, "place")                                         \
    X(bowline_next_event(client, &large, e), USAGE, "sizeof(bowline_event)")                       \
    X(bowline_next_event(client, &short_, e), USAGE, "sizeof(bowline_event)")                      \
    X(bowline_break(NULL, "n", 7, e), USAGE, "client")                                             \
    X(bowline_break(client, NULL, 7, e), USAGE, "name")                                            \
    X(bowline_break(client, "n", 0, e), USAGE, "not 0")                                            \
    X(bowline_break(client, "n", 7, e), UNSUPPORTED, "thread: ends with its process")              \
    X(bowline_broken_by(client, "n", 0, (char[BOWLINE_BREAKER_MAX]){ 0 }, e), USAGE, "not 0")      \
    X(bowline_broken_by(client, "n", 7, NULL, e), USAGE, "place")                                  \
    X(bowline_update(NULL, "k", compute, NULL, NULL, e), USAGE, "client")                          \
    X(bowline_update(client, NULL, compute, NULL, NULL, e), USAGE, "key")                          \
    X(bowline_update(client, "k", NULL, NULL, NULL, e), USAGE, "function")                         \
    X(bowline_update(client, "", compute, NULL, NULL, e), USAGE, "1 to 1024 bytes")                \
    X(bowline_update(client, long_key, compute, NULL, NULL, e), USAGE, "1 to 1024 bytes")          \
    X(bowline_update(client, "k", compute, NULL, CHANGE(.wait_ms = -3), e), USAGE, "wait_ms")      \
    X(bowline_update(client, "k", compute, NULL, CHANGE(.wait_ms = 1LL << 31), e), USAGE,          \
      "wait_ms")                                                                                   \
    X(bowline_update(client, "k", compute, NULL, CHANGE(.reserved = 1), e), USAGE, "reserved")     \
    X(bowline_update(client, "k", compute, NULL, NULL, e), UNSUPPORTED, "thread:")                 \
    X(bowline_acquire(&none, client, "x", TAKE(.once_ms = -1), e), USAGE, "once_ms")               \
    X(bowline_acquire(&none, client, "x", TAKE(.once_ms = 1, .at_least_ms = 1), e), USAGE,         \
      "exclude")                                                                                   \
    X(bowline_acquire(&none, client, "x", TAKE(.at_least_ms = 1), e), UNSUPPORTED, "process")      \
    X(bowline_hold_drop_rest(NULL, e), USAGE, "hold")                                              \
    X(bowline_hold_export(NULL, text, e), USAGE, "hold")                                           \
    X(bowline_hold_export(hold, NULL, e), USAGE, "ticket")                                         \
    X(bowline_hold_export(hold, text, e), UNSUPPORTED, "process")                                  \
    X(bowline_hold_import(NULL, client, A_TICKET, NULL, e), USAGE, "place")                        \
    X(bowline_hold_import(&none, NULL, A_TICKET, NULL, e), USAGE, "client")                        \
    X(bowline_hold_import(&none, client, NULL, NULL, e), USAGE, "ticket")                          \
    X(bowline_hold_import(&none, client, A_TICKET, TAKE(.once_ms = 1), e), UNSUPPORTED, "process") \
    X(bowline_hold_import(&none, client, A_TICKET, NULL, e), UNSUPPORTED, "process")               \
    X(bowline_ticket_name(NULL, A_TICKET, e), USAGE, "place")                                      \
    X(bowline_ticket_name(text, NULL, e), USAGE, "ticket")                                         \
    X(bowline_ticket_name(text, "job", e), USAGE, "not a ticket")                                  \
    X(bowline_ticket_name(text, "bowline-ticket 2 x", e), UNSUPPORTED, "version")                  \
    X(bowline_ticket_name(text, NO_NAME, e), USAGE, "damaged")                                     \
    X(bowline_ticket_name(text, NO_NAME "a\tb", e), USAGE, "damaged")                              \
    X(bowline_list_start(NULL, client, NULL, e), USAGE, "place")                                   \
    X(bowline_list_start(&no_list, NULL, NULL, e), USAGE, "client")                                \
    X(bowline_list_start(&no_list, client, "[a", e), USAGE, "[")                                   \
    X(bowline_list_next(NULL, no_list, e), USAGE, "place")                                         \
    X(bowline_list_next(&holder, NULL, e), USAGE, "list")                                          \
    X(bowline_hold_set_command(hold, -1, e), USAGE, "pid")                                         \
    X(bowline_duration_parse(NULL, "1s", e), USAGE, "place")                                       \
    X(bowline_duration_parse(&ms, NULL, e), USAGE, "text")                                         \
    X(bowline_duration_parse(&ms, "", e), USAGE, "not a duration")                                 \
    X(bowline_duration_parse(&ms, "90", e), USAGE, "\"90\" is not a duration")

#define OPEN(...)   BOWLINE_OPTIONS(.url = "thread:", __VA_ARGS__)
#define TAKE(...)   BOWLINE_ACQUIRE(__VA_ARGS__)
#define CHANGE(...) BOWLINE_UPDATE(__VA_ARGS__)

static void assert_refused(const char *call, int status, int wanted, const char *word)
{
    if (status != wanted || error.status != wanted || strstr(error.text, word) == NULL)
        fail_msg("%s: %s, \"%s\" and not %s, \"%s\"", call, bowline_status_name(status), error.text,
                 bowline_status_name(wanted), word);
}

FIXTURE(begin, end)

TEST(arguments_are_checked_and_named)
{
    bowline_error *e = &error;

    memset(long_name, 'n', sizeof long_name - 1);
    memset(long_key, 'k', sizeof long_key - 1);
#define X(call, status, word)     \
    error = (bowline_error){ 0 }; \
    assert_refused(#call, call, BOWLINE_##status, word);
    BAD_CALLS(X)
#undef X
    assert_true(no_client == NULL && none == NULL && no_op == NULL && ms == 4711);
    assert_true(holder.held == 0 && event.kind == 0 && no_list == NULL);
    assert_string_equal(text, "as before");
    assert_int_equal(bowline_ticket_name(text, A_TICKET, e), BOWLINE_OK);
    assert_string_equal(text, "a job"); /* the rest of the ticket, with its blanks */
}

TEST(arguments_are_checked_without_an_error_struct)
{
    bowline_error *e = NULL;

#define X(call, status, word) assert_int_equal(call, BOWLINE_##status);
    BAD_CALLS(X)
#undef X
}

TEST(arguments_at_their_limits_are_accepted)
{
    bowline_client *other = NULL;

    assert_int_equal(bowline_open(&other, OPEN(.lease_ms = 100), &error), BOWLINE_OK);
    bowline_close(other);
    assert_int_equal(bowline_open(&other, OPEN(.lease_ms = 86400000), &error), BOWLINE_OK);
    bowline_close(other);
    bowline_close(NULL);
    assert_int_equal(
        bowline_acquire(&none, client, "x",
                        TAKE(.wait_ms = 2147483647, .lease_ms = 86400000, .max_hold_ms = INT64_MAX),
                        &error),
        BOWLINE_OK);
    assert_int_equal(bowline_release(none, &error), BOWLINE_OK);
    none = NULL;
    assert_int_equal(bowline_release(NULL, &error), BOWLINE_OK);
    assert_int_equal(bowline_release_nowait(NULL, &error), BOWLINE_OK);
    assert_int_equal(bowline_duration_parse(&ms, "1m30s", &error), BOWLINE_OK);
    assert_int_equal(ms, 90000);
}

TEST(wait_without_an_option_is_that_of_the_url)
{
    bowline_acquire_options init = BOWLINE_ACQUIRE_INIT;
    bowline_client         *other;

    assert_int_equal(bowline_open(&other, BOWLINE_OPTIONS(.url = "thread:?wait=1ms"), &error),
                     BOWLINE_OK);
    assert_int_equal(bowline_acquire(&none, other, "n", NULL, &error), BOWLINE_TIMEOUT);
    assert_int_equal(bowline_acquire(&none, other, "n", TAKE(), &error), BOWLINE_TIMEOUT);
    assert_int_equal(bowline_acquire(&none, other, "n", TAKE(.lease_ms = 500), &error),
                     BOWLINE_TIMEOUT);
    assert_int_equal(bowline_acquire(&none, other, "n", &init, &error), BOWLINE_TIMEOUT);
    assert_int_equal(bowline_acquire(&none, other, "n", TAKE(.wait_ms = 0), &error), BOWLINE_BUSY);
    assert_int_equal(bowline_acquire(&none, client, "n", NULL, &error), BOWLINE_BUSY);
    bowline_close(other);
}

/* ---- options of another size ----------------------------------------------------------------- */

/* The size field says which version of the struct the caller was compiled with.  The test tries
 * each size from zero to more than ours, in memory of that size, with the last byte set or not. */
TEST(options_of_every_size_are_read)
{
    enum { OURS = sizeof(bowline_acquire_options), MAX = OURS + 8 };

    for (size_t size = 0; size <= MAX; size++)
        for (int last = 0; last < 2; last++) {
            unsigned char *theirs = calloc(1, size < sizeof size ? sizeof size : size);
            assert_non_null(theirs);
            memcpy(theirs, &size, sizeof size);
            if (last && size > OURS)
                theirs[size - 1] = 1;
            int status = bowline_acquire(&none, client, "x", (const void *)theirs, &error);
            if (size < sizeof size)
                assert_int_equal(status, BOWLINE_USAGE);
            else if (last && size > OURS)
                assert_int_equal(status, BOWLINE_UNSUPPORTED);
            else
                assert_int_equal(status, BOWLINE_OK);
            if (status == BOWLINE_OK)
                assert_int_equal(bowline_release(none, &error), BOWLINE_OK);
            none = NULL;
            free(theirs);
        }
    for (size_t size = 4097; size != 0; size = size == 4097 ? SIZE_MAX : 0)
        assert_int_equal(
            bowline_acquire(&none, client, "x", &(bowline_acquire_options){ .size = size }, &error),
            BOWLINE_USAGE);
}
