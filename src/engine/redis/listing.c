/*
 * listing.c -- the held names of a store on Redis servers.
 *
 * A step looks at some hundred keys of one server, and then queries the holders of those that are
 * keys of locks, in one pipeline:
 *
 *      SCAN cursor --keys--> a page: holder queries --all decided--> the held names, next cursor
 *
 * SCAN shows every key that is there from the beginning of the scan to its end.  The server does
 * nothing else during a step, so a step is short.  A cursor is valid in one server process: after a
 * restart or a failover, the scan of that server begins again, and the names come twice (api/list.c
 * drops them).
 *
 *      single, sentinel    one scan
 *      cluster             a scan of each primary; the queries go to the node of their slot
 *      quorum              scans of a majority of the servers: a lock is on a majority too, so on
 *                          one of them at least; the queries go to all, as bowline_who does
 *
 * The cursor moves on when a page is complete: a step that failed is repeated.  The requests of a
 * page may outlive its step, and the page is kept for them.
 */
#include "base/fault.h"
#include "engine/listing.h"
#include "engine/redis/holder_query.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/wire/scan.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE_ROOM = 64 };

typedef struct page page;

/* A key of a lock, and who holds it. */
typedef struct item {
    page            *page;
    uint16_t         slot;
    uint16_t         name_size;
    char             name[BWL_NAME_MAX + 1];
    bwl_redis_query *queries; /* one for each server */
} item;

/* The items of one step. */
struct page {
    page            *next;
    size_t           count;
    size_t           undecided; /* items, and one while they are submitted */
    size_t           in_flight; /* requests that point here */
    item            *items;
    bwl_redis_query *queries;
};

typedef struct walk {
    page     *pages; /* the newest is that of the step; the others have requests in flight */
    unsigned  node;  /* that is scanned: in a cluster its number, NOBODY: not chosen */
    uint64_t  cursor;
    uint64_t  next_cursor;
    uint64_t  steps;   /* of this node */
    uint64_t  before;  /* keys of the nodes that are done */
    uint64_t  keys;    /* of this node */
    unsigned  counted; /* nodes that are done */
    uint64_t  opened;  /* the connection of this scan */
    char      run_id[BWL_REDIS_RUN_ID_SIZE + 1];
    bool      is_running; /* a step */
    bool      no_memory;
    bwl_fault skipped;                         /* why the latest server of a quorum was skipped */
    bool      done[BWL_CLUSTER_NODES_MAX + 1]; /* of a cluster, by number */
    char      pattern[BWL_KEY_PATTERN_MAX];
} walk;

static walk *walk_of(const bwl_engine_lock *lock)
{
    return lock->listing->walk;
}

static bwl_cluster *cluster_of(const bwl_engine_lock *lock)
{
    return bwl_redis_of(lock->host)->router.cluster;
}

