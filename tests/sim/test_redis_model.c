/*
 * test_redis_model.c -- the model of a Redis server by itself: what needs a clock, a replica, a
 * disk, a cluster or a sentinel, and so cannot be compared with a real server command by command.
 *
 * A story is a table: at a time, a link says a line, and all links together then get these bytes.
 */
#include "sim/redis/server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINKS = 3, OUT_ROOM = 1 << 16, MS_IN_US = 1000 };

#define BEGIN_US INT64_C(1700000000000000)

typedef struct world {
    model_server *server;
    model_link   *links[LINKS];
    char          out[LINKS][OUT_ROOM];
    bool          is_closed[LINKS];
    uint64_t      random;
    int64_t       now_us;
} world;

static world w, primary, replica; /* of each test */

static size_t number_of(void *link_data)
{
    return (size_t)(uintptr_t)link_data;
}

static void on_send(void *arg, void *link_data, const char *bytes, size_t size)
{
    world *to   = arg;
    char  *out  = to->out[number_of(link_data)];
    size_t used = strlen(out);

    if (used + size < OUT_ROOM) {
        memcpy(out + used, bytes, size);
        out[used + size] = '\0';
    }
}

static void on_close(void *arg, void *link_data)
{
    world *to = arg;

    to->is_closed[number_of(link_data)] = true;
}

static uint64_t on_random(void *arg)
{
    world *to = arg;

    to->random = to->random * 6364136223846793005u + 1442695040888963407u;
    return to->random >> 13;
}

static void begin_with(world *to, model_server_options options)
{
    static uint64_t processes;

    model_server_free(to->server);
    *to            = (world){ .random = ++processes, .now_us = BEGIN_US };
    options.now_us = BEGIN_US;
    options.host   = "10.0.0.1";
    if (options.version == 0)
        options.version = MODEL_REDIS_7_0;
    model_owner owner = { on_send, on_close, on_random, NULL, NULL, to };
    to->server        = model_server_new(&options, owner);
    for (size_t i = 0; i < LINKS; i++)
        to->links[i] = model_link_open(to->server, (void *)(uintptr_t)i, "10.0.0.9:5", to->now_us);
}

static void begin(world *to)
{
    begin_with(to, (model_server_options){ .port = 6379 });
}

static int begin_one(void **state)
{
    begin(&w);
    return 0;
}

static int end_all(void **state)
{
    model_server_free(w.server);
    model_server_free(primary.server);
    model_server_free(replica.server);
    w.server = primary.server = replica.server = NULL;
    return 0;
}

FIXTURE(begin_one, end_all)

static void at(world *to, int64_t ms)
{
    to->now_us = BEGIN_US + ms * MS_IN_US;
}

static void say(world *to, size_t link, const char *line)
{
    char text[1024];
    int  size = snprintf(text, sizeof text, "%s\r\n", line);

    model_link_feed(to->links[link], text, (size_t)size, to->now_us);
}

/* What the link has got since the last look. */
static void expect(world *to, size_t link, const char *bytes)
{
    assert_string_equal(to->out[link], bytes);
    to->out[link][0] = '\0';
}

static void ask(world *to, size_t link, const char *line, const char *reply)
{
    say(to, link, line);
    expect(to, link, reply);
}

static void forget(world *to, size_t link, const char *line)
{
    say(to, link, line);
    to->out[link][0] = '\0';
}

static void expect_effects(const world *to, uint64_t from, const char *text)
{
    const char *bytes;
    size_t      size;

    assert_true(model_server_effects(to->server, from, &bytes, &size));
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
}

static void copy_effects(const world *from, world *to)
{
    const char *bytes;
    size_t      size;

    assert_true(model_server_effects(from->server, model_server_offset(to->server), &bytes, &size));
    model_server_apply(to->server, bytes, size, to->now_us);
}

