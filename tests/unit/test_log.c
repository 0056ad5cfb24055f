/*
 * test_log.c -- messages keep their order, and the function of the caller gets each of them once,
 * where it may be called.
 */
#include "base/log.h"
#include "tests/lib/suite.h"

#include <pthread.h>
#include <stdio.h>

static bwl_log *the_log;
static char     seen[8192];
static unsigned calls;
static void (*inside)(void); /* what the function does with its first message */

static void write_down(int level, const char *text, void *data)
{
    size_t size = strlen(seen);

    calls++;
    assert_ptr_equal(data, seen);
    assert_true(size < sizeof seen);
    (void)snprintf(seen + size, sizeof seen - size, "%d %s|", level, text);
    if (inside != NULL && calls == 1)
        inside();
}

static int make(void **state)
{
    inside  = NULL;
    calls   = 0;
    seen[0] = '\0';
    the_log = bwl_log_new(write_down, seen);
    return the_log == NULL;
}

static int unmake(void **state)
{
    bwl_log_free(the_log);
    return 0;
}

TEST(log_without_a_function_accepts_messages)
{
    bwl_log_add(NULL, BWL_LOG_INFO, "nothing");
    bwl_log_drain(NULL);
    bwl_log_free(NULL);
}

FIXTURE(make, unmake)

TEST(log_drains_each_message_once_in_order)
{
    bwl_log_add(the_log, BWL_LOG_INFO, "one %d", 1);
    bwl_log_add(the_log, BWL_LOG_ERROR, "two");
    assert_string_equal(seen, "");
    bwl_log_drain(the_log);
    assert_string_equal(seen, "1 one 1|3 two|");
    bwl_log_drain(the_log);
    assert_int_equal(calls, 2);
}

TEST(log_keeps_the_latest_and_counts_the_dropped)
{
    char last[16];

    for (unsigned i = 0; i < BWL_LOG_MAX + 3; i++)
        bwl_log_add(the_log, BWL_LOG_INFO, "<%u>", i);
    bwl_log_drain(the_log);
    assert_int_equal(calls, BWL_LOG_MAX + 1);
    assert_int_equal(strncmp(seen, "2 3 messages before this one were dropped|1 <3>|", 48), 0);
    (void)snprintf(last, sizeof last, "<%d>|", BWL_LOG_MAX + 2);
    assert_string_equal(seen + strlen(seen) - strlen(last), last);
}

TEST(log_hides_passwords_and_cuts_long_messages)
{
    char text[1000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    bwl_log_add(the_log, BWL_LOG_INFO, "redis://:secret@host");
    bwl_log_add(the_log, BWL_LOG_INFO, "%s", text);
    bwl_log_drain(the_log);
    assert_int_equal(calls, 2);
    assert_null(strstr(seen, "secret"));
    assert_non_null(strstr(seen, "redis://:***@host|"));
    assert_true(strlen(seen) < 400);
}

static void drain_inside(void)
{
    bwl_log_add(the_log, BWL_LOG_INFO, "from inside");
    bwl_log_drain(the_log);
    assert_int_equal(calls, 1); /* the drain that is running does it */
}

TEST(log_function_may_log_and_drain)
{
    inside = drain_inside;
    bwl_log_add(the_log, BWL_LOG_INFO, "first");
    bwl_log_drain(the_log);
    assert_string_equal(seen, "1 first|1 from inside|");
}

static void *drain_elsewhere(void *arg)
{
    bwl_log_drain(the_log);
    return NULL;
}

static void drain_in_a_thread(void)
{
    pthread_t thread;

    bwl_log_add(the_log, BWL_LOG_INFO, "second");
    assert_int_equal(pthread_create(&thread, NULL, drain_elsewhere, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(calls, 1);
}

TEST(log_calls_come_from_one_thread_at_a_time)
{
    inside = drain_in_a_thread;
    bwl_log_add(the_log, BWL_LOG_INFO, "first");
    bwl_log_drain(the_log);
    assert_string_equal(seen, "1 first|1 second|");
}