static bool is_quorum(const bwl_engine_lock *lock)
{
    return bwl_redis_of(lock->host)->router.config->topology == BWL_TOPOLOGY_QUORUM;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void page_free(page *p)
{
    free(p->items);
    free(p->queries);
    free(p);
}

/* Frees those that nothing points to. */
static void drop_pages(walk *w)
{
    for (page **at = &w->pages; *at != NULL;) {
        page *p = *at;
        if (p->in_flight > 0 || p->undecided > 0) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        page_free(p);
    }
}

static page *page_new(walk *w, size_t count, unsigned nodes)
{
    page *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->items   = calloc(count + 1, sizeof *p->items);
    p->queries = calloc(count * nodes + 1, sizeof *p->queries);
    if (p->items == NULL || p->queries == NULL) {
        page_free(p);
        return NULL;
    }
    p->next  = w->pages;
    w->pages = p;
    return p;
}

void bwl_redis_list_end(bwl_engine_lock *lock)
{
    walk *w = lock->listing != NULL ? walk_of(lock) : NULL;

    if (w == NULL)
        return;
    while (w->pages != NULL) {
        page *p  = w->pages;
        w->pages = p->next;
        page_free(p);
    }
    free(w);
    lock->listing->walk = NULL;
}

/* ---- the end of a step ----------------------------------------------------------------------- */

static void end_step(bwl_engine_lock *lock)
{
    walk_of(lock)->is_running = false;
    drop_pages(walk_of(lock));
    bwl_host_query_done(lock);
}

static void fail(bwl_engine_lock *lock, bwl_answer answer)
{
    lock->listing->fault.status = bwl_redis_query_status(lock, answer, &lock->listing->fault);
}

static void begin_node(walk *w, unsigned node)
{
    w->node        = node;
    w->cursor      = 0;
    w->next_cursor = 0;
    w->steps       = 0;
    w->keys        = 0;
}

/* A quorum: all servers were tried, and too few could be scanned.  The next step begins again. */
static void fail_quorum(bwl_engine_lock *lock)
{
    walk *w = walk_of(lock);

    (void)bwl_fail_because(&lock->listing->fault, BWL_STATUS_UNREACHABLE, &w->skipped, "%s",
                           w->skipped.text);
    begin_node(w, 0);
    w->counted = 0;
    w->before  = 0;
}

/* The scan of this server is over. */
static void end_node(bwl_engine_lock *lock)
{
    walk        *w       = walk_of(lock);
    bwl_listing *listing = lock->listing;
    unsigned     nodes   = lock->host->nodes;

    w->counted++;
    w->before += w->keys;
    if (cluster_of(lock) != NULL) {
        w->done[w->node] = true;
        begin_node(w, BWL_NOBODY);
        return;
    }
    listing->is_at_end = !is_quorum(lock) || w->counted == nodes - nodes / 2;
    begin_node(w, w->node + 1);
    if (!listing->is_at_end && w->node == nodes)
        fail_quorum(lock);
}

static void note_progress(bwl_engine_lock *lock)
{
    const walk  *w       = walk_of(lock);
    bwl_listing *listing = lock->listing;
    uint64_t     here    = w->steps * BWL_SCAN_COUNT;
    unsigned     nodes   = is_quorum(lock) ? lock->host->nodes - lock->host->nodes / 2 : 1;

    if (cluster_of(lock) != NULL)
        nodes = bwl_cluster_count_primaries(cluster_of(lock));
    if (w->next_cursor == 0 || (w->keys != 0 && here > w->keys))
        here = w->keys;
    listing->looked_at = w->before + here;
    if (w->keys != 0) /* the others are taken to have as many */
        listing->total = w->before + w->keys * (nodes > w->counted ? nodes - w->counted : 1);
}

static bool is_open_template(const bwl_engine_lock *lock)
{
    const char *template = bwl_redis_of(lock->host)->router.config->key_template;

    return template != NULL && strcmp(template, "%s") == 0;
}

/* False: out of memory. */
static bool add_held(bwl_engine_lock *lock, const item *it)
{
    bwl_redis_query result = bwl_redis_result_of(it->queries, lock->host->nodes);
    bwl_holder      holder;

    bwl_redis_fill_in(&holder, &result.look, lock);
    if (!holder.held || (holder.foreign && is_open_template(lock)))
        return true;
    bwl_listed *listed = bwl_listing_add(lock->listing, it->name, it->name_size);
    if (listed != NULL)
        listed->holder = holder;
    return listed != NULL;
}

/* Every item is decided.  Nothing is listed if one of them failed: the step is repeated. */
static void end_page(bwl_engine_lock *lock, const page *p)
{
    walk *w = walk_of(lock);

    for (size_t i = 0; i < p->count; i++) {
        bwl_redis_query result = bwl_redis_result_of(p->items[i].queries, lock->host->nodes);
        if (result.answer != BWL_YES) {
            fail(lock, result.answer);
            end_step(lock);
            return;
        }
    }
    w->steps++;
    note_progress(lock);
    for (size_t i = 0; i < p->count; i++)
        if (!add_held(lock, &p->items[i]))
            break;
    if (lock->listing->fault.status == BWL_OK) {
        w->cursor = w->next_cursor;
        if (w->cursor == 0)
            end_node(lock);
    }
    end_step(lock);
}

static void decide_one(bwl_engine_lock *lock, page *p)
{
    assert(p->undecided > 0);
    if (--p->undecided == 0 && p == walk_of(lock)->pages)
        end_page(lock, p);
}

/* ---- holder queries -------------------------------------------------------------------------- */

static bool write_item(bwl_session *session, bwl_request *request)
{
    const item *it = ((bwl_redis_query *)request->subject)->item;
    char        key[BWL_KEY_MAX];
    size_t      size = bwl_key_write(key, session->config->key_template, it->name, it->name_size);

    return bwl_redis_write_query(session, request, (bwl_bytes){ key, size }, it->slot);
}

static void answer_item(bwl_engine_lock *lock, bwl_redis_query *query, bwl_answer answer)
{
    const item *it    = query->item;
    unsigned    nodes = lock->host->nodes;
    bool        was   = bwl_redis_is_decided(it->queries, nodes);

    query->answer = answer;
    if (!was && bwl_redis_is_decided(it->queries, nodes))
        decide_one(lock, it->page);
}

static void complete_item(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    bwl_redis_query *query = request->subject;
    const item      *it    = query->item;

    (void)session;
    it->page->in_flight--;
    answer_item(request->lock, query, result->kind == BWL_DOWN ? BWL_NOT_SENT : result->answer);
}

static const bwl_request_kind item_query = {
    .reports_errors = true,
    .reports_text   = true,
    .write          = write_item,
    .read           = bwl_redis_read_query,
    .complete       = complete_item,
};

/* `sends_text`: the first of a connection, so that the server knows the script of the others. */
static void submit_item(bwl_engine_lock *lock, item *it, unsigned node, bool sends_text)
{
    bwl_cluster *cluster = cluster_of(lock);
    bwl_session *session =
        cluster != NULL ? bwl_cluster_route(cluster, it->slot) : bwl_redis_route(lock, node);
    bwl_request request = { .kind     = &item_query,
                            .lock     = lock,
                            .node     = (uint8_t)node,
                            .subject  = &it->queries[node],
                            .use_eval = sends_text };

    it->queries[node].item = it;
    it->page->in_flight++;
    if (session != NULL && bwl_session_submit(session, &request))
        return;
    it->page->in_flight--;
    bwl_host_set_error(lock, "out of memory");
    answer_item(lock, &it->queries[node], BWL_NOT_SENT);
}

static void submit_page(bwl_engine_lock *lock, page *p, bool is_new_connection)
{
    p->undecided = p->count + 1;
    for (size_t i = 0; i < p->count; i++)
        for (unsigned node = 0; node < lock->host->nodes; node++)
            submit_item(lock, &p->items[i], node, is_new_connection && i == 0);
    decide_one(lock, p);
}

/* ---- the scan -------------------------------------------------------------------------------- */

static bool write_scan(bwl_session *session, bwl_request *request)
{
    const walk     *w    = walk_of(request->lock);
    const char     *kind = is_open_template(request->lock) ? bwl_redis_kind(request->lock) : NULL;
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_SCAN_SIZE_MAX, &writer))
        return false;
    bwl_scan_write(&writer, w->cursor, w->pattern, kind);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