static bool is_equal(const world *a, const world *b)
{
    return model_dataset_equal(model_server_dataset(a->server), model_server_dataset(b->server));
}

/* ---- expiry ---------------------------------------------------------------------------------- */

TEST(expired_key_is_deleted_when_it_is_touched)
{
    ask(&w, 0, "SET k v PX 1000", "+OK\r\n");
    uint64_t offset = model_server_offset(w.server);
    at(&w, 1000);
    ask(&w, 0, "GET k", "$1\r\nv\r\n");
    ask(&w, 0, "PTTL k", ":0\r\n");
    at(&w, 1001);
    assert_int_equal(model_dataset_keys(model_server_dataset(w.server)), 1);
    expect_effects(&w, offset, "");
    ask(&w, 0, "EXISTS k", ":0\r\n");
    assert_int_equal(model_dataset_keys(model_server_dataset(w.server)), 0);
    expect_effects(&w, offset, "*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n");
}

TEST(lease_is_logged_as_a_moment)
{
    ask(&w, 0, "SET k v PX 1000", "+OK\r\n");
    expect_effects(&w, 0,
                   "*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$4\r\nPXAT\r\n$13\r\n"
                   "1700000001000\r\n");
}

TEST(tick_deletes_expired_keys_and_tells_who_tracks_them)
{
    forget(&w, 1, "HELLO 3");
    ask(&w, 0, "SET k v PX 10", "+OK\r\n");
    ask(&w, 1, "CLIENT TRACKING ON", "+OK\r\n");
    ask(&w, 1, "GET k", "$1\r\nv\r\n");
    at(&w, 11);
    model_server_tick(w.server, w.now_us);
    expect(&w, 1, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n");
    assert_int_equal(model_dataset_keys(model_server_dataset(w.server)), 0);
}

TEST(clock_that_jumps_back_keeps_a_key)
{
    ask(&w, 0, "SET k v PX 1000", "+OK\r\n");
    at(&w, -5000);
    ask(&w, 0, "PTTL k", ":6000\r\n");
}

TEST(watched_key_that_expires_breaks_the_transaction)
{
    forget(&w, 0, "SET k v PX 10");
    ask(&w, 0, "WATCH k", "+OK\r\n");
    forget(&w, 0, "MULTI");
    ask(&w, 0, "DEL k", "+QUEUED\r\n");
    at(&w, 11);
    ask(&w, 0, "EXEC", "*-1\r\n");
}

/* ---- replicas -------------------------------------------------------------------------------- */

TEST(replica_does_not_expire_by_itself)
{
    begin(&primary);
    begin(&replica);
    model_server_follow(replica.server, "10.0.0.1", 6379, replica.now_us);
    model_server_primary_link(replica.server, true, replica.now_us);
    forget(&primary, 0, "SET k v PX 10");
    copy_effects(&primary, &replica);
    at(&primary, 11);
    at(&replica, 11);
    model_server_tick(replica.server, replica.now_us);
    ask(&replica, 0, "GET k", "$-1\r\n");
    assert_int_equal(model_dataset_keys(model_server_dataset(replica.server)), 1);
    ask(&replica, 0, "DEL k", "-READONLY You can't write against a read only replica.\r\n");
    forget(&primary, 0, "GET k");
    copy_effects(&primary, &replica);
    assert_int_equal(model_dataset_keys(model_server_dataset(replica.server)), 0);
}

TEST(transaction_reaches_a_replica_as_a_whole)
{
    const char *bytes;
    size_t      size;

    begin(&primary);
    begin(&replica);
    model_server_follow(replica.server, "10.0.0.1", 6379, replica.now_us);
    forget(&primary, 0, "SELECT 3");
    forget(&primary, 0, "EVAL \"redis.call('SET','a',1) redis.call('INCR','a')\" 0");
    assert_true(model_server_effects(primary.server, 0, &bytes, &size));
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(model_dataset_keys(model_server_dataset(replica.server)), 0);
        model_server_apply(replica.server, bytes + i, 1, replica.now_us);
    }
    assert_true(is_equal(&primary, &replica));
    assert_int_equal(model_server_offset(replica.server), size);
}

