/*
 * test_sentinel_split.c -- network partitions between the parts of a service: the primary, its
 * replicas, the sentinels, the holder and another client each have their own host (net.h).
 *
 * Each case is a row of docs/guarantees.md. A cut link loses packets without notice. Where two
 * holders can be sure at once, the fence tells them apart, and the length of the overlap is
 * printed.
 */
#include "tests/lib/judged.h"
#include "tests/lib/sentinels.h"
#include "tests/lib/suite.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { LONG_MS = 120000, SHORT_MS = 3000, LAG_S = 2, PATIENCE_MS = 20000 };
enum { PRIMARY = 0, REPLICA = 1, NODES_MAX = 3, HOSTS = NODES_MAX + SERVICE_SENTINELS + 2 };
enum { HOLDER = HOSTS - 2, OTHER = HOSTS - 1 };

static net     *hosts;
static service *sentinel_service;
static witness *judge;
static char     url[320];

static int begin(void **state)
{
    server_needed();
    hosts = net_make(HOSTS);
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    service_stop(sentinel_service);
    judge_dismiss(judge);
    if (hosts != NULL)
        net_leave(hosts);
    net_free(hosts);
    sentinel_service = NULL;
    judge            = NULL;
    return 0;
}

/* Afterwards this process is on the host of the holder. */
static void set_up(unsigned nodes_count, const char *options, int lease_ms)
{
    if (hosts == NULL)
        skip();
    sentinel_service = service_start_apart(hosts, nodes_count, options);
    (void)snprintf(url, sizeof url, "%s?lease=%dms&timeout=1s", sentinel_service->url, lease_ms);
    net_enter(hosts, HOLDER);
}

static unsigned host_of_sentinel(unsigned i)
{
    return sentinel_service->nodes_count + i;
}

static void cut_from_sentinels(unsigned host)
{
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++)
        net_cut(hosts, host, host_of_sentinel(i));
    net_enter(hosts, HOLDER);
}

static void cut_from_replicas(unsigned host)
{
    for (unsigned i = REPLICA; i < sentinel_service->nodes_count; i++)
        net_cut(hosts, host, i);
    net_enter(hosts, HOLDER);
}

static void mend_all(void)
{
    net_mend_all(hosts);
    net_enter(hosts, HOLDER);
}

static rival *rival_on_other_host(const char *name)
{
    net_enter(hosts, OTHER);
    rival *r = rival_start_queued(judge, url, name);
    net_enter(hosts, HOLDER);
    return r;
}

static bool has_lock(unsigned node, const char *name)
{
    return strcmp(server_ask(sentinel_service->nodes[node], "EXISTS bowline:{%s}", name), "1") == 0;
}

static bool lock_arrives(unsigned node, const char *name)
{
    char question[80];

    (void)snprintf(question, sizeof question, "EXISTS bowline:{%s}", name);
    return server_comes_to(sentinel_service->nodes[node], "1", question);
}

/* Whether the list of clients has one from this host. */
static bool is_from(unsigned host, const char *list)
{
    char address[32];

    (void)snprintf(address, sizeof address, " addr=%s:", net_address(hosts, host));
    return strstr(list, address) != NULL;
}

static bool comes_from(unsigned host, server *s)
{
    bool comes = false;

    for (int64_t last = clock_ms() + PATIENCE_MS; !comes && clock_ms() < last; sleep_ms(5)) {
        const char *list = server_may_say(s, "CLIENT LIST");
        comes = list != NULL && is_from(host, list); /* a promotion closes all connections */
    }
    return comes;
}

static server *replica_becomes_primary(void)
{
    return service_primary(sentinel_service, sentinel_service->nodes[PRIMARY]);
}

/* The other client, which is still idle, acquires the lock on its own host, where its threads stay;
 * its fence is above this one. */
