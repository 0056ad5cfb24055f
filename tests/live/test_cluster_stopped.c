/*
 * test_cluster_stopped.c -- a node of a cluster is stopped: it keeps its connections, accepts new
 * ones, and answers nothing.
 *
 * The cluster needs its own time until the replica is elected. What is measured here is the time
 * after that: until a client that waits for the lock has it, and until each of several busy
 * clients has acquired a lock of that node again. It is printed. A client notices a silent node
 * after one reply time, which is longer here than the election takes.
 */
#include "tests/lib/cluster.h"
#include "tests/lib/judged.h"
#include "tests/lib/suite.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { CLIENTS = 6, NAMES = 4, NODE = 1, PATIENCE_MS = 60000 };
enum { LEASE_MS = 12000, REPLY_MS = 4000, SHORT_LEASE_MS = 2000, SHORT_REPLY_MS = 1000 };

static cluster    *c;
static char        url[400];
static atomic_bool stops;

static int begin(void **state)
{
    cluster_queue_needed();
    c = cluster_start(true);
    atomic_store(&stops, false);
    return 0;
}

static void set_url(int lease_ms, int reply_ms)
{
    (void)snprintf(url, sizeof url, "%s?lease=%dms&timeout=%dms", c->url, lease_ms, reply_ms);
}

static int end(void **state)
{
    if (c != NULL && c->nodes[NODE]->pid != 0)
        server_signal(c->nodes[NODE], SIGCONT);
    cluster_stop(c);
    c = NULL;
    return 0;
}

/* ---- busy clients ---------------------------------------------------------------------------- */

typedef struct busy {
    pthread_t       thread;
    bowline_client *client;
    char            names[NAMES][24];
    atomic_long     held_at; /* when it last acquired a lock; ms */
} busy;

/* Each with locks of its own, which no other client blocks. */
static void *acquire_and_release(void *arg)
{
    busy    *self = arg;
    unsigned turn = 0;

    while (!atomic_load(&stops)) {
        const char   *name = self->names[turn++ % NAMES];
        bowline_hold *hold = NULL;
        if (acquire_within(&hold, self->client, name, PATIENCE_MS, NULL) != BOWLINE_OK)
            continue;
        atomic_store(&self->held_at, (long)clock_ms());
        (void)bowline_release(hold, NULL);
        sleep_ms(1);
    }
    return NULL;
}

/* Stops the node, and waits until the others know its replica as the owner. Returns when. */
static int64_t stop_node(int slot, int64_t *ret_stopped)
{
    *ret_stopped = clock_ms();
    server_signal(c->nodes[NODE], SIGSTOP);
    for (int64_t last = clock_ms() + PATIENCE_MS; clock_ms() < last; sleep_ms(5)) {
        if (cluster_owner(c, 0, slot) == NODE + CLUSTER_PRIMARIES &&
            cluster_owner(c, 2, slot) == NODE + CLUSTER_PRIMARIES)
            return clock_ms();
    }
    fail_msg("no replica was elected");
    return 0;
}

FIXTURE(begin, end)

TEST(busy_clients_acquire_one_reply_time_after_a_node_stops)
{
    busy    clients[CLIENTS];
    int64_t stopped, latest = 0;
    int     slot = cluster_slot_of(c, cluster_name_at(NODE, 0));

    set_url(LEASE_MS, REPLY_MS);
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (busy){ .client = must_open(url) };
        for (unsigned k = 0; k < NAMES; k++)
            (void)snprintf(clients[i].names[k], sizeof clients[i].names[k], "%s",
                           cluster_name_at(NODE, i + CLIENTS * k));
        assert_int_equal(pthread_create(&clients[i].thread, NULL, acquire_and_release, &clients[i]),
                         0);
    }
    sleep_ms(500);
    int64_t elected = stop_node(slot, &stopped);
    for (unsigned i = 0; i < CLIENTS; i++) {
        int64_t last = elected + PATIENCE_MS;
        while (atomic_load(&clients[i].held_at) <= elected && clock_ms() < last)
            sleep_ms(1);
        int64_t held_at = atomic_load(&clients[i].held_at);
        latest          = held_at > latest ? held_at : latest;
        print_message("# client %u: %lld ms after the election\n", i,
                      (long long)(held_at - elected));
    }
    print_message("# elected after %lld ms; the last client acquired %lld ms later\n",
                  (long long)(elected - stopped), (long long)(latest - elected));
    atomic_store(&stops, true);
    for (unsigned i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
        bowline_close(clients[i].client);
    }
    assert_true(latest - elected <= REPLY_MS);
}

TEST(waiter_acquires_after_a_node_stops_when_the_lease_has_ended)
{
    bowline_hold *hold = NULL;
    int64_t       stopped;
    char          name[24];

    set_url(SHORT_LEASE_MS, SHORT_REPLY_MS);
    (void)snprintf(name, sizeof name, "%s", cluster_name_at(NODE, 0));
    int                     slot          = cluster_slot_of(c, name);
    bowline_client         *holder        = must_open(url);
    bowline_client         *second_client = must_open(url);
    bowline_hold           *held          = must_acquire(holder, name);
    bowline_operation      *op            = NULL;
    bowline_acquire_options options       = BOWLINE_ACQUIRE_INIT;
    options.wait_ms                       = PATIENCE_MS;
    assert_status(BOWLINE_OK, bowline_acquire_start(&op, second_client, name, &options, NULL),
                  NULL);
    sleep_ms(200);
    int64_t elected = stop_node(slot, &stopped);
    (void)bowline_release(held, NULL); /* or it is lost */
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, NULL), NULL);
    int64_t held_at = clock_ms();
    print_message("# elected after %lld ms; the waiter acquired %lld ms later\n",
                  (long long)(elected - stopped), (long long)(held_at - elected));
    assert_true(held_at - elected <= SHORT_LEASE_MS + 2 * SHORT_REPLY_MS);
    must_release(hold);
    bowline_close(holder);
    bowline_close(second_client);
}