/* Whether it is the key of a lock that is wanted. */
static bool take_key(const bwl_engine_lock *lock, bwl_bytes key, item *ret_item)
{
    const bwl_redis_config *config = bwl_redis_of(lock->host)->router.config;
    size_t size = bwl_key_read(ret_item->name, config->key_template, key.at, key.size);

    if (size == 0 || !bwl_listing_wants(lock->listing, ret_item->name, size) ||
        bwl_redis_check_key(lock->host, key.at, key.size, NULL) < 0)
        return false;
    ret_item->name_size = (uint16_t)size;
    ret_item->slot      = cluster_of(lock) != NULL ? bwl_cluster_slot(key.at, key.size) : 0;
    return true;
}

static bwl_redis_verdict read_scan(bwl_session *session, bwl_request *request, const char *bytes,
                                   size_t size, bwl_request_reply *ret_reply)
{
    bwl_engine_lock  *lock  = request->lock;
    walk             *w     = walk_of(lock);
    unsigned          nodes = lock->host->nodes;
    bwl_resp_cursor   keys;
    bwl_bytes         key;
    uint32_t          count = 0;
    bwl_redis_verdict verdict =
        bwl_scan_read(bytes, size, &ret_reply->event.answer, &keys, &w->next_cursor, &count);

    (void)session;
    if (verdict != BWL_REDIS_ANSWER || ret_reply->event.answer != BWL_YES)
        return verdict;
    page *p      = page_new(w, count, nodes);
    w->no_memory = p == NULL;
    for (uint32_t i = 0; p != NULL && i < count; i++) {
        if (!bwl_scan_next(&keys, &key))
            return BWL_REDIS_STRANGE;
        item *it = &p->items[p->count];
        if (!take_key(lock, key, it))
            continue;
        it->page    = p;
        it->queries = &p->queries[p->count * nodes];
        p->count++;
    }
    return BWL_REDIS_ANSWER;
}

