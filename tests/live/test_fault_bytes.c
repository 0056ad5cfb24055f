/*
 * test_fault_bytes.c -- the connection is cut, stalls or is delayed for longer than the lease at
 * every byte of a conversation (HELLO, acquire, extend, release), in both directions, without and
 * with TLS, while a rival on a good connection acquires the lock whenever it can.
 *
 * No two holders are sure at once, each operation that returned OK was executed, and the rival is
 * granted the lock within the lease. A round is mostly waiting, so several run at once, each on its
 * own lock.
 *
 * Without BOWLINE_THOROUGH=1 only every STEP-th byte is tested, from a random first byte on.
 */
#include "tests/lib/judged.h"
#include "tests/lib/proxy.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEASE_MS = 300, LONG_MS = 60000, ANSWER_MS = 60, WORKERS = 16, STEP = 11, TLS_STEP = 29 };

static pthread_mutex_t ask_mutex = PTHREAD_MUTEX_INITIALIZER;

/* server_ask is for one thread. */
static void ask_server(char ret_answer[64], const char *command, const char *name)
{
    (void)pthread_mutex_lock(&ask_mutex);
    (void)snprintf(ret_answer, 64, "%s",
                   name != NULL ? server_ask(redis, "%s bowline:{%s}", command, name)
                                : server_ask(redis, "%s", command));
    (void)pthread_mutex_unlock(&ask_mutex);
}

/* ---- one round ------------------------------------------------------------------------------- */

typedef struct trial { /* several workers run its rounds */
    proxy_plan   plan;
    int64_t      size;    /* bytes of the conversation */
    int64_t      step;    /* from the faulty byte of one round to that of the next */
    bool         flushes; /* SCRIPT FLUSH before each round */
    int          lease_ms;
    atomic_llong next; /* the faulty byte of the next round */
    atomic_uint  held;
    atomic_uint  extended;
    atomic_uint  released;
    atomic_bool  failed;
    char         message[300];
} trial;

typedef struct worker {
    pthread_t thread;
    trial    *trial;
    char      name[8];
} worker;

static void fail_round(trial *g, int64_t at, const char *what, const char *detail)
{
    if (!atomic_exchange(&g->failed, true))
        (void)snprintf(g->message, sizeof g->message, "byte %lld %s: %s: %s", (long long)at,
                       g->plan.to_client ? "to the client" : "to the server", what, detail);
}

static bool is_one_of(int status, const int *allowed)
{
    for (; *allowed != BOWLINE_BUSY; allowed++) /* ends the list: never allowed */
        if (*allowed == status)
            return true;
    return false;
}

static void check_status(trial *g, int64_t at, const char *verb, int status)
{
    static const int for_acquire[] = { BOWLINE_OK,          BOWLINE_TIMEOUT, BOWLINE_UNKNOWN,
                                       BOWLINE_UNREACHABLE, BOWLINE_REFUSED, BOWLINE_BUSY };
    static const int for_holder[]  = { BOWLINE_OK, BOWLINE_LOST, BOWLINE_UNKNOWN,
                                       BOWLINE_UNREACHABLE, BOWLINE_BUSY };
    bool             is_acquire    = strcmp(verb, "acquire") == 0;

    if (!is_one_of(status, is_acquire ? for_acquire : for_holder))
        fail_round(g, at, verb, bowline_status_name(status));
}

/* While the hold is valid, the key has our token, and its TTL is at least the time that is left. (A
 * renewal between the two readings extends both.) */
static void check_held(const worker *t, int64_t at, bowline_hold *hold, const char *token)
{
    char value[64];
    char pttl[64];
    char detail[128];

    ask_server(value, "GET", t->name);
    int64_t began   = clock_ms();
    int64_t left_ms = bowline_hold_left_ms(hold);
    if (left_ms > 0 && strcmp(value, token) != 0)
        fail_round(t->trial, at, "the hold is valid, and the key is", value);
    ask_server(pttl, "PTTL", t->name);
    int64_t took   = clock_ms() - began;
    int64_t ttl_ms = atoll(pttl) > 0 ? atoll(pttl) : 0; /* -2: no key */
    if (left_ms > ttl_ms + took + 1) {
        (void)snprintf(detail, sizeof detail, "left_ms %lld, PTTL %s after %lld ms",
                       (long long)left_ms, pttl, (long long)took);
        fail_round(t->trial, at, "left_ms exceeds the TTL of the key", detail);
    }
}

