/*
 * test_sentinel_split.c -- the network falls apart between the parts of a service: the primary, its
 * replicas, the sentinels, who holds a lock and who wants it, each on a host of its own (net.h).
 *
 * What is expected of each case is a row of docs/guarantees.md.  A way that is cut is cut in
 * silence.  Where two may believe at once, the fence tells them apart, and how long both did is
 * printed.
 */
#include "tests/lib/judged.h"
#include "tests/lib/sentinels.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONG_MS = 120000, SHORT_MS = 3000, LAG_S = 2, PATIENCE_MS = 20000 };
enum { PRIMARY = 0, REPLICA = 1, NODES_MAX = 3, HOSTS = NODES_MAX + SERVICE_SENTINELS + 2 };
enum { HOLDER = HOSTS - 2, OTHER = HOSTS - 1 };

static net     *hosts;
static service *there;
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
    service_stop(there);
    judge_dismiss(judge);
    if (hosts != NULL)
        net_leave(hosts);
    net_free(hosts);
    there = NULL;
    judge = NULL;
    return 0;
}

/* From here on we are on the holder's host. */
static void set_up(unsigned nodes_count, const char *options, int lease_ms)
{
    if (hosts == NULL)
        skip();
    there = service_start_apart(hosts, nodes_count, options);
    (void)snprintf(url, sizeof url, "%s?lease=%dms&timeout=1s", there->url, lease_ms);
    net_enter(hosts, HOLDER);
}

static unsigned host_of_sentinel(unsigned i)
{
    return there->nodes_count + i;
}

static void cut_from_sentinels(unsigned host)
{
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++)
        net_cut(hosts, host, host_of_sentinel(i));
    net_enter(hosts, HOLDER);
}

static void cut_from_replicas(unsigned host)
{
    for (unsigned i = REPLICA; i < there->nodes_count; i++)
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
    return strcmp(server_ask(there->nodes[node], "EXISTS bowline:{%s}", name), "1") == 0;
}

static bool lock_arrives(unsigned node, const char *name)
{
    char question[80];

    (void)snprintf(question, sizeof question, "EXISTS bowline:{%s}", name);
    return server_comes_to(there->nodes[node], "1", question);
}

/* Somebody from this host is among the clients of a list. */
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
        comes            = list != NULL && is_from(host, list); /* who is promoted hangs up once */
    }
    return comes;
}

static server *replica_becomes_primary(void)
{
    return service_primary(there, there->nodes[PRIMARY]);
}

static void must_extend(bowline_hold *hold)
{
    int status = BOWLINE_UNREACHABLE;

    for (int64_t last = clock_ms() + PATIENCE_MS;
         (status == BOWLINE_UNREACHABLE || status == BOWLINE_UNKNOWN) && clock_ms() < last;
         sleep_ms(5))
        status = bowline_extend(hold, 0, NULL);
    assert_status(BOWLINE_OK, status, NULL);
}

/* The other one, who has asked for nothing yet, gets it on its host, where all that it begins will
 * be; with a fence above this one. */
static bowline_hold *other_gets(bowline_client *other, const char *name, uint64_t fence)
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

static void other_gives_back(bowline_hold *hold)
{
    net_enter(hosts, OTHER);
    must_release(hold);
    net_enter(hosts, HOLDER);
}

static void tell_overlap(int64_t gained_us, int64_t sure_us)
{
    print_message("# both believed for %lld ms\n",
                  (long long)(sure_us > gained_us ? (sure_us - gained_us) / 1000 : 0));
}

/* ---- the primary is cut off ------------------------------------------------------------------ */

FIXTURE(begin, end)

/* From all but the holder, who hears the sentinels: the hold is found at the new primary, and what
 * the old one says is not asked for any more, also when it is back. */
TEST(holder_who_hears_the_sentinels_leaves_a_primary_that_is_cut_off)
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
    must_extend(hold);
    assert_int_equal(bowline_hold_fence(hold), fence);
    assert_int_equal(rival_hold_count(r), 0);
    /* It has the key, and believes to be what it was; nobody asks. */
    assert_true(has_lock(PRIMARY, "x"));
    assert_true(strncmp(server_ask(there->nodes[PRIMARY], "ROLE"), "master", 6) == 0);
    for (unsigned host = HOLDER; host <= OTHER; host++)
        assert_false(is_from(host, server_ask(there->nodes[PRIMARY], "CLIENT LIST")));
    (void)server_ask(there->nodes[PRIMARY], "CONFIG RESETSTAT");
    mend_all();
    (void)holder_stop(b);
    must_release(hold);
    assert_true(rival_await_hold(r));
    service_settles(there, now);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_null(strstr(server_ask(there->nodes[PRIMARY], "INFO commandstats"), "cmdstat_hello"));
    assert_one_at_a_time(judge);
    bowline_close(client);
}

