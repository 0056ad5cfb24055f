/*
 * test_fault_bytes.c -- the connection is cut, stalls or is delayed for longer than the lease at
 * every byte of a conversation (HELLO, acquire, extend, release), in either direction, in clear and
 * with TLS; a rival wants the lock all the time, on a good connection.
 *
 * No two believe in the lock at once, what was answered with OK was carried out, and the rival gets
 * the lock within the lease.  A round mostly waits, so several run at once, each on its own lock.
 *
 * Without BOWLINE_THOROUGH=1 only every STEP-th byte is tried, from a random first byte on.
 */
#include "tests/lib/judged.h"
#include "tests/lib/proxy.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEASE_MS = 300, LONG_MS = 60000, ANSWER_MS = 60, TABLES = 16, STEP = 11, TLS_STEP = 29 };

static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

/* The helper is made for one thread. */
static void ask(char ret_answer[64], const char *question, const char *name)
{
    (void)pthread_mutex_lock(&asking);
    (void)snprintf(ret_answer, 64, "%s",
                   name != NULL ? server_ask(redis, "%s bowline:{%s}", question, name)
                                : server_ask(redis, "%s", question));
    (void)pthread_mutex_unlock(&asking);
}

/* ---- one round ------------------------------------------------------------------------------- */

typedef struct game { /* several tables play rounds of it */
    proxy_plan   plan;
    int64_t      size;    /* of the conversation */
    int64_t      step;    /* from the byte of one round to that of the next */
    bool         forgets; /* the server forgets our scripts before every round */
    int          lease_ms;
    atomic_llong next; /* the byte of the next round */
    atomic_uint  held;
    atomic_uint  extended;
    atomic_uint  released;
    atomic_bool  failed;
    char         why[300];
} game;

typedef struct table {
    pthread_t thread;
    game     *game;
    char      name[8];
} table;

static void complain(game *g, int64_t at, const char *what, const char *detail)
{
    if (!atomic_exchange(&g->failed, true))
        (void)snprintf(g->why, sizeof g->why, "byte %lld %s: %s: %s", (long long)at,
                       g->plan.to_client ? "to the client" : "to the server", what, detail);
}

static bool is_one_of(int status, const int *allowed)
{
    for (; *allowed != BOWLINE_BUSY; allowed++) /* which none of them may be */
        if (*allowed == status)
            return true;
    return false;
}

static void check_status(game *g, int64_t at, const char *verb, int status)
{
    static const int while_sought[] = { BOWLINE_OK,          BOWLINE_TIMEOUT, BOWLINE_UNKNOWN,
                                        BOWLINE_UNREACHABLE, BOWLINE_REFUSED, BOWLINE_BUSY };
    static const int while_held[]   = { BOWLINE_OK, BOWLINE_LOST, BOWLINE_UNKNOWN,
                                        BOWLINE_UNREACHABLE, BOWLINE_BUSY };
    bool             is_acquire     = strcmp(verb, "acquire") == 0;

    if (!is_one_of(status, is_acquire ? while_sought : while_held))
        complain(g, at, verb, bowline_status_name(status));
}

/* As long as it says that it is ours, the server has our token, and for at least as long.  (A
 * renewal between two looks lengthens both.) */
static void check_held(const table *t, int64_t at, bowline_hold *hold, const char *token)
{
    char value[64];
    char left[64];
    char detail[128];

    ask(value, "GET", t->name);
    int64_t began    = clock_ms();
    int64_t believed = bowline_hold_left_ms(hold);
    if (believed > 0 && strcmp(value, token) != 0)
        complain(t->game, at, "believes, and the key is", value);
    ask(left, "PTTL", t->name);
    int64_t took  = clock_ms() - began;
    int64_t lives = atoll(left) > 0 ? atoll(left) : 0; /* gone: -2 is no length of time */
    if (believed > lives + took + 1) {
        (void)snprintf(detail, sizeof detail, "%lld ms believed, %s ms left %lld ms later",
                       (long long)believed, left, (long long)took);
        complain(t->game, at, "believes for longer than the key lives", detail);
    }
}

static void check_released(const table *t, int64_t at, int status, const char *token)
{
    char value[64];

    check_status(t->game, at, "release", status);
    atomic_fetch_add(&t->game->released, status == BOWLINE_OK);
    ask(value, "GET", t->name);
    if (status == BOWLINE_OK && strcmp(value, token) == 0)
        complain(t->game, at, "is said to be released, and is there", value);
}

