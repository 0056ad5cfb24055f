/*
 * test_nowait.c -- releases that are not waited for, through the public door: what is known at
 * once, what is told later, how many may be on their way, what is checked.
 *
 * The server answers a release only when the test lets it: it counts what was released.  It may
 * be silent for long, until the test says that this was long enough: this machine may be late.
 */
#include "api/handles.h"
#include "engine/redis/redis.h"
#include "runtime/background_release.h"
#include "tests/lib/fake_server.h"
#include "tests/lib/testing.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>

/* What the server says to a release. */
static atomic_int  silent;   /* nothing, from this one on (counted from 1); 0: to all it says it  */
static atomic_int  released; /* how many it was sent */
static atomic_int  enough;   /* having been sent so many, it has been silent for long enough     */
static const char *verdict;

static fake_server    *redis;
static bowline_client *client;
static bowline_error   error;

/* Silence is over, and what it leaves in doubt is asked for no more. */
static void lose_patience(void)
{
    bwl_shard *inner = client->first;

    bwl_shard_lock(inner);
    inner->host.settings.answer_ms = 1;
    for (bwl_lock *lock = inner->locks; lock != NULL; lock = lock->next) {
        lock->base.hold.answer_by       = bwl_shard_now(inner);
        lock->base.hold.terms.answer_ms = 1;
    }
    bwl_redis_set_timer(bwl_redis_of(&inner->host));
    bwl_shard_unlock(inner);
}

static void answer(fake_server *s, const fake_command *cmd, void *arg)
{
    (void)arg;
    if (strcmp(cmd->words[0], "HELLO") == 0) {
        fake_say_hello(s, "7.0.15");
    } else if (strcmp(cmd->words[0], "SET") == 0) {
        fake_say(s, "+OK\r\n");
    } else {
        int nth  = atomic_fetch_add(&released, 1) + 1;
        int last = atomic_load(&silent);
        if (last == 0 || nth < last)
            fake_say(s, verdict);
        if (nth == atomic_load(&enough))
            lose_patience();
    }
}