TEST(full_synchronization_copies_the_data)
{
    begin(&primary);
    begin(&replica);
    forget(&primary, 0, "SET a 1");
    forget(&replica, 0, "SET b 1");
    model_server_follow(replica.server, "10.0.0.1", 6379, replica.now_us);
    model_server_load(replica.server, model_server_dataset(primary.server),
                      model_server_offset(primary.server), replica.now_us);
    forget(&primary, 0, "ZADD z 1 x");
    copy_effects(&primary, &replica);
    assert_true(is_equal(&primary, &replica));
    model_server_follow(replica.server, NULL, 0, replica.now_us);
    ask(&replica, 0, "SET c 1", "+OK\r\n");
    assert_false(is_equal(&primary, &replica));
}

TEST(stale_replica_refuses)
{
    assert_true(model_server_configure(w.server, "replica-serve-stale-data", "no"));
    model_server_follow(w.server, "10.0.0.2", 6379, w.now_us);
    ask(&w, 0, "GET k",
        "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set "
        "to 'no'.\r\n");
    model_server_primary_link(w.server, true, w.now_us);
    ask(&w, 0, "GET k", "$-1\r\n");
    ask(&w, 0, "ROLE", "*5\r\n$5\r\nslave\r\n$8\r\n10.0.0.2\r\n:6379\r\n$9\r\nconnected\r\n:0\r\n");
}

TEST(wait_ends_with_an_acknowledgement_or_its_time)
{
    model_server_acked(w.server, 0, 0, w.now_us);
    say(&w, 0, "SET k v\r\nWAIT 1 500\r\nGET k");
    expect(&w, 0, "+OK\r\n");
    assert_int_equal(model_server_deadline(w.server), w.now_us + 500 * MS_IN_US);
    model_server_acked(w.server, 0, model_server_offset(w.server) - 1, w.now_us);
    expect(&w, 0, "");
    model_server_acked(w.server, 0, model_server_offset(w.server), w.now_us);
    expect(&w, 0, ":1\r\n$1\r\nv\r\n");
    assert_int_equal(model_server_deadline(w.server), INT64_MAX);
    say(&w, 0, "SET k w\r\nWAIT 1 500");
    at(&w, 499);
    model_server_tick(w.server, w.now_us);
    expect(&w, 0, "+OK\r\n");
    at(&w, 500);
    model_server_tick(w.server, w.now_us);
    expect(&w, 0, ":0\r\n");
}

TEST(new_replica_ends_the_links_that_wait)
{
    say(&w, 0, "WAIT 1 0");
    model_server_follow(w.server, "10.0.0.2", 6379, w.now_us);
    expect(&w, 0,
           "-UNBLOCKED force unblock from blocking operation, instance state changed (master "
           "-> replica?)\r\n");
    assert_true(w.is_closed[0]);
}

TEST(too_few_replicas_refuse_writes)
{
    assert_true(model_server_configure(w.server, "min-replicas-to-write", "1"));
    ask(&w, 0, "SET k v", "-NOREPLICAS Not enough good replicas to write.\r\n");
    model_server_acked(w.server, 2, 0, w.now_us);
    ask(&w, 0, "SET k v", "+OK\r\n");
    at(&w, 11000);
    ask(&w, 0, "SET k v", "-NOREPLICAS Not enough good replicas to write.\r\n");
}

/* ---- disks ----------------------------------------------------------------------------------- */