static void talk(const table *t, witness *judge, int64_t at, const char *url)
{
    char            token[64];
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = NULL;
    int             status = acquire_within(&hold, client, t->name, 1500, NULL);

    check_status(t->game, at, "acquire", status);
    if (status == BOWLINE_OK) {
        lock_holder *b = holder_start(judge, hold);
        ask(token, "GET", t->name);
        bool is_ours = bowline_hold_left_ms(hold) > 0; /* then that was our token */
        atomic_fetch_add(&t->game->held, is_ours);
        if (is_ours)
            check_held(t, at, hold, token);
        status = bowline_extend(hold, (uint32_t)t->game->lease_ms + 100, NULL);
        check_status(t->game, at, "extend", status);
        atomic_fetch_add(&t->game->extended, status == BOWLINE_OK);
        if (is_ours)
            check_held(t, at, hold, token);
        (void)holder_stop(b);
        check_released(t, at, bowline_release(hold, NULL), is_ours ? token : "nobody's");
    }
    bowline_close(client);
}

static void play_round(const table *t, int64_t at)
{
    char       url[200];
    char       left[64];
    proxy_plan plan  = t->game->plan;
    witness   *judge = witness_new();
    rival     *r     = rival_start(judge, redis->unix_url, t->name);

    plan.at     = at;
    proxy *line = proxy_start(redis, &plan);
    (void)snprintf(url, sizeof url, "%s%clease=%dms&timeout=%dms", proxy_url(line),
                   plan.is_tls ? '&' : '?', t->game->lease_ms, ANSWER_MS * (plan.is_tls ? 5 : 1));
    if (t->game->forgets)
        ask(left, "SCRIPT FLUSH SYNC", NULL);
    talk(t, judge, at, url);
    ask(left, t->game->lease_ms == LONG_MS ? "DEL" : "PTTL", t->name); /* what was not released */
    proxy_stop(line);
    if (strcmp(left, "-1") == 0)
        complain(t->game, at, "a key is left", "without an end");
    if (!rival_await_hold(r))
        complain(t->game, at, "the rival", "cannot have it afterwards");
    rival_stop(r);
    witness_verdict verdict = witness_judge(judge);
    if (verdict.overlaps > 0 || verdict.unexcused > 0)
        complain(t->game, at, "two at once", "says the judge");
    witness_free(judge);
}

/* ---- the bytes ------------------------------------------------------------------------------ */

static void *play(void *arg)
{
    table *t = arg;

    for (int64_t at; (at = atomic_fetch_add(&t->game->next, t->game->step)) < t->game->size;)
        if (!atomic_load(&t->game->failed))
            play_round(t, at);
    return NULL;
}

/* How many bytes a conversation without any fault has. */
static int64_t conversation_size(const game *g)
{
    proxy_plan      plan   = { .fault = PROXY_NONE, .is_tls = g->plan.is_tls };
    proxy          *line   = proxy_start(redis, &plan);
    bowline_client *client = must_open(proxy_url(line));

    if (g->forgets)
        (void)server_ask(redis, "SCRIPT FLUSH SYNC");
    bowline_hold *hold = must_acquire(client, "x0");
    assert_status(BOWLINE_OK, bowline_extend(hold, 60000, NULL), NULL);
    must_release(hold);
    int64_t size = g->plan.to_client ? proxy_bytes_to_client(line) : proxy_bytes_to_server(line);
    bowline_close(client);
    proxy_stop(line);
    return size;
}

static void play_every_byte(proxy_plan plan, bool forgets)
{
    table tables[TABLES];
    game  g = { .plan = plan, .forgets = forgets, .size = 40, .step = 1, .lease_ms = LEASE_MS };

    if (plan.is_tls && redis->tls_port == 0)
        return;
    if (plan.fault == PROXY_LATE)
        g.lease_ms = LONG_MS;

    if (plan.fault != PROXY_NONE) { /* else it is the same round again and again */
        byte_steps steps = some_bytes(plan.is_tls ? TLS_STEP : STEP);
        g.size           = conversation_size(&g);
        g.next           = steps.first;
        g.step           = steps.step;
    }
    for (int i = 0; i < TABLES; i++) {
        tables[i] = (table){ .game = &g };
        (void)snprintf(tables[i].name, sizeof tables[i].name, "x%d", i);
        assert_int_equal(pthread_create(&tables[i].thread, NULL, play, &tables[i]), 0);
    }
    for (int i = 0; i < TABLES; i++)
        assert_int_equal(pthread_join(tables[i].thread, NULL), 0);
    if (atomic_load(&g.failed))
        fail_msg("%s", g.why);
    print_message("# %s: %lld bytes, %u held, %u extended, %u released\n",
                  plan.to_client ? "to the client" : "to the server", (long long)g.size,
                  atomic_load(&g.held), atomic_load(&g.extended), atomic_load(&g.released));
    assert_true(atomic_load(&g.held) > 0); /* or nothing was shown */
    assert_true(atomic_load(&g.released) > 0);
    assert_true(server_becomes_empty(redis));
}

