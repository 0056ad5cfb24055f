/*
 * cluster.c -- see cluster.h.
 */
#include "tests/lib/cluster.h"
#include "tests/lib/certs.h"
#include "tests/lib/testing.h"

#include "engine/redis/wire/cluster.h"
#include "engine/redis/wire/key.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE_MS = 20000, NODE_TIMEOUT_MS = 1000, JOIN_TIMEOUT_MS = 60000, SLOTS = 16384 };

static bool runs(const cluster *c, unsigned node)
{
    return c->nodes[node]->pid != 0;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* The port at which a node listens for the others: it belongs to the TLS port if they use TLS. */
static int bus_port(const cluster *c, server *s)
{
    int port = s->port;

    if (c->authority != NULL)
        assert_int_equal(sscanf(server_ask(s, "CONFIG GET tls-port"), "tls-port %d", &port), 1);
    return port + SERVER_BUS_PORT_STEP;
}

static server *start_node(cluster *c, unsigned i)
{
    char options[500];
    int  size = snprintf(options, sizeof options,
                         "--cluster-enabled yes --cluster-node-timeout %d "
                          "--repl-diskless-sync-delay 0 --cluster-replica-validity-factor 0",
                         JOIN_TIMEOUT_MS);

    if (c->authority != NULL) {
        const char *at   = c->authority->directory;
        const char *name = i == CLUSTER_PRIMARIES - 1 ? "far" : "host";
        int         port = server_free_node_port();
        c->tls_port      = i == 0 ? port : c->tls_port;
        (void)snprintf(options + size, sizeof options - (size_t)size,
                       " --tls-cluster yes --tls-auth-clients no --tls-port %d --tls-cert-file "
                       "%s/%s.pem --tls-key-file %s/%s.key --tls-ca-cert-file %s/ca.pem",
                       port, at, name, at, name, at);
    }
    return server_start(options);
}

__attribute__((format(printf, 2, 3))) static void must_ok(server *s, const char *format, ...)
{
    char    command[160];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    const char *answer = server_ask(s, "%s", command);
    if (strcmp(answer, "OK") != 0)
        fail_msg("%s: %s", command, answer);
}

/* ADDSLOTSRANGE is of 7.0. */
static void give_slots(cluster *c, unsigned i)
{
    must_ok(c->nodes[i], "CLUSTER SET-CONFIG-EPOCH %u", i + 1);
    must_ok(c->nodes[i],
            "EVAL 'for slot = %u, %u do redis.call(\"CLUSTER\", \"ADDSLOTS\", slot) end "
            "return redis.status_reply(\"OK\")' 0",
            i * SLOTS / CLUSTER_PRIMARIES, (i + 1) * SLOTS / CLUSTER_PRIMARIES - 1);
}

/* Waits until the primary is known by its id, which takes a handshake. */
static void make_replica(cluster *c, unsigned node, unsigned of)
{
    char question[80];

    (void)snprintf(question, sizeof question, "CLUSTER REPLICATE %s", cluster_id(c, of));
    assert_true(server_comes_to(c->nodes[node], "OK", question) ||
                server_comes_to(c->nodes[node], "OK", question));
}

/* A node forgets a CLUSTER MEET that has not ended within the node timeout, which is therefore long
 * until all have joined. */
static void join_nodes(cluster *c)
{
    /* Every pair of nodes is joined here: gossip would take longer. */
    for (unsigned i = 0; i < c->count; i++)
        for (unsigned j = 0; j < i; j++)
            must_ok(c->nodes[j], "CLUSTER MEET 127.0.0.1 %d %d", c->nodes[i]->port,
                    bus_port(c, c->nodes[i]));
    for (unsigned i = CLUSTER_PRIMARIES; i < c->count; i++)
        make_replica(c, i, i - CLUSTER_PRIMARIES);
    for (unsigned i = CLUSTER_PRIMARIES; i < c->count; i++)
        assert_true(server_comes_to(c->nodes[i], "master_link_status:up", "INFO replication"));
    assert_true(cluster_comes_to(c, "ok"));
}

static void make_impatient(cluster *c)
{
    for (unsigned i = 0; i < c->count; i++)
        must_ok(c->nodes[i], "CONFIG SET cluster-node-timeout %d", NODE_TIMEOUT_MS);
}

static cluster *new_cluster(void)
{
    server_needed();
    cluster *c = calloc(1, sizeof *c);
    assert_non_null(c);
    return c;
}

static void start(cluster *c, unsigned count)
{
    c->count = count;
    for (unsigned i = 0; i < c->count; i++)
        c->nodes[i] = start_node(c, i);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        give_slots(c, i);
    join_nodes(c);
}

void cluster_queue_needed(void)
{
    server_needed();
    if (!server_is_new())
        skip_because("protocol queue needs Redis 7.0 in a cluster");
}

const char *cluster_protocol(void)
{
    return server_is_new() ? "queue" : "token";
}

static cluster *start_plain(bool has_replicas)
{
    cluster *c = new_cluster();

    start(c, has_replicas ? CLUSTER_NODES_MAX : CLUSTER_PRIMARIES);
    (void)snprintf(c->url, sizeof c->url, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
                   c->nodes[0]->port, c->nodes[1]->port, c->nodes[2]->port);
    (void)snprintf(c->token_url, sizeof c->token_url, "%s?protocol=token", c->url);
    return c;
}

cluster *cluster_start(bool has_replicas)
{
    cluster *c = start_plain(has_replicas);

    make_impatient(c);
    return c;
}

cluster *cluster_start_patient(void)
{
    return start_plain(false);
}

cluster *cluster_start_tls(void)
{
    cluster *c       = new_cluster();
    cert     far_one = { .name = "far", .issuer = "ca", .hosts = "DNS:far.example" };

    c->authority = server_start_tls(NULL);
    if (c->authority->tls_port == 0) {
        cluster_stop(c);
        skip_because("the server has no TLS");
    }
    certs_make(c->authority->directory, &far_one);
    start(c, CLUSTER_PRIMARIES);
    make_impatient(c);
    (void)snprintf(c->url, sizeof c->url, "rediss+cluster://127.0.0.1:%d?ca=%s/ca.pem", c->tls_port,
                   c->authority->directory);
    (void)snprintf(c->token_url, sizeof c->token_url, "%s&protocol=token", c->url);
    return c;
}

void cluster_stop(cluster *c)
{
    if (c == NULL)
        return;
    for (unsigned i = 0; i < c->count; i++)
        server_stop(c->nodes[i]);
    server_stop(c->authority);
    free(c);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int slot_of(const char *name)
{
    char   key[BWL_KEY_MAX];
    size_t size = bwl_key_write(key, NULL, name, strlen(name));

    return bwl_cluster_slot(key, size);
}

int cluster_slot_of(cluster *c, const char *name)
{
    int slot = slot_of(name);

    for (unsigned i = 0; i < c->count; i++)
        if (runs(c, i))
            assert_int_equal(atoi(server_ask(c->nodes[i], "CLUSTER KEYSLOT bowline:{%s}", name)),
                             slot);
    return slot;
}

const char *cluster_name_at(unsigned i, unsigned nth)
{
    static char name[24];

    for (unsigned n = 0;; n++) {
        (void)snprintf(name, sizeof name, "n%u", n);
        unsigned slot = (unsigned)slot_of(name);
        bool     is_in =
            slot >= i * SLOTS / CLUSTER_PRIMARIES && slot < (i + 1) * SLOTS / CLUSTER_PRIMARIES;
        if (is_in && nth-- == 0)
            return name;
    }
}

const char *cluster_id(cluster *c, unsigned node)
{
    return server_ask(c->nodes[node], "CLUSTER MYID");
}

unsigned cluster_owner(cluster *c, unsigned asked, int slot)
{
    char  answer[8192];
    char *rest = NULL;
    int   first, last, port;

    /* "first last host port id metadata host port id metadata first last ..." : a range is followed
     * by its nodes, and a host has dots. */
    (void)snprintf(answer, sizeof answer, "%s", server_ask(c->nodes[asked], "CLUSTER SLOTS"));
    for (char *word = strtok_r(answer, " ", &rest); word != NULL;) {
        char *second = strtok_r(NULL, " ", &rest);
        if (second == NULL)
            break;
        if (strchr(word, '.') == NULL && strlen(word) < 6 && strlen(second) < 6 &&
            sscanf(word, "%d", &first) == 1 && sscanf(second, "%d", &last) == 1) {
            (void)strtok_r(NULL, " ", &rest);
            char *text = strtok_r(NULL, " ", &rest);
            port       = text != NULL ? atoi(text) : 0;
            if (slot >= first && slot <= last)
                for (unsigned i = 0; i < c->count; i++)
                    if (c->nodes[i]->port == port)
                        return i;
            word = strtok_r(NULL, " ", &rest);
        } else {
            word = second;
        }
    }
    return CLUSTER_NODES_MAX;
}

void cluster_begin_move(cluster *c, int slot, unsigned from, unsigned to)
{
    must_ok(c->nodes[to], "CLUSTER SETSLOT %d IMPORTING %s", slot, cluster_id(c, from));
    must_ok(c->nodes[from], "CLUSTER SETSLOT %d MIGRATING %s", slot, cluster_id(c, to));
}

void cluster_move_key(cluster *c, const char *key, unsigned from, unsigned to)
{
    const char *answer =
        server_ask(c->nodes[from], "MIGRATE 127.0.0.1 %d '%s' 0 5000", c->nodes[to]->port, key);

    if (strcmp(answer, "OK") != 0 && strcmp(answer, "NOKEY") != 0)
        fail_msg("MIGRATE: %s", answer);
}

void cluster_move_keys(cluster *c, int slot, unsigned from, unsigned to)
{
    for (;;) {
        const char *key = server_ask(c->nodes[from], "CLUSTER GETKEYSINSLOT %d 1", slot);
        if (key[0] == '\0')
            return;
        cluster_move_key(c, key, from, to);
    }
}

void cluster_end_move(cluster *c, int slot, unsigned from, unsigned to)
{
    char command[120];

    (void)snprintf(command, sizeof command, "CLUSTER SETSLOT %d NODE %s", slot, cluster_id(c, to));
    must_ok(c->nodes[to], "%s", command);
    must_ok(c->nodes[from], "%s", command);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        if (i != to && i != from)
            must_ok(c->nodes[i], "%s", command);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool node_becomes_empty(server *s)
{
    int64_t end = clock_ms() + PATIENCE_MS / 2;

    /* Besides locks there are the counters of fences, and client info. */
    while (server_ask(s, "EVAL 'local kept = \"\" "
                         "for _, key in ipairs(redis.call(\"KEYS\", \"*\")) do "
                         "if not key:find(\"^bowline:f:\") and not key:find(\"^bowline:who:\") "
                         "then kept = kept .. key end end return kept' 0")[0] != '\0') {
        if (clock_ms() > end) {
            print_error("remaining: %s\n", server_ask(s, "KEYS *"));
            (void)server_ask(s, "FLUSHALL");
            return false;
        }
        sleep_ms(5);
    }
    return true;
}

bool cluster_becomes_empty(cluster *c)
{
    for (unsigned i = 0; i < c->count; i++)
        if (runs(c, i) && !node_becomes_empty(c->nodes[i]))
            return false;
    return true;
}

bool cluster_comes_to(cluster *c, const char *state)
{
    char part[40];

    (void)snprintf(part, sizeof part, "cluster_state:%s\\x", state);
    for (unsigned i = 0; i < c->count; i++)
        if (runs(c, i) && !server_comes_to(c->nodes[i], part, "CLUSTER INFO") &&
            !server_comes_to(c->nodes[i], part, "CLUSTER INFO"))
            return false;
    return true;
}

bool cluster_leaves(cluster *c, int slot, unsigned node)
{
    int64_t end = clock_ms() + PATIENCE_MS;

    for (unsigned i = 0; i < c->count; i++)
        for (; runs(c, i) && cluster_owner(c, i, slot) == node; sleep_ms(10))
            if (clock_ms() > end)
                return false;
    return true;
}