TEST(restart_loses_what_was_not_on_the_disk)
{
    begin(&primary);
    begin(&replica);
    forget(&primary, 0, "SET a 1");
    copy_effects(&primary, &replica);
    forget(&primary, 0, "SET b 1");
    begin_with(&w, (model_server_options){ .port    = 6379,
                                           .dataset = model_server_dataset(replica.server),
                                           .offset  = model_server_offset(replica.server) });
    ask(&w, 0, "MGET a b", "*2\r\n$1\r\n1\r\n$-1\r\n");
    assert_true(is_equal(&w, &replica));
    assert_string_not_equal(model_server_run_id(primary.server), model_server_run_id(w.server));
}

/* ---- memory ---------------------------------------------------------------------------------- */

TEST(full_server_evicts_by_its_policy)
{
    char        line[64];
    char       *dump;
    const char *policies[] = { "allkeys-lru", "volatile-ttl" };

    for (size_t i = 0; i < 2; i++) {
        begin(&w);
        for (int key = 0; key < 100; key++) {
            (void)snprintf(line, sizeof line, "SET key%d v PX %d", key, 100000 + key);
            forget(&w, 0, line);
        }
        forget(&w, 0, "SET lasting v");
        assert_true(model_server_configure(w.server, "maxmemory-policy", policies[i]));
        assert_true(model_server_configure(w.server, "maxmemory", "1055000"));
        ask(&w, 0, "SET more v", "+OK\r\n");
        assert_true(model_dataset_keys(model_server_dataset(w.server)) < 100);
        dump = model_dataset_dump(model_server_dataset(w.server));
        assert_non_null(strstr(dump, "more"));
        free(dump);
    }
}

/* ---- clusters -------------------------------------------------------------------------------- */

static model_cluster_view *view_of_two(void)
{
    model_cluster_view *view = calloc(1, sizeof *view);

    assert_non_null(view);
    view->nodes_count = 2;
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf(view->nodes[i].host, sizeof view->nodes[i].host, "10.0.0.%u", i + 1);
        (void)snprintf(view->nodes[i].id, sizeof view->nodes[i].id, "%040u", i + 1);
        view->nodes[i].port    = 6379;
        view->nodes[i].primary = MODEL_NO_NODE;
    }
    for (unsigned slot = 0; slot < MODEL_VIEW_SLOTS; slot++) {
        view->owner[slot]          = slot < 8192 ? 0 : 1;
        view->migrating_to[slot]   = MODEL_NO_NODE;
        view->importing_from[slot] = MODEL_NO_NODE;
    }
    return view;
}