static bowline_hold *acquire_on_other_host(bowline_client *other, const char *name, uint64_t fence)
{
    bowline_hold *hold = NULL;

    net_enter(hosts, OTHER);
    for (int64_t last = clock_ms() + PATIENCE_MS; hold == NULL && clock_ms() < last;)
        (void)acquire_within(&hold, other, name, PATIENCE_MS, NULL);
    net_enter(hosts, HOLDER);
    assert_non_null(hold);
    assert_true(bowline_hold_fence(hold) > fence);
    return hold;
}

static void release_on_other_host(bowline_hold *hold)
{
    net_enter(hosts, OTHER);
    must_release(hold);
    net_enter(hosts, HOLDER);
}

static void print_overlap(int64_t gained_us, int64_t sure_us)
{
    print_message("# both were sure for %lld ms\n",
                  (long long)(sure_us > gained_us ? (sure_us - gained_us) / 1000 : 0));
}

/* ---- the primary is cut off ------------------------------------------------------------------ */

FIXTURE(begin, end)

/* Cut off from all but the holder, which receives the sentinels: the hold is found at the new
 * primary, and the old primary is not used any more, also after the partition. */
TEST(holder_that_receives_the_sentinels_follows_to_the_new_primary)
{
    set_up(2, NULL, LONG_MS);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    lock_holder    *b      = holder_start(judge, hold);
    rival          *r      = rival_on_other_host("x");

    assert_true(lock_arrives(REPLICA, "x"));
    cut_from_replicas(PRIMARY);
    cut_from_sentinels(PRIMARY);
    server *now = replica_becomes_primary();
    assert_true(comes_from(HOLDER, now));
    must_extend_in_failover(hold);
    assert_int_equal(bowline_hold_fence(hold), fence);
    assert_int_equal(rival_hold_count(r), 0);
    /* The old primary has the key and the role of a primary, but no client. */
    assert_true(has_lock(PRIMARY, "x"));
    assert_true(strncmp(server_ask(sentinel_service->nodes[PRIMARY], "ROLE"), "master", 6) == 0);
    for (unsigned host = HOLDER; host <= OTHER; host++)
        assert_false(is_from(host, server_ask(sentinel_service->nodes[PRIMARY], "CLIENT LIST")));
    (void)server_ask(sentinel_service->nodes[PRIMARY], "CONFIG RESETSTAT");
    mend_all();
    (void)holder_stop(b);
    must_release(hold);
    assert_true(rival_await_hold(r));
    service_await_replicas(sentinel_service, now);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_null(
        strstr(server_ask(sentinel_service->nodes[PRIMARY], "INFO commandstats"), "cmdstat_hello"));
    assert_one_at_a_time(judge);
    bowline_close(client);
}

/* The holder is in the partition of the old primary: both holders are sure, until the partition
 * ends. Only the fence protects. */
TEST(holder_with_the_old_primary_is_sure_until_the_partition_ends)
{
    set_up(2, NULL, SHORT_MS);
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    lock_holder    *b      = holder_start(judge, hold);

    assert_true(lock_arrives(REPLICA, "x"));
    cut_from_replicas(PRIMARY);
    cut_from_replicas(HOLDER);
    cut_from_sentinels(PRIMARY);
    cut_from_sentinels(HOLDER);
    (void)replica_becomes_primary();
    bowline_hold *second    = acquire_on_other_host(other, "x", fence);
    int64_t       gained_us = witness_now_us();
    assert_true(bowline_hold_left_ms(hold) > 0); /* renewed by the old primary */
    mend_all();
    assert_true(holder_await_loss(b));
    print_overlap(gained_us, holder_stop(b));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(bowline_hold_left_ms(second) > 0);
    release_on_other_host(second);
    bowline_close(client);
    bowline_close(other);
}

/* The same with min-replicas-to-write: the old primary soon refuses, and the hold ends with its
 * lease during the partition. */
