/*
 * sessions.c -- the stores of a client: one after the pattern of another, their chain, their
 * end.  See session.h.
 *
 * Most clients have one.  A lock on most of several servers has one for each of them; of a cluster
 * the first one never connects, and behind it is one for each node that was asked for something.
 */
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"
#include "base/copy.h"
#include "base/secret.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_WORDS_MS = 100 };

/* ---- one ------------------------------------------------------------------------------------- */

bwl_redis_store *bwl_redis_new(bwl_host *client)
{
    bwl_redis_store *store = calloc(1, sizeof *store);

    if (store == NULL)
        return NULL;
    store->client = client;
    store->phase  = BWL_REDIS_DOWN;
    bwl_resp_stream_init(&store->conn, &client->reactor, bwl_redis_ready);
    bwl_dialer_init(&store->dialer, &store->conn.stream);
    store->conn.stream.silence_ms = client->settings.answer_ms;
    store->spin.is_off            = !client->settings.spins;
    return store;
}

void bwl_redis_free(bwl_redis_store *store)
{
    bwl_redis_free_nodes(store);
    bwl_stream_free(&store->conn.stream);
    if (!store->borrows_tls)
        bwl_tls_context_free(store->tls);
    bwl_dialer_forget(&store->dialer);
    bwl_sentinel_free(store->sentinel);
    free(store->host);
    bwl_secret_free(store->user);
    bwl_secret_free(store->password);
    free(store->key_template);
    free(store->questions);
    free(store->waiters);
    free(store->slots);
    free(store);
}

/* ---- one like another ------------------------------------------------------------------------ */

bwl_redis_store *bwl_redis_copy(bwl_host *client, const bwl_redis_store *its)
{
    bwl_redis_store *store = bwl_redis_new(client);
    bool             all   = true;

    if (store == NULL)
        return NULL;
    store->resolver     = its->resolver;
    store->tls          = its->tls; /* which the first one frees, as it is closed last */
    store->borrows_tls  = true;
    store->database     = its->database;
    store->queue_max    = its->queue_max;
    store->profile      = its->profile;
    store->is_of_many   = its->is_of_many;
    store->trusts_young = its->trusts_young;
    store->user         = bwl_copy_of(its->user, &all);
    store->password     = bwl_copy_of(its->password, &all);
    store->key_template = bwl_copy_of(its->key_template, &all);
    if (all)
        return store;
    bwl_redis_free(store);
    return NULL;
}

/* Everything that was learned of the server at the former host.  The next one is another process,
 * which gave none of our holds. */
static void forget_server(bwl_redis_store *store)
{
    store->run_id[0]         = '\0';
    store->is_another        = false;
    store->is_replica        = false;
    store->is_without_shards = false;
    store->failures          = 0;
    store->rests_until       = 0;
    store->to_be_killed      = 0;
    store->introduced_at     = 0;
    store->slots_new_until   = 0;
    store->processes++;
    if (store->slots != NULL)
        memset(store->slots, 0, BWL_CLUSTER_SLOTS * sizeof *store->slots);
    bwl_dialer_forget(&store->dialer);
}

int bwl_redis_set_host(bwl_redis_store *store, const char *host, uint16_t port)
{
    char *copied = strdup(host);

    assert(store->phase == BWL_REDIS_DOWN);
    if (copied == NULL)
        return BWL_STATUS_NOMEM;
    free(store->host);
    store->host = copied;
    store->port = port;
    forget_server(store);
    (void)snprintf(store->where, sizeof store->where, "%.100s:%u", host, (unsigned)port);
    if (store->tls != NULL)
        bwl_stream_secure(&store->conn.stream, store->tls, store->host);
    return BWL_OK;
}

static int share_place(bwl_redis_store *store, const bwl_redis_store *its)
{
    if (its->cluster != NULL)
        return bwl_redis_share_nodes(store, its);
    if (its->sentinel != NULL)
        return bwl_redis_share_sentinels(store, its);
    if (its->host != NULL)
        return bwl_redis_set_host(store, its->host, its->port);
    bwl_dialer_set_address(&store->dialer, &its->dialer.addresses[0]);
    memcpy(store->where, its->where, sizeof store->where);
    return BWL_OK;
}

/* ---- the chain ------------------------------------------------------------------------------- */

void bwl_redis_join(bwl_redis_store **first, bwl_redis_store *store)
{
    bwl_redis_store **end = first;

    while (*end != NULL)
        end = &(*end)->next;
    *end = store;
}

/* Of a cluster the others have their places from its nodes. */
int bwl_redis_share(bwl_host *client, const bwl_host *first)
{
    const bwl_redis_store *its    = first->store;
    bwl_redis_store       *stores = NULL;

    do {
        bwl_redis_store *store = bwl_redis_copy(client, its);
        if (store != NULL) {
            bwl_redis_join(&stores, store);
            store->node = its->node;
        }
        if (store == NULL || share_place(store, its) < 0) {
            bwl_redis_close_all(stores);
            return BWL_STATUS_NOMEM;
        }
        its = its->cluster == NULL ? its->next : NULL;
    } while (its != NULL);
    client->store = stores;
    client->nodes = first->nodes;
    return BWL_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Takes answers until the server has read all that it was sent, and closes; for a moment. */
static void await_end(bwl_host *client, int fd)
{
    struct pollfd something = { .fd = fd, .events = POLLIN };
    char          bytes[512];
    bwl_ms        end = bwl_host_now(client) + LAST_WORDS_MS;

    while (bwl_host_now(client) < end && poll(&something, 1, LAST_WORDS_MS) > 0 &&
           recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
}

/* The releases of a client that closes, to the kernel, if the server takes them within a moment. */
static void send_last_words(bwl_redis_store *store)
{
    bwl_stream *conn = &store->conn.stream;

    if (bwl_redis_listens(store))
        bwl_redis_take_leave(store);
    while (bwl_stream_flush(conn, NULL) == BWL_OK && conn->out_size > 0) {
        struct pollfd room = { .fd = conn->source.fd, .events = POLLOUT };
        if (poll(&room, 1, LAST_WORDS_MS) <= 0)
            return; /* what was not sent ends with its lease */
    }
    bwl_stream_goodbye(conn);
    /* Closed with answers unread, the line would be reset, and what the server has not read yet of
     * our releases with it. */
    bool is_answered = store->phase == BWL_REDIS_READY && store->questions_count == 0;
    if ((store->lingers || !is_answered) && shutdown(conn->source.fd, SHUT_WR) == 0)
        await_end(store->client, conn->source.fd);
}

static bool has_spoken(const bwl_redis_store *store)
{
    /* A greeting that is under way says who we are, which is to be taken back. */
    return store->phase == BWL_REDIS_READY ||
           (store->phase == BWL_REDIS_GREETING && bwl_redis_listens(store));
}

void bwl_redis_close_all(bwl_redis_store *first)
{
    bwl_redis_store *next;

    for (bwl_redis_store *store = first; store != NULL; store = store->next)
        if (store->client->closing && has_spoken(store))
            send_last_words(store);
    for (bwl_redis_store *store = first; store != NULL; store = next) {
        next = store->next;
        if (store != first)
            bwl_redis_free(store);
    }
    if (first != NULL)
        bwl_redis_free(first); /* the others have borrowed from it */
}

void bwl_redis_close(bwl_host *client)
{
    bwl_redis_close_all(client->store);
    client->store = NULL;
}