/* "b" is in slot 3300, "a" in 15495. */
TEST(node_redirects_by_its_view)
{
    model_cluster_view *view = view_of_two();

    begin_with(&w, (model_server_options){ .port = 6379, .is_cluster = true });
    ask(&w, 0, "GET b", "-CLUSTERDOWN Hash slot not served\r\n");
    model_server_set_view(w.server, view, w.now_us);
    ask(&w, 0, "CLUSTER KEYSLOT a", ":15495\r\n");
    ask(&w, 0, "SET b 1", "+OK\r\n");
    ask(&w, 0, "GET a", "-MOVED 15495 10.0.0.2:6379\r\n");
    ask(&w, 0, "MGET a b", "-CROSSSLOT Keys in request don't hash to the same slot\r\n");
    ask(&w, 0, "EVAL \"return redis.call('GET','a')\" 0",
        "-ERR Script attempted to access a non local key in a cluster node script: "
        "8a2f221803757b26fc7d283bec7ba834d91202c9, on @user_script:1.\r\n");
    view->migrating_to[3300] = 1;
    model_server_set_view(w.server, view, w.now_us);
    ask(&w, 0, "GET b", "$1\r\n1\r\n");
    ask(&w, 0, "GET {b}x", "-ASK 3300 10.0.0.2:6379\r\n");
    ask(&w, 0, "MGET b {b}x", "-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
    view->importing_from[15495] = 1;
    model_server_set_view(w.server, view, w.now_us);
    ask(&w, 0, "GET a", "-MOVED 15495 10.0.0.2:6379\r\n");
    say(&w, 0, "ASKING\r\nSET a 1\r\nGET a");
    expect(&w, 0, "+OK\r\n+OK\r\n-MOVED 15495 10.0.0.2:6379\r\n");
    view->is_down = true;
    model_server_set_view(w.server, view, w.now_us);
    ask(&w, 0, "GET b", "-CLUSTERDOWN The cluster is down\r\n");
    free(view);
}

TEST(shard_channels_end_when_their_slot_moves)
{
    model_cluster_view *view = view_of_two();

    begin_with(&w, (model_server_options){ .port = 6379, .is_cluster = true });
    model_server_set_view(w.server, view, w.now_us);
    forget(&w, 0, "HELLO 3");
    ask(&w, 0, "SSUBSCRIBE b", ">3\r\n$10\r\nssubscribe\r\n$1\r\nb\r\n:1\r\n");
    view->owner[3300] = 1;
    model_server_set_view(w.server, view, w.now_us);
    expect(&w, 0, ">3\r\n$12\r\nsunsubscribe\r\n$1\r\nb\r\n:0\r\n");
    ask(&w, 0, "SPUBLISH b x", "-MOVED 3300 10.0.0.2:6379\r\n");
    free(view);
}

/* ---- sentinels ------------------------------------------------------------------------------- */

TEST(sentinel_announces_a_new_primary)
{
    model_sentinel_view view = { .services_count = 1 };

    strcpy(view.services[0].name, "m");
    view.services[0].primary = (model_peer){ "10.0.0.1", 6379 };
    begin_with(&w, (model_server_options){ .port = 26379, .is_sentinel = true });
    model_server_set_services(w.server, &view, w.now_us);
    forget(&w, 0, "HELLO 3");
    forget(&w, 0, "SUBSCRIBE +switch-master");
    ask(&w, 0, "SENTINEL GET-MASTER-ADDR-BY-NAME m", "*2\r\n$8\r\n10.0.0.1\r\n$4\r\n6379\r\n");
    ask(&w, 0, "SENTINEL GET-MASTER-ADDR-BY-NAME x", "_\r\n");
    ask(&w, 1, "GET k", "-ERR unknown command 'GET', with args beginning with: 'k' \r\n");
    view.services[0].primary = (model_peer){ "10.0.0.2", 6380 };
    model_server_set_services(w.server, &view, w.now_us);
    expect(&w, 0,
           ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$29\r\nm 10.0.0.1 6379 10.0.0.2 "
           "6380\r\n");
}

/* ---- input ----------------------------------------------------------------------------------- */

TEST(any_bytes_are_survived)
{
    static const char *const pieces[] = {
        /* frames, and parts of them */
        "*3\r\n", "$3\r\n", "SET\r\n", "$1\r\n", "k\r\n", "*", "$", "\r\n", "-1\r\n",
        "99999999999\r\n", "*0\r\n", "*1\r\n$4\r\nPING\r\n",
        /* lines of words, and their quotes */
        "EVAL \"return {1,{2}}\" 0\r\n", "MULTI\r\n", "EXEC\r\n", "SUBSCRIBE a\r\n", "HELLO 3\r\n",
        "CLIENT KILL ID 2\r\n", "RESET\r\n", "QUIT\r\n", "\"", "'", "\\x4", "\0\n"
    };
    for (int i = 0; i < 200000; i++) {
        size_t      link  = on_random(&w) % LINKS;
        const char *piece = pieces[on_random(&w) % (sizeof pieces / sizeof *pieces)];
        model_link_feed(w.links[link], piece, strlen(piece), w.now_us);
        w.out[link][0] = '\0';
        for (size_t other = 0; other < LINKS; other++) {
            if (!w.is_closed[other])
                continue;
            model_link_closed(w.links[other]);
            w.is_closed[other] = false;
            w.links[other] =
                model_link_open(w.server, (void *)(uintptr_t)other, "10.0.0.9:5", w.now_us);
        }
    }
}