TEST(min_replicas_to_write_ends_the_hold_in_a_partition)
{
    char options[80];

    (void)snprintf(options, sizeof options, "--min-replicas-to-write 1 --min-replicas-max-lag %d",
                   LAG_S);
    set_up(NODES_MAX, options, SHORT_MS);
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    lock_holder    *b      = holder_start(judge, hold);

    cut_from_replicas(PRIMARY);
    cut_from_replicas(HOLDER);
    cut_from_sentinels(PRIMARY);
    cut_from_sentinels(HOLDER);
    service_allow_failover(sentinel_service);
    bowline_hold *second    = acquire_on_other_host(other, "x", fence);
    int64_t       gained_us = witness_now_us();
    assert_true(holder_await_loss(b)); /* the partition still exists */
    print_overlap(gained_us, holder_stop(b));
    assert_true(bowline_hold_left_ms(second) > 0);
    release_on_other_host(second);
    mend_all();
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(client);
    bowline_close(other);
}

/* The first sentinel and the old primary are in one partition, the others and the replica in
 * another one.  The holder's host reaches all of them. */
static void split_with_first_sentinel(void)
{
    net_cut(hosts, PRIMARY, REPLICA);
    for (unsigned i = 1; i < SERVICE_SENTINELS; i++) {
        net_cut(hosts, PRIMARY, host_of_sentinel(i));
        net_cut(hosts, host_of_sentinel(0), host_of_sentinel(i));
    }
    net_cut(hosts, host_of_sentinel(0), REPLICA);
    net_enter(hosts, HOLDER);
    (void)replica_becomes_primary();
}

/* The URL of one sentinel of the service. */
static const char *url_of_sentinel(unsigned i)
{
    static char text[200];

    (void)snprintf(text, sizeof text, "redis+sentinel://%s:%d/m?lease=%dms&timeout=1s",
                   net_address(hosts, host_of_sentinel(i)), sentinel_service->sentinels[i]->port,
                   LONG_MS);
    return text;
}

/* A client that queries the cut-off sentinel as the first of all gets its answer, and those of the
 * others, which have a newer epoch. */
TEST(sentinel_in_the_old_partition_does_not_win_over_a_newer_epoch)
{
    bowline_hold *second = NULL;

    set_up(2, NULL, LONG_MS);
    split_with_first_sentinel();
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url_of_sentinel(1));
    bowline_hold   *hold   = must_acquire(client, "x");
    assert_true(has_lock(REPLICA, "x"));
    assert_false(has_lock(PRIMARY, "x"));
    assert_status(BOWLINE_TIMEOUT, acquire_within(&second, other, "x", 500, NULL), NULL);
    must_release(hold);
    bowline_close(client);
    bowline_close(other);
}

/* A client that is connected to the old primary is subscribed to all sentinels, so it learns of the
 * new one from those that elected it. */
TEST(holder_at_the_old_primary_follows_the_newest_sentinel)
{
    set_up(2, NULL, LONG_MS);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    rival          *r      = rival_on_other_host("x");

    assert_true(lock_arrives(REPLICA, "x"));
    split_with_first_sentinel();
    assert_true(comes_from(HOLDER, sentinel_service->nodes[REPLICA]));
    must_extend_in_failover(hold);
    assert_int_equal(rival_hold_count(r), 0);
    (void)holder_stop(b);
    must_release(hold);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
}

typedef struct parallel_wait {
    bowline_client *client;
    bowline_hold   *hold;
    int             status;
} parallel_wait;

static void *wait_for_x(void *arg)
{
    parallel_wait *w = arg;

    w->status = acquire_within(&w->hold, w->client, "x", PATIENCE_MS / 4, NULL);
    return NULL;
}

/* A client that has seen the new epoch loses the path to all but the cut-off sentinel and the old
 * primary: it does not use them, on none of its connections. */
