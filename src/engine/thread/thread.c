/*
 * thread.c -- the engine thread: locks between the threads of one process.
 *
 * All clients of the process share one table of names; a name is one lock for all of them.  Each
 * name that is held has an entry with one line of nodes: those that hold the lock, then those that
 * wait.  The first waiter holds the lock too as soon as it fits:
 *
 *      exclusive             nobody holds the lock
 *      w permits of N        nobody holds it exclusively, and N is 0 or used + w <= N
 *
 * It is looked at when a node leaves the line, or lets others share the lock.  Then each
 * waiter that fits is granted the lock, up to the first that does not, and its client is woken,
 * which completes the operation when its loop runs.  Nobody passes a waiter that does not fit, so
 * the order is first come, first served, and neither writers nor large requests starve.
 *
 * The fence numbers periods: an exclusive hold is one, and so is the time from the first share to
 * the end of the last.  It is one counter for all names.  It starts at the microseconds of the wall
 * clock, so it grows from one run of the program to the next unless that clock is set back.
 *
 * Not promised: a thread that ends without a release holds the lock for ever; nothing outlives the
 * process.  After a fork the child has an empty table of its own, because the threads that hold the
 * parent's locks are not in the child.
 *
 * Lock order: a client's mutex, then the table's latch.
 */
#include "engine/engine.h"
#include "engine/listing.h"
#include "protocol/local_lock.h"
#include "core/text.h"
#include "base/clock.h"
#include "base/fault.h"
#include "protocol/store/local.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS_MIN = 64, LISTED_BUCKETS = 256 };

typedef struct node node;

typedef struct entry { /* a name that is held */
    struct entry *next;
    node         *first;
    node        **end;     /* where the next node is linked */
    node         *waiting; /* the first of the line that does not hold the lock; NULL: all do     */
    uint64_t      fence;   /* of this period                                                    */
    bwl_ms        since;   /* when it began                                                     */
    uint32_t      holders;
    uint32_t      used; /* permits; 0: the lock is held exclusively                          */
    uint64_t      hash;
    uint16_t      name_size;
    char          name[];
} entry;

struct node { /* a lock in the line of its name: the engine's part of a lock */
    bwl_engine_lock *lock;
    entry    *entry; /* NULL: not in a line.  Only its own client changes this               */
    node    **where; /* what points here */
    node     *next;
    node     *next_granted; /* in the list of its client                                       */
    uint64_t  hash;
    bwl_share share;
    bool      holds;
    bool      granted; /* and its client does not know yet                                   */
};

typedef struct table {
    pthread_mutex_t latch;
    bwl_fork_guard  guard;
    uint64_t        fence;
    size_t          count;
    size_t          buckets_count;
    entry         **buckets;
} table;

typedef struct thread_store { /* of one client */
    table *table;
    node  *granted; /* guarded by the table's latch, oldest last                               */
} thread_store;

/* ---- the table of the process ---------------------------------------------------------------- */

static _Atomic(table *) process_table;

static table *table_new(void)
{
    table *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->buckets_count = BUCKETS_MIN;
    t->buckets       = calloc(t->buckets_count, sizeof *t->buckets);
    if (t->buckets == NULL || !bwl_fork_guard_init(&t->guard)) {
        free(t->buckets);
        free(t);
        return NULL;
    }
    t->fence = bwl_clock_wall_us();
    (void)pthread_mutex_init(&t->latch, NULL);
    return t;
}

static void table_free(table *t)
{
    (void)pthread_mutex_destroy(&t->latch);
    bwl_fork_guard_free(&t->guard);
    free(t->buckets);
    free(t);
}

/* The table of this process.  One that was inherited by fork is not touched: its latch may be
 * held by a thread that does not exist here. */
static table *table_of_process(void)
{
    table *before = atomic_load(&process_table);

    if (before != NULL && !bwl_forked(&before->guard))
        return before;
    table *made = table_new();
    if (made == NULL)
        return NULL;
    if (atomic_compare_exchange_strong(&process_table, &before, made))
        return made;
    table_free(made); /* another thread was faster */
    return before;
}

