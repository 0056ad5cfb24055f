/*
 * test_queue_hand_over.c -- a handoff from the holder to the next waiter: which commands each of
 * them sends, and when. The waiter confirms the grant a moment later, and its release is preceded
 * by a command without effect: see docs/design/hand-over-cost.md.
 *
 * The commands are compared as a text: J is JOIN or TAKE, C a confirmation, R is RELEASE, r a
 * RELEASE by EVAL, l the command in front of RELEASE.
 */
#include "engine/redis/wire/scripts.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { OUTPUT_MAX = 1 << 18, TRIES = 30 };

static server *redis;
static char    url[200];
static int     monitor;

/* ---- the commands ---------------------------------------------------------------------------- */

static char letter_of(const char *line)
{
    static const struct {
        const char   *command;
        bwl_script_id script;
        char          letter;
    } known[] = {
        { "\"EVALSHA\"", BWL_SCRIPT_QUEUE_JOIN, 'J' },
        { "\"EVALSHA\"", BWL_SCRIPT_QUEUE_TAKE, 'J' },
        { "\"EVALSHA\"", BWL_SCRIPT_EXTEND_IF_MINE, 'C' },
        { "\"EVALSHA\"", BWL_SCRIPT_QUEUE_RELEASE, 'R' },
    };

    if (strstr(line, " lua] ") != NULL || strstr(line, "bowline:{x}") == NULL)
        return '\0';
    if (strstr(line, "\"EXISTS\" \"bowline:{x}\"") != NULL)
        return 'l';
    if (strstr(line, "\"EVAL\"") != NULL)
        return 'r';
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strstr(line, known[i].command) != NULL &&
            strstr(line, bwl_scripts[known[i].script].sha1) != NULL)
            return known[i].letter;
    return strstr(line, "\"EVALSHA\"") != NULL ? '?' : '\0'; /* else a command of the test itself */
}

/* The commands since the last call. */
static const char *commands_sent(void)
{
    static char all[OUTPUT_MAX];
    static char letters[200];
    size_t      size  = 0;
    size_t      count = 0;

    (void)server_ask(redis, "ECHO end-of-commands");
    do {
        ssize_t got = read(monitor, all + size, sizeof all - 1 - size);
        assert_true(got > 0);
        size += (size_t)got;
        all[size] = '\0';
    } while (strstr(all, "\"end-of-commands\"\r\n") == NULL);
    for (char *line = strtok(all, "\r\n"); line != NULL; line = strtok(NULL, "\r\n")) {
        char letter = letter_of(line);
        if (letter != '\0' && count < sizeof letters - 1)
            letters[count++] = letter;
    }
    letters[count] = '\0';
    return letters;
}

/* Waits ten seconds at most. */
static bool is_confirmed(void)
{
    for (int i = 0; i < 1000; i++, sleep_ms(10))
        if (strtol(server_ask(redis, "PTTL bowline:{x}"), NULL, 10) > 2000)
            return true;
    return false;
}

/* Waits behind another client, which then releases. */
static bowline_hold *acquire_by_waiting(bowline_client *client, bowline_client *first)
{
    waiter w;

    bowline_hold *hold = must_acquire(first, "x");
    queue_await_join(redis, &w, client, "x", 1);
    must_release(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    return w.hold;
}

/* ---- confirmation ---------------------------------------------------------------------------- */

static void check_confirmation_without_a_call(bowline_client *second)
{
    bowline_client *first = must_open(url);
    bowline_hold   *hold  = acquire_by_waiting(second, first);

    assert_true(is_confirmed());
    assert_string_equal(commands_sent(), "JJRC");
    must_release(hold);
    assert_string_equal(commands_sent(), "lR");
    bowline_close(second);
    bowline_close(first);
    assert_true(queue_await_no_keys(redis));
}

static int delete_all_keys(void **state)
{
    (void)server_ask(redis, "FLUSHALL");
    (void)commands_sent();
    return 0;
}

FIXTURE(delete_all_keys, NULL)

TEST(grant_is_confirmed_by_the_renewal_thread)
{
    check_confirmation_without_a_call(must_open(url));
}

/* No thread would confirm it later. */
TEST(grant_is_confirmed_at_once_without_a_renewal_thread)
{
    check_confirmation_without_a_call(must_open_without_renewal_thread(url));
}

/* False: shows nothing, because the machine was so slow that a command was sent twice. */
static bool is_confirmed_at_once(bowline_client *second, bowline_client *first)
{
    waiter w;

    (void)commands_sent();
    bowline_hold *hold = must_acquire(first, "x");
    queue_await_join(redis, &w, second, "x", 1);
    must_release(hold);
    assert_true(waiter_ends(&w));
    if (waiter_join(&w) != BOWLINE_OK) {
        assert_true(came_too_late(w.status, &w.error));
        return false;
    }
    int         status = bowline_release(w.hold, NULL); /* the hold may have ended */
    const char *sent   = commands_sent();
    if (strncmp(sent, "JJ", 2) != 0 || strpbrk(sent + 2, "J?") != NULL)
        return false;
    assert_memory_equal(sent, "JJRC", 4);
    if (status == BOWLINE_OK)
        assert_string_not_equal(sent, "JJRCR");
    return status == BOWLINE_OK;
}

/* The confirmation needs 100 ms; the provisional grant is no longer than the lease here. */
TEST(short_grant_is_confirmed_at_once)
{
    unsigned at_once = 0;
    char     brief[240];

    (void)snprintf(brief, sizeof brief, "%s&lease=100ms&timeout=100ms", url);
    bowline_client *first  = must_open(url);
    bowline_client *second = must_open(brief);
    for (int i = 0; i < TRIES; i++)
        at_once += is_confirmed_at_once(second, first);
    assert_true(at_once > 0);
    bowline_close(second);
    bowline_close(first);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=queue", redis->tcp_url);
    monitor = server_say(redis, "MONITOR");
    return 0;
}

static int close_server(void **state)
{
    (void)close(monitor);
    server_stop(redis);
    return 0;
}

AROUND(open_server, close_server)