static int open_client(void **state)
{
    char url[160];

    (void)state;
    verdict = ":1\r\n";
    atomic_store(&silent, 0);
    atomic_store(&enough, 0);
    atomic_store(&released, 0);
    error = (bowline_error){ 0 };
    redis = fake_start(answer, NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=token&timeout=25s", fake_url(redis));
    client = must_open_without_keeper(url);
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    bowline_close(client);
    fake_stop(redis);
    return 0;
}

static int let_go(const char *name)
{
    return bowline_release_nowait(must_acquire(client, name), &error);
}

static void test_nowait_comes_back_before_the_answer(void **state)
{
    (void)state;
    atomic_store(&silent, 1);
    assert_status(BOWLINE_OK, let_go("n"), &error);
    assert_status(BOWLINE_TIMEOUT, bowline_flush_releases(client, 0, &error), &error);
    assert_status(BOWLINE_TIMEOUT, bowline_flush_releases(client, 5, &error), &error);
    assert_non_null(strstr(error.text, "on their way"));
    lose_patience();
    assert_status(BOWLINE_UNKNOWN, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    assert_non_null(strstr(error.text, "n: whether it was given back is not known"));
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
}

static void test_nowait_well_ended_is_nothing_to_tell(void **state)
{
    (void)state;
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    for (unsigned i = 0; i < 3; i++)
        assert_status(BOWLINE_OK, let_go("n"), &error);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    assert_int_equal(atomic_load(&released), 3);
    assert_int_equal(client->first->locks_count, 0);
}

static void test_nowait_loss_is_told_once_and_by_name(void **state)
{
    (void)state;
    verdict = ":0\r\n";
    assert_status(BOWLINE_OK, let_go("one"), &error);
    assert_status(BOWLINE_OK, let_go("two"), &error);
    assert_status(BOWLINE_LOST, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    assert_non_null(strstr(error.text, "one is no longer ours"));
    assert_status(BOWLINE_LOST, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    assert_non_null(strstr(error.text, "two is no longer ours"));
    assert_status(BOWLINE_OK, bowline_flush_releases(client, 0, &error), &error);
    assert_int_equal(client->first->locks_count, 0);
}

static void test_nowait_refusal_is_told_with_the_server_s_words(void **state)
{
    (void)state;
    verdict = "-NOPERM not for you\r\n";
    assert_status(BOWLINE_OK, let_go("n"), &error);
    assert_status(BOWLINE_REFUSED, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    assert_non_null(strstr(error.text, "NOPERM not for you"));
}

static void test_nowait_too_many_to_name_are_counted(void **state)
{
    (void)state;
    verdict = ":0\r\n";
    for (unsigned i = 0; i < BWL_UNREPORTED_MAX + 2; i++)
        assert_status(BOWLINE_OK, let_go("n"), &error);
    for (unsigned i = 0; i < BWL_UNREPORTED_MAX; i++)
        assert_status(BOWLINE_LOST, bowline_flush_releases(client, BOWLINE_FOREVER, &error),
                      &error);
    assert_null(strstr(error.text, "more releases"));
    /* The last ones may have been answered before there was room again. */
    int status = bowline_flush_releases(client, BOWLINE_FOREVER, &error);
    assert_status(BOWLINE_LOST, status, &error);
    while (bowline_flush_releases(client, BOWLINE_FOREVER, &error) == BOWLINE_LOST)
        continue;
    assert_status(BOWLINE_OK, bowline_flush_releases(client, 0, &error), &error);
}

/* One more than may be on their way: waited for, and so told at once. */
static void test_nowait_waits_when_too_many_are_under_way(void **state)
{
    bowline_hold *holds[BWL_BACKGROUND_MAX + 1];
    char          name[16];

    (void)state;
    for (unsigned i = 0; i <= BWL_BACKGROUND_MAX; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        holds[i] = must_acquire(client, name);
    }
    atomic_store(&silent, 1);
    atomic_store(&enough, BWL_BACKGROUND_MAX + 1);
    for (unsigned i = 0; i < BWL_BACKGROUND_MAX; i++)
        assert_status(BOWLINE_OK, bowline_release_nowait(holds[i], &error), &error);
    assert_int_equal(client->first->background.count, BWL_BACKGROUND_MAX);
    assert_status(BOWLINE_UNKNOWN, bowline_release_nowait(holds[BWL_BACKGROUND_MAX], &error),
                  &error);
    assert_non_null(strstr(error.text, "n1000: "));
}

/* All were answered, which nobody has read yet: so there is room, and nothing is waited for. */
static void test_nowait_reads_what_has_come_before_it_waits(void **state)
{
    static bowline_hold *holds[BWL_BACKGROUND_MAX + 1];
    const bwl_session   *store = bwl_redis_of(&client->first->host)->router.sessions;
    char                 name[16];
    int                  there = 0;

    (void)state;
    for (unsigned i = 0; i <= BWL_BACKGROUND_MAX; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        holds[i] = must_acquire(client, name);
    }
    atomic_store(&silent, BWL_BACKGROUND_MAX + 1);
    for (unsigned i = 0; i < BWL_BACKGROUND_MAX; i++)
        assert_status(BOWLINE_OK, bowline_release_nowait(holds[i], &error), &error);
    while (there < BWL_BACKGROUND_MAX * 4 &&
           ioctl(store->link.conn.stream.source.fd, FIONREAD, &there) == 0)
        sleep_ms(1);
    assert_status(BOWLINE_OK, bowline_release_nowait(holds[BWL_BACKGROUND_MAX], &error), &error);
    assert_in_range(client->first->background.count, 1, BWL_BACKGROUND_MAX);
}

/* Whoever does nothing else reads what has come, so he never meets the end of it. */
static void test_nowait_reads_answers_when_there_are_many(void **state)
{
    enum { ALL = 3 * BWL_BACKGROUND_MAX };
    static bowline_hold *holds[ALL];
    char                 name[16];

    (void)state;
    for (unsigned i = 0; i < ALL; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        holds[i] = must_acquire(client, name);
    }
    for (unsigned i = 0; i < ALL; i++) {
        assert_status(BOWLINE_OK, bowline_release_nowait(holds[i], &error), &error);
        assert_true(client->first->background.count <= BWL_BACKGROUND_MAX);
    }
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    assert_int_equal(atomic_load(&released), ALL);
}

static void test_nowait_ends_an_extension(void **state)
{
    bowline_hold      *hold = must_acquire(client, "n");
    bowline_operation *op;

    (void)state;
    assert_status(BOWLINE_OK, bowline_extend_start(&op, hold, 0, &error), &error);
    assert_status(BOWLINE_OK, bowline_release_nowait(hold, &error), &error);
    assert_status(BOWLINE_CANCELLED, bowline_finish(op, &error), &error);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
}

static void test_nowait_without_a_server_is_told_at_once(void **state)
{
    bowline_client *local = must_open("thread:");

    (void)state;
    assert_status(BOWLINE_OK, bowline_release_nowait(must_acquire(local, "n"), &error), &error);
    assert_int_equal(local->first->locks_count, 0);
    assert_status(BOWLINE_OK, bowline_flush_releases(local, 0, &error), &error);
    assert_status(BOWLINE_OK, bowline_release_nowait(NULL, &error), &error);
    bowline_close(local);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_nowait_comes_back_before_the_answer),
        CASE(test_nowait_well_ended_is_nothing_to_tell),
        CASE(test_nowait_loss_is_told_once_and_by_name),
        CASE(test_nowait_refusal_is_told_with_the_server_s_words),
        CASE(test_nowait_too_many_to_name_are_counted),
        CASE(test_nowait_waits_when_too_many_are_under_way),
        CASE(test_nowait_reads_what_has_come_before_it_waits),
        CASE(test_nowait_reads_answers_when_there_are_many),
        CASE(test_nowait_ends_an_extension),
        CASE(test_nowait_without_a_server_is_told_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