static entry **find(table *t, const bwl_engine_lock *lock, uint64_t hash)
{
    entry **e = &t->buckets[hash % t->buckets_count];

    while (*e != NULL && ((*e)->hash != hash || (*e)->name_size != lock->name_size ||
                          memcmp((*e)->name, lock->name, lock->name_size) != 0))
        e = &(*e)->next;
    return e;
}

/* Doubles the buckets; without memory for them, the table only gets slower. */
static void grow(table *t)
{
    size_t  count   = t->buckets_count * 2;
    entry **buckets = calloc(count, sizeof(entry *));

    if (buckets == NULL)
        return;
    for (size_t i = 0; i < t->buckets_count; i++) {
        for (entry *e = t->buckets[i], *next; e != NULL; e = next) {
            next                     = e->next;
            e->next                  = buckets[e->hash % count];
            buckets[e->hash % count] = e;
        }
    }
    free(t->buckets);
    t->buckets       = buckets;
    t->buckets_count = count;
}

static entry *add(table *t, entry **where, const node *p)
{
    entry *e = malloc(sizeof *e + p->lock->name_size);

    if (e == NULL)
        return NULL;
    *e = (entry){ .end = &e->first, .hash = p->hash, .name_size = p->lock->name_size };
    memcpy(e->name, p->lock->name, e->name_size);
    *where = e;
    if (++t->count > t->buckets_count)
        grow(t);
    return e;
}

static void drop(table *t, entry *e)
{
    entry **where = &t->buckets[e->hash % t->buckets_count];

    while (*where != e)
        where = &(*where)->next;
    *where = e->next;
    t->count--;
    free(e);
}

/* ---- the line of a name (latched) ------------------------------------------------------------ */

static void enqueue(entry *e, node *p)
{
    p->entry = e;
    p->next  = NULL;
    p->where = e->end;
    *e->end  = p;
    e->end   = &p->next;
}

static void unlink_node(node *p)
{
    *p->where = p->next;
    if (p->next != NULL)
        p->next->where = p->where;
    else
        p->entry->end = p->where;
    if (p->entry->waiting == p)
        p->entry->waiting = p->next;
    p->entry = NULL;
}

static bool fits(const entry *e, bwl_share share)
{
    if (e->holders == 0)
        return true;
    if (e->used == 0 || share.weight == 0)
        return false; /* one of them is exclusive */
    return share.limit == 0 || e->used + share.weight <= share.limit;
}

/* The first holder begins a period. */
static void hold(table *t, entry *e, node *p, bwl_ms now)
{
    assert(fits(e, p->share));
    if (e->holders++ == 0) {
        e->fence = ++t->fence;
        e->since = now;
    }
    e->used += p->share.weight;
    p->holds = true;
}

static void grant(node *p)
{
    thread_store *store = p->lock->host->store;

    p->granted      = true;
    p->next_granted = store->granted;
    store->granted  = p;
    bwl_host_wake(p->lock->host);
}

static void remove_grant(node *p)
{
    thread_store *store = p->lock->host->store;
    node        **where = &store->granted;

    while (*where != p)
        where = &(*where)->next_granted;
    *where     = p->next_granted;
    p->granted = false;
}

/* Grants the lock to the waiters up to the first that does not fit. */
static void serve(table *t, entry *e)
{
    for (node *p = e->waiting; p != NULL && fits(e, p->share); p = p->next) {
        e->waiting = p->next;
        hold(t, e, p, bwl_clock_now());
        grant(p);
    }
}

/* Removes the node from anywhere in the line.  A holder makes room; the first waiter may have kept
 * others from the lock. */
static void leave(table *t, node *p)
{
    entry *e = p->entry;

    if (e == NULL)
        return;
    if (p->granted)
        remove_grant(p);
    unlink_node(p);
    if (p->holds) {
        e->holders--;
        e->used -= p->share.weight;
        p->holds = false;
    }
    if (e->first == NULL)
        drop(t, e);
    else
        serve(t, e);
}