/* The holder is on the side of the old primary and hears nobody else: both believe, until it can
 * hear again.  The fence is what is left. */
TEST(holder_beside_the_old_primary_believes_until_it_hears)
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
    bowline_hold *second    = other_gets(other, "x", fence);
    int64_t       gained_us = witness_now_us();
    assert_true(bowline_hold_left_ms(hold) > 0); /* renewed, by one who may not any more */
    mend_all();
    assert_true(holder_await_loss(b));
    tell_overlap(gained_us, holder_stop(b));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(bowline_hold_left_ms(second) > 0);
    other_gives_back(second);
    bowline_close(client);
    bowline_close(other);
}

/* The same where a primary must have a replica that answers: the old one refuses soon, and the
 * hold ends with its lease, whether it hears anybody or not. */
TEST(primary_that_must_have_a_replica_ends_the_hold)
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
    bowline_hold *second    = other_gets(other, "x", fence);
    int64_t       gained_us = witness_now_us();
    assert_true(holder_await_loss(b)); /* nothing has been mended */
    tell_overlap(gained_us, holder_stop(b));
    assert_true(bowline_hold_left_ms(second) > 0);
    other_gives_back(second);
    mend_all();
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(client);
    bowline_close(other);
}

/* A sentinel is cut off together with the old primary, and names it to whoever asks it first,
 * though he reaches all of them: both believe, until that one hears of the switch. */
TEST(sentinel_beside_the_old_primary_leads_to_it)
{
    char beside[200];

    set_up(2, NULL, LONG_MS);
    net_cut(hosts, PRIMARY, REPLICA);
    for (unsigned i = 1; i < SERVICE_SENTINELS; i++) {
        net_cut(hosts, PRIMARY, host_of_sentinel(i));
        net_cut(hosts, host_of_sentinel(0), host_of_sentinel(i));
    }
    net_cut(hosts, host_of_sentinel(0), REPLICA);
    net_enter(hosts, HOLDER);
    (void)replica_becomes_primary();
    bowline_client *client = must_open(url); /* it asks the first one first */
    (void)snprintf(beside, sizeof beside, "redis+sentinel://%s:%d/m?lease=%dms",
                   net_address(hosts, host_of_sentinel(1)), there->sentinels[1]->port, LONG_MS);
    bowline_client *other = must_open(beside);
    bowline_hold   *hold  = must_acquire(client, "x");
    uint64_t        fence = bowline_hold_fence(hold);
    lock_holder    *b     = holder_start(judge, hold);
    assert_true(has_lock(PRIMARY, "x"));

    bowline_hold *second    = other_gets(other, "x", fence);
    int64_t       gained_us = witness_now_us();
    mend_all();
    assert_true(holder_await_loss(b));
    tell_overlap(gained_us, holder_stop(b));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(bowline_hold_left_ms(second) > 0);
    other_gives_back(second);
    bowline_close(client);
    bowline_close(other);
}

/* ---- half-open ------------------------------------------------------------------------------- */

/* The holder's way to the primary is cut, and no other: the hold goes on, nobody else gets in, and
 * when there is another primary it is found without waiting for the one that is silent. */
TEST(half_open_way_to_the_primary)
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
    server *now = service_switch(there, there->nodes[PRIMARY]);
    assert_true(comes_from(HOLDER, now));
    must_extend(hold);
    assert_int_equal(rival_hold_count(r), 0);
    (void)holder_stop(b);
    must_release(hold);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
}

/* Which of the sentinels the holder listens to. */
static unsigned listened_to(void)
{
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++)
        if (is_from(HOLDER, server_ask(there->sentinels[i], "CLIENT LIST TYPE pubsub")))
            return i;
    fail_msg("it listens to no sentinel");
    return 0;
}

/* The one sentinel that it listens to has fallen silent before the primary is cut off from all but
 * the holder, whose line to it is as ever: another one is listened to. */
static void follows_without(bool is_cut)
{
    set_up(2, NULL, LONG_MS);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    rival          *r      = rival_on_other_host("x");
    unsigned        silent = listened_to();

    assert_true(lock_arrives(REPLICA, "x"));
    if (is_cut)
        net_cut(hosts, HOLDER, host_of_sentinel(silent));
    else
        server_signal(there->sentinels[silent], SIGSTOP);
    cut_from_replicas(PRIMARY);
    cut_from_sentinels(PRIMARY);
    assert_true(comes_from(HOLDER, there->nodes[REPLICA]));
    if (!is_cut)
        server_signal(there->sentinels[silent], SIGCONT);
    must_extend(hold);
    assert_int_equal(rival_hold_count(r), 0);
    (void)holder_stop(b);
    must_release(hold);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
}

TEST(half_open_way_to_the_sentinel)
{
    follows_without(true);
}