TEST(client_that_has_seen_a_newer_epoch_does_not_return)
{
    bowline_hold *hold = NULL;
    pthread_t     thread;

    set_up(2, NULL, LONG_MS);
    split_with_first_sentinel();
    bowline_client *client = must_open(url);
    must_release(must_acquire(client, "seen"));
    net_cut(hosts, HOLDER, REPLICA);
    for (unsigned i = 1; i < SERVICE_SENTINELS; i++)
        net_cut(hosts, HOLDER, host_of_sentinel(i));
    net_enter(hosts, HOLDER);
    parallel_wait w = { .client = client };
    assert_int_equal(pthread_create(&thread, NULL, wait_for_x, &w), 0);
    sleep_ms(100); /* it is in its call: the next one has a connection of its own */
    int status = acquire_within(&hold, client, "y", PATIENCE_MS / 4, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(status != BOWLINE_OK && w.status != BOWLINE_OK);
    assert_false(has_lock(PRIMARY, "x") || has_lock(PRIMARY, "y"));
    bowline_close(client);
}

/* A client that reaches only the cut-off sentinel uses the old primary: both holders are sure,
 * until this sentinel learns of the switch. */
TEST(client_of_only_the_sentinel_in_the_old_partition_uses_the_old_primary)
{
    set_up(2, NULL, LONG_MS);
    split_with_first_sentinel();
    bowline_client *client = must_open(url_of_sentinel(0));
    bowline_client *other  = must_open(url_of_sentinel(1));
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    lock_holder    *b      = holder_start(judge, hold);
    assert_true(has_lock(PRIMARY, "x"));

    bowline_hold *second    = acquire_on_other_host(other, "x", fence);
    int64_t       gained_us = witness_now_us();
    mend_all();
    assert_true(holder_await_loss(b));
    print_overlap(gained_us, holder_stop(b));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(bowline_hold_left_ms(second) > 0);
    release_on_other_host(second);
    bowline_close(client);
    bowline_close(other);
}

/* ---- half-open links ------------------------------------------------------------------------- */

/* Only the link between the holder and the primary is cut: the hold continues, no other client
 * acquires the lock, and the new primary is found without waiting for the silent one. */
TEST(hold_is_kept_when_only_its_link_to_the_primary_is_cut)
{
    set_up(2, NULL, LONG_MS);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    rival          *r      = rival_on_other_host("x");

    assert_true(lock_arrives(REPLICA, "x"));
    net_cut(hosts, PRIMARY, HOLDER);
    net_enter(hosts, HOLDER);
    int status = bowline_extend(hold, 0, NULL);
    assert_true(status == BOWLINE_UNKNOWN || status == BOWLINE_UNREACHABLE);
    assert_true(bowline_hold_left_ms(hold) > 0);
    server *now = service_switch(sentinel_service, sentinel_service->nodes[PRIMARY]);
    assert_true(comes_from(HOLDER, now));
    must_extend_in_failover(hold);
    assert_int_equal(rival_hold_count(r), 0);
    (void)holder_stop(b);
    must_release(hold);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
}

/* A sentinel to which the holder is subscribed. */
static unsigned subscribed_sentinel(void)
{
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++)
        if (is_from(HOLDER, server_ask(sentinel_service->sentinels[i], "CLIENT LIST TYPE pubsub")))
            return i;
    fail_msg("it is subscribed to no sentinel");
    return 0;
}

/* A subscribed sentinel becomes silent before the primary is cut off from all but the holder: the
 * client hears of the new primary from the others. */
static void check_follows_without(bool is_cut)
{
    set_up(2, NULL, LONG_MS);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    rival          *r      = rival_on_other_host("x");
    unsigned        silent = subscribed_sentinel();

    assert_true(lock_arrives(REPLICA, "x"));
    service_allow_failover(sentinel_service);
    if (is_cut)
        net_cut(hosts, HOLDER, host_of_sentinel(silent));
    else
        server_signal(sentinel_service->sentinels[silent], SIGSTOP);
    cut_from_replicas(PRIMARY);
    cut_from_sentinels(PRIMARY);
    assert_true(comes_from(HOLDER, sentinel_service->nodes[REPLICA]));
    if (!is_cut)
        server_signal(sentinel_service->sentinels[silent], SIGCONT);
    must_extend_in_failover(hold);
    assert_int_equal(rival_hold_count(r), 0);
    (void)holder_stop(b);
    must_release(hold);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
}

TEST(new_primary_is_found_when_the_subscribed_sentinel_is_silent)
{
    check_follows_without(true);
}