/* A change of the mode begins a period.  Nobody enters between the two. */
static bwl_answer change(table *t, node *p, bwl_share share, uint64_t *ret_number)
{
    entry *e = p->entry;

    assert(p->holds);
    if (share.weight == 0 && e->holders > 1)
        return BWL_NO;
    e->used     = share.weight;
    e->fence    = ++t->fence;
    e->since    = bwl_clock_now();
    p->share    = share;
    *ret_number = e->fence;
    serve(t, e);
    return BWL_YES;
}

static bwl_answer join(table *t, node *p, bool may_wait, uint64_t *ret_number)
{
    entry **where   = find(t, p->lock, p->hash);
    bool    is_free = *where == NULL;

    p->share     = p->lock->hold.request.share;
    bool is_ours = is_free || ((*where)->waiting == NULL && fits(*where, p->share));
    *ret_number  = LOCAL_WILL_GRANT;
    if (!is_ours && !may_wait)
        return BWL_NO;
    entry *e = is_free ? add(t, where, p) : *where;
    if (e == NULL) {
        bwl_host_set_error(p->lock, "out of memory");
        return BWL_REFUSED;
    }
    enqueue(e, p);
    if (!is_ours) {
        e->waiting = e->waiting != NULL ? e->waiting : p;
        return BWL_NO;
    }
    hold(t, e, p, p->lock->host->latest);
    *ret_number = e->fence;
    return BWL_YES;
}

/* ---- the engine ------------------------------------------------------------------------------ */

static int thread_open(bwl_host *client, const bwl_url *url, bwl_fault *fault)
{
    static const char *const known[] = { BWL_SETTINGS_OPTIONS, NULL };
    int                      status  = bwl_url_check_options(url, known, fault);

    if (status < 0)
        return status;
    if (url->host != NULL || url->path[0] != '\0')
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "thread: takes no host and no path, only options: thread:?wait=5s");
    thread_store *store = calloc(1, sizeof *store);
    if (store == NULL || (store->table = table_of_process()) == NULL) {
        free(store);
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    }
    client->store = store;
    return BWL_OK;
}

static void thread_close(bwl_host *client)
{
    free(client->store);
}

static table *latched(bwl_engine_lock *lock)
{
    table *t = ((thread_store *)lock->host->store)->table;

    (void)pthread_mutex_lock(&t->latch);
    return t;
}

static int thread_prepare(bwl_engine_lock *lock, bwl_fault *fault)
{
    (void)fault; /* nothing can go wrong */
    *(node *)lock->part = (node){ .lock = lock, .hash = bwl_hash(lock->name, lock->name_size) };
    return BWL_OK;
}

static bool thread_send(bwl_engine_lock *lock, const bwl_send *send, bwl_event *ret_reply)
{
    node     *p = lock->part;
    bwl_fault fault;

    /* A waiter must be wakeable before it is in the line. */
    if (send->command == LOCAL_JOIN && bwl_reactor_open(&lock->host->reactor, &fault) < 0) {
        bwl_host_set_fault(lock, &fault);
        ret_reply->answer = BWL_REFUSED;
        return true;
    }
    table *t = latched(lock);
    switch ((bwl_local_command)send->command) {
    case LOCAL_JOIN: ret_reply->answer = join(t, p, true, &ret_reply->number); break;
    case LOCAL_JOIN_OR_LEAVE: ret_reply->answer = join(t, p, false, &ret_reply->number); break;
    case LOCAL_TRY:
        ret_reply->answer = BWL_NO; /* the grant comes by a push */
        ret_reply->number = LOCAL_WILL_GRANT;
        break;
    case LOCAL_DOWNGRADE:
        ret_reply->answer = change(t, p, (bwl_share){ .weight = 1 }, &ret_reply->number);
        break;
    case LOCAL_UPGRADE:
        ret_reply->answer = change(t, p, (bwl_share){ 0 }, &ret_reply->number);
        break;
    case LOCAL_LEAVE:
        leave(t, p);
        ret_reply->answer = BWL_YES;
        break;
    }
    (void)pthread_mutex_unlock(&t->latch);
    return true;
}