static void check_released(const worker *t, int64_t at, int status, const char *token)
{
    char value[64];

    check_status(t->trial, at, "release", status);
    atomic_fetch_add(&t->trial->released, status == BOWLINE_OK);
    ask_server(value, "GET", t->name);
    if (status == BOWLINE_OK && strcmp(value, token) == 0)
        fail_round(t->trial, at, "released with OK, and the key exists", value);
}

static void run_conversation(const worker *t, witness *judge, int64_t at, const char *url)
{
    char            token[64];
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = NULL;
    int             status = acquire_within(&hold, client, t->name, 1500, NULL);

    check_status(t->trial, at, "acquire", status);
    if (status == BOWLINE_OK) {
        lock_holder *b = holder_start(judge, hold);
        ask_server(token, "GET", t->name);
        bool is_ours = bowline_hold_left_ms(hold) > 0; /* then the key had our token */
        atomic_fetch_add(&t->trial->held, is_ours);
        if (is_ours)
            check_held(t, at, hold, token);
        status = bowline_extend(hold, (uint32_t)t->trial->lease_ms + 100, NULL);
        check_status(t->trial, at, "extend", status);
        atomic_fetch_add(&t->trial->extended, status == BOWLINE_OK);
        if (is_ours)
            check_held(t, at, hold, token);
        (void)holder_stop(b);
        check_released(t, at, bowline_release(hold, NULL), is_ours ? token : "none");
    }
    bowline_close(client);
}

static void run_round(const worker *t, int64_t at)
{
    char       url[200];
    char       pttl[64];
    proxy_plan plan  = t->trial->plan;
    witness   *judge = witness_new();
    rival     *r     = rival_start(judge, redis->unix_url, t->name);

    plan.at     = at;
    proxy *line = proxy_start(redis, &plan);
    (void)snprintf(url, sizeof url, "%s%clease=%dms&timeout=%dms", proxy_url(line),
                   plan.is_tls ? '&' : '?', t->trial->lease_ms, ANSWER_MS * (plan.is_tls ? 5 : 1));
    if (t->trial->flushes)
        ask_server(pttl, "SCRIPT FLUSH SYNC", NULL);
    run_conversation(t, judge, at, url);
    ask_server(pttl, t->trial->lease_ms == LONG_MS ? "DEL" : "PTTL",
               t->name); /* the key if it was not released */
    proxy_stop(line);
    if (strcmp(pttl, "-1") == 0)
        fail_round(t->trial, at, "a key remains", "without an expiry");
    if (!rival_await_hold(r))
        fail_round(t->trial, at, "the rival", "is not granted the lock afterwards");
    rival_stop(r);
    witness_verdict verdict = witness_judge(judge);
    if (verdict.overlaps > 0 || verdict.unexcused > 0)
        fail_round(t->trial, at, "the witness", "saw two holders at once");
    witness_free(judge);
}

/* ---- the bytes ------------------------------------------------------------------------------ */

static void *run_worker(void *arg)
{
    worker *t = arg;

    for (int64_t at; (at = atomic_fetch_add(&t->trial->next, t->trial->step)) < t->trial->size;)
        if (!atomic_load(&t->trial->failed))
            run_round(t, at);
    return NULL;
}

/* The number of bytes of a conversation without a fault. */
static int64_t conversation_size(const trial *g)
{
    proxy_plan      plan   = { .fault = PROXY_NONE, .is_tls = g->plan.is_tls };
    proxy          *line   = proxy_start(redis, &plan);
    bowline_client *client = must_open(proxy_url(line));

    if (g->flushes)
        (void)server_ask(redis, "SCRIPT FLUSH SYNC");
    bowline_hold *hold = must_acquire(client, "x0");
    assert_status(BOWLINE_OK, bowline_extend(hold, 60000, NULL), NULL);
    must_release(hold);
    int64_t size = g->plan.to_client ? proxy_bytes_to_client(line) : proxy_bytes_to_server(line);
    bowline_close(client);
    proxy_stop(line);
    return size;
}