/* Whether this is the server process whose cursor was sent; remembers it. */
static bool is_same_server(const bwl_session *session, walk *w, bool *ret_is_new_connection)
{
    bool is_same = w->run_id[0] != '\0' ? strcmp(w->run_id, session->server.run_id) == 0
                                        : w->opened == session->link.opened;

    *ret_is_new_connection = w->opened != session->link.opened || w->steps == 0;
    w->opened              = session->link.opened;
    memcpy(w->run_id, session->server.run_id, sizeof w->run_id);
    return is_same;
}

/* The wrong node of a cluster has answered, because the right one could not be reached.  True: the
 * first node was any. */
static bool is_right_node(const bwl_session *session, bwl_engine_lock *lock)
{
    walk        *w       = walk_of(lock);
    bwl_cluster *cluster = cluster_of(lock);

    if (cluster == NULL || w->node == session->number)
        return true;
    if (w->node == BWL_NOBODY) {
        w->node = session->number;
        return true;
    }
    (void)bwl_fail(&lock->listing->fault, BWL_STATUS_UNREACHABLE,
                   "%s, a node of the cluster, cannot be reached",
                   bwl_cluster_session(cluster, w->node)->endpoint.text);
    begin_node(w, BWL_NOBODY);
    return false;
}

static bool start_scan(bwl_engine_lock *lock);

/* A server of a quorum cannot be scanned: the others may be enough. */
static void skip_node(bwl_engine_lock *lock)
{
    walk *w = walk_of(lock);

    w->skipped = lock->why;
    begin_node(w, w->node + 1);
    if (w->node == lock->host->nodes)
        fail_quorum(lock);
    else if (!start_scan(lock))
        return;
    end_step(lock);
}

static void complete_scan(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    bwl_engine_lock *lock  = request->lock;
    walk            *w     = walk_of(lock);
    bool             is_ok = result->kind != BWL_DOWN && result->answer == BWL_YES;
    bool             is_new_connection;

    if (is_ok && !is_right_node(session, lock)) {
        end_step(lock);
        return;
    }
    if (is_ok && !w->no_memory) {
        bool is_same = is_same_server(session, w, &is_new_connection);
        if (is_same || w->cursor == 0) {
            submit_page(lock, w->pages, is_new_connection);
            return;
        }
        begin_node(w, w->node); /* the cursor was that of another process */
        end_step(lock);
        return;
    }
    if (!is_ok && is_quorum(lock)) {
        skip_node(lock);
        return;
    }
    if (w->no_memory)
        (void)bwl_fail(&lock->listing->fault, BWL_STATUS_NOMEM, "out of memory");
    else
        fail(lock, result->kind == BWL_DOWN ? BWL_NOT_SENT : result->answer);
    if (cluster_of(lock) != NULL)
        begin_node(w, BWL_NOBODY); /* it may have another primary by then */
    end_step(lock);
}