static void thread_forget(bwl_engine_lock *lock)
{
    const node *p = lock->part;

    if (p->entry == NULL)
        return; /* not in a line, as most */
    if (bwl_forked(&lock->host->guard))
        return; /* the table is the parent's */
    table *t = latched(lock);
    leave(t, lock->part);
    (void)pthread_mutex_unlock(&t->latch);
}

/* Completes the operations of this client that were granted their lock. */
static void thread_woken(bwl_host *client)
{
    thread_store *store = client->store;

    for (;;) {
        (void)pthread_mutex_lock(&store->table->latch);
        node    *p     = store->granted;
        uint64_t fence = p != NULL ? p->entry->fence : 0;
        if (p != NULL)
            remove_grant(p);
        (void)pthread_mutex_unlock(&store->table->latch);
        if (p == NULL)
            return;
        bwl_host_event(p->lock,
                       (bwl_event){ .kind = BWL_PUSH, .answer = BWL_YES, .number = fence });
    }
}

/* latched: who holds the name. */
static void describe(const entry *e, bwl_holder *ret_holder)
{
    bwl_ms now  = bwl_clock_now();
    *ret_holder = (bwl_holder){ .held     = true,
                                .left_ms  = BWL_NEVER,
                                .since_ms = now > e->since ? now - e->since : 0,
                                .sharers  = e->used > 0 ? e->holders : 0,
                                .permits  = e->used,
                                .fence    = e->fence };

    for (const node *p = e->waiting; p != NULL; p = p->next)
        ret_holder->waiting++;
}

static int thread_who(bwl_engine_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    node *p = lock->part;

    (void)fault; /* nothing can go wrong */
    table *t    = latched(lock);
    entry *e    = *find(t, lock, p->hash);
    *ret_holder = (bwl_holder){ .held = false };
    if (e != NULL)
        describe(e, ret_holder);
    (void)pthread_mutex_unlock(&t->latch);
    return BWL_OK;
}

/* The line may have changed since the last call. */
static int thread_who_nth(bwl_engine_lock *lock, size_t nth, bwl_holder *ret_holder,
                          bwl_fault *fault)
{
    const node *p = lock->part;

    (void)fault; /* nothing can go wrong */
    table       *t     = latched(lock);
    const entry *e     = *find(t, lock, p->hash);
    int          count = e != NULL ? (int)e->holders : 0;
    if (nth < (size_t)count) {
        p = e->first;
        for (size_t i = 0; i < nth; i++)
            p = p->next;
        describe(e, ret_holder);
        ret_holder->sharers = p->share.weight > 0;
        ret_holder->permits = p->share.weight;
        ret_holder->limit   = p->share.limit;
    }
    (void)pthread_mutex_unlock(&t->latch);
    return count;
}

/* A step is a part of the buckets.  When the table grows, an entry moves to a bucket that is not
 * before its old one, so none that stays is left out. */
static bool thread_list(bwl_engine_lock *lock)
{
    bwl_listing *listing = lock->listing;
    table       *t       = latched(lock);
    size_t       end     = listing->position + LISTED_BUCKETS;

    listing->total = t->count;
    for (size_t i = listing->position; i < end && i < t->buckets_count; i++)
        for (const entry *e = t->buckets[i]; e != NULL; e = e->next) {
            bwl_listed *listed = bwl_listing_wants(listing, e->name, e->name_size)
                                     ? bwl_listing_add(listing, e->name, e->name_size)
                                     : NULL;
            listing->looked_at++;
            if (listed != NULL)
                describe(e, &listed->holder);
        }
    listing->position  = end;
    listing->is_at_end = end >= t->buckets_count;
    (void)pthread_mutex_unlock(&t->latch);
    return true;
}

const bwl_engine bwl_thread_engine = {
    .scheme       = "thread",
    .url_prefix   = "thread:",
    .kind         = BWL_ENGINE_THREAD,
    .protocol     = &bwl_changing_ticket,
    .lock_size    = sizeof(node),
    .open         = thread_open,
    .close        = thread_close,
    .prepare      = thread_prepare,
    .send         = thread_send,
    .forget       = thread_forget,
    .woken        = thread_woken,
    .view.who     = thread_who,
    .view.who_nth = thread_who_nth,
    .view.list    = thread_list,
};