static void each_byte(proxy_plan plan, bool flushes)
{
    worker workers[WORKERS];
    trial  g = { .plan = plan, .flushes = flushes, .size = 40, .step = 1, .lease_ms = LEASE_MS };

    if (plan.is_tls && redis->tls_port == 0)
        return;
    if (plan.fault == PROXY_LATE)
        g.lease_ms = LONG_MS;

    if (plan.fault != PROXY_NONE) { /* else all rounds are equal */
        byte_steps steps = some_bytes(plan.is_tls ? TLS_STEP : STEP);
        g.size           = conversation_size(&g);
        g.next           = steps.first;
        g.step           = steps.step;
    }
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){ .trial = &g };
        (void)snprintf(workers[i].name, sizeof workers[i].name, "x%d", i);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    if (atomic_load(&g.failed))
        fail_msg("%s", g.message);
    print_message("# %s: %lld bytes, %u held, %u extended, %u released\n",
                  plan.to_client ? "to the client" : "to the server", (long long)g.size,
                  atomic_load(&g.held), atomic_load(&g.extended), atomic_load(&g.released));
    assert_true(atomic_load(&g.held) > 0); /* or the test has shown nothing */
    assert_true(atomic_load(&g.released) > 0);
    assert_true(server_becomes_empty(redis));
}

static void both_directions(proxy_plan plan, bool flushes)
{
    for (int to_client = 0; to_client < 2; to_client++) {
        plan.to_client = to_client != 0;
        each_byte(plan, flushes);
    }
}

TEST(cut_at_every_byte_keeps_one_holder)
{
    both_directions((proxy_plan){ .fault = PROXY_CLOSE, .connections = 1 }, false);
    both_directions((proxy_plan){ .fault = PROXY_CLOSE, .connections = 1, .is_tls = true }, false);
}

/* The texts of the scripts are part of the conversation. */
TEST(cut_at_every_byte_of_the_scripts_keeps_one_holder)
{
    both_directions((proxy_plan){ .fault = PROXY_CLOSE, .connections = 1 }, true);
}

TEST(stall_at_every_byte_keeps_one_holder)
{
    both_directions((proxy_plan){ .fault = PROXY_STALL, .connections = 1 }, false);
    both_directions((proxy_plan){ .fault = PROXY_STALL, .connections = 1, .is_tls = true }, false);
}

/* The rest arrives after the round. The next connection has killed its connection: otherwise a late
 * SET would take the lock for a whole lease. */
TEST(late_requests_of_a_dead_connection_are_not_executed)
{
    each_byte((proxy_plan){ .fault = PROXY_LATE, .connections = 1 }, false);
    each_byte((proxy_plan){ .fault = PROXY_LATE, .connections = 1, .is_tls = true }, false);
}

TEST(delay_at_every_byte_keeps_one_holder)
{
    both_directions(
        (proxy_plan){ .fault = PROXY_PAUSE, .connections = 1, .pause_ms = LEASE_MS + 100 }, false);
}

TEST(one_byte_at_a_time_keeps_one_holder)
{
    each_byte((proxy_plan){ .fault = PROXY_NONE, .piece = 1 }, false);
    each_byte((proxy_plan){ .fault = PROXY_NONE, .piece = 1, .is_tls = true }, false);
}

/* ---- a late reply ---------------------------------------------------------------------------- */

/* The reply is OK, but the lease is over: the acquire fails. (The INFO reply before it may be a
 * digit or two longer the second time.) */
TEST(reply_later_than_the_lease_is_no_lock)
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
                        .at          = proxy_bytes_to_client(line) - 2, /* in +OK */
                        .connections = 1 };
    must_release(hold);
    bowline_close(client);
    proxy_stop(line);

    line = proxy_start(redis, &late);
    (void)snprintf(url, sizeof url, "%s?lease=1s&timeout=1s", proxy_url(line));
    client     = must_open(url);
    hold       = NULL;
    int status = acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error);
    if (status != BOWLINE_REFUSED) /* too late; UNKNOWN: no reply, the normal case */
        assert_status(BOWLINE_UNKNOWN, status, &error);
    assert_null(hold);
    bowline_close(client);
    proxy_stop(line);
    assert_true(server_becomes_empty(redis));
}

/* The lease counts from the request, however late the reply is. */
TEST(lease_counts_from_the_request)
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

/* ---- set-up ---------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    redis = server_start_tls(NULL);
    (void)conversation_size(&(trial){ .plan.to_client = true }); /* the server caches the scripts */
    return 0;
}

AROUND(own_server_starts, stop_server)