static const bwl_request_kind scan = {
    .reports_errors = true,
    .reports_text   = true,
    .write          = write_scan,
    .read           = read_scan,
    .complete       = complete_scan,
};

static bool write_size(bwl_session *session, bwl_request *request)
{
    request->flight.offset = session->link.conn.stream.written;
    return bwl_resp_stream_write(&session->link.conn, SIZE_ROOM, "DBSIZE");
}

/* An error is ignored: it is for the progress alone. */
static bwl_redis_verdict read_size(bwl_session *session, bwl_request *request, const char *bytes,
                                   size_t size, bwl_request_reply *ret_reply)
{
    walk_of(request->lock)->keys = bwl_scan_read_size(bytes, size);
    ret_reply->event.answer      = BWL_YES;
    (void)session;
    return BWL_REDIS_ANSWER;
}

static const bwl_request_kind dbsize = { .write = write_size, .read = read_size };

/* The session of the server that is scanned.  NULL: out of memory, or the fault says why. */
static bwl_session *session_of(bwl_engine_lock *lock)
{
    walk        *w       = walk_of(lock);
    bwl_cluster *cluster = cluster_of(lock);
    bwl_listing *listing = lock->listing;
    bool         is_whole;

    if (cluster == NULL)
        return bwl_redis_route(lock, w->node);
    if (w->node == BWL_NOBODY && (w->counted > 0 || cluster->owners[0] != BWL_NOBODY)) {
        w->node = bwl_cluster_next_primary(cluster, w->done, &is_whole);
        if (w->node == BWL_NOBODY) {
            listing->is_at_end = is_whole;
            if (!is_whole)
                (void)bwl_fail(&listing->fault, BWL_STATUS_REFUSED,
                               "it is not known which node has each slot of the cluster: the list "
                               "needs CLUSTER SLOTS (bowline acl --feature status)");
            return NULL;
        }
    }
    return w->node != BWL_NOBODY ? bwl_cluster_session(cluster, w->node)
                                 : bwl_cluster_route(cluster, 0);
}

/* True: the step is complete. */
static bool start_scan(bwl_engine_lock *lock)
{
    walk        *w       = walk_of(lock);
    bwl_listing *listing = lock->listing;
    bwl_session *session = session_of(lock);
    bwl_request  size    = { .kind = &dbsize, .lock = lock };
    bwl_request  request = { .kind = &scan, .lock = lock, .node = (uint8_t)w->node };

    if (session == NULL && (listing->is_at_end || listing->fault.status < 0))
        return true;
    if (w->cursor == 0 && session != NULL)
        (void)bwl_session_submit(session, &size); /* (void): for the progress alone */
    if (session != NULL && bwl_session_submit(session, &request))
        return false;
    (void)bwl_fail(&listing->fault, BWL_STATUS_NOMEM, "out of memory");
    return true;
}

bool bwl_redis_list(bwl_engine_lock *lock)
{
    const bwl_redis_config *config = bwl_redis_of(lock->host)->router.config;
    walk                   *w      = walk_of(lock);

    if (w == NULL) {
        w = calloc(1, sizeof *w);
        if (w == NULL) {
            (void)bwl_fail(&lock->listing->fault, BWL_STATUS_NOMEM, "out of memory");
            return true;
        }
        lock->listing->walk = w;
        bwl_key_pattern_write(w->pattern, config->key_template, lock->listing->pattern);
    }
    if (w->is_running) { /* its caller has given up */
        (void)bwl_fail(&lock->listing->fault, BWL_STATUS_UNKNOWN,
                       "the reply to an earlier step has not come yet");
        return true;
    }
    bwl_fault_clear(&lock->why);
    w->is_running = true;
    if (!start_scan(lock))
        return false; /* it may have ended already */
    w->is_running = false;
    return true;
}