static void both_ways(proxy_plan plan, bool forgets)
{
    for (int to_client = 0; to_client < 2; to_client++) {
        plan.to_client = to_client != 0;
        play_every_byte(plan, forgets);
    }
}

TEST(cut_at_every_byte_before_the_judge)
{
    both_ways((proxy_plan){ .fault = PROXY_CLOSE, .connections = 1 }, false);
    both_ways((proxy_plan){ .fault = PROXY_CLOSE, .connections = 1, .is_tls = true }, false);
}

/* The conversation is longer then: the texts of the scripts are in it. */
TEST(cut_at_every_byte_of_the_scripts)
{
    both_ways((proxy_plan){ .fault = PROXY_CLOSE, .connections = 1 }, true);
}

TEST(dropped_at_every_byte_before_the_judge)
{
    both_ways((proxy_plan){ .fault = PROXY_STALL, .connections = 1 }, false);
    both_ways((proxy_plan){ .fault = PROXY_STALL, .connections = 1, .is_tls = true }, false);
}

/* The rest arrives when the round is over.  Its connection was killed by the one after it: else a
 * late SET would take the lock for a whole lease, and the rival would not get it. */
TEST(what_the_client_says_comes_late)
{
    play_every_byte((proxy_plan){ .fault = PROXY_LATE, .connections = 1 }, false);
    play_every_byte((proxy_plan){ .fault = PROXY_LATE, .connections = 1, .is_tls = true }, false);
}

TEST(delayed_at_every_byte_before_the_judge)
{
    both_ways((proxy_plan){ .fault = PROXY_PAUSE, .connections = 1, .pause_ms = LEASE_MS + 100 },
              false);
}

TEST(one_byte_at_a_time_before_the_judge)
{
    play_every_byte((proxy_plan){ .fault = PROXY_NONE, .piece = 1 }, false);
    play_every_byte((proxy_plan){ .fault = PROXY_NONE, .piece = 1, .is_tls = true }, false);
}

/* ---- an answer that is too late -------------------------------------------------------------- */

/* It would be OK, and is worth nothing: nobody is told that the lock is his.  (What the server says
 * of itself before may be a digit or two longer the second time.) */
TEST(answer_later_than_the_lease_is_no_lock)
{
    char            url[200];
    proxy_plan      none   = { .fault = PROXY_NONE };
    proxy          *line   = proxy_start(redis, &none);
    bowline_client *client = must_open(proxy_url(line));
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_error   error  = { 0 };

    proxy_plan late = { .fault       = PROXY_PAUSE,
                        .pause_ms    = 1200,
                        .to_client   = true,
                        .at          = proxy_bytes_to_client(line) - 2, /* within its +OK */
                        .connections = 1 };
    must_release(hold);
    bowline_close(client);
    proxy_stop(line);

    line = proxy_start(redis, &late);
    (void)snprintf(url, sizeof url, "%s?lease=1s&timeout=1s", proxy_url(line));
    client     = must_open(url);
    hold       = NULL;
    int status = acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error);
    if (status != BOWLINE_REFUSED) /* too slow; or no answer at all, which is how it should be */
        assert_status(BOWLINE_UNKNOWN, status, &error);
    assert_null(hold);
    bowline_close(client);
    proxy_stop(line);
    assert_true(server_becomes_empty(redis));
}

/* A lease runs from before the question, however late the answer comes. */
TEST(lease_is_counted_from_the_question)
{
    char            url[200];
    proxy_plan      none   = { .fault = PROXY_NONE };
    proxy          *line   = proxy_start(redis, &none);
    bowline_client *client = must_open(proxy_url(line));
    bowline_hold   *hold   = must_acquire(client, "x");
    int64_t         hello  = proxy_bytes_to_client(line) - 5; /* all but +OK */

    must_release(hold);
    bowline_close(client);
    proxy_stop(line);

    proxy_plan late = {
        .fault = PROXY_PAUSE, .pause_ms = 600, .to_client = true, .at = hello + 1, .connections = 1
    };
    line = proxy_start(redis, &late);
    (void)snprintf(url, sizeof url, "%s?lease=60s&timeout=20s&renew=off", proxy_url(line));
    client = must_open(url);
    hold   = must_acquire(client, "x");
    assert_true(bowline_hold_left_ms(hold) < 60000 - 600);
    assert_true(bowline_hold_left_ms(hold) > 0);
    must_release(hold);
    bowline_close(client);
    proxy_stop(line);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    redis = server_start_tls(NULL);
    (void)conversation_size(&(game){ .plan.to_client = true }); /* now it knows the scripts */
    return 0;
}

AROUND(own_server_starts, stop_server)
