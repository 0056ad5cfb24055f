#include "runtime/client.h"
#include "core/text.h"
#include "base/clock.h"
#include "base/fault.h"
#include "runtime/wakeup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_LOCK_NAME "update" /* not a key: each command names its own key */

/* ---- opening and closing --------------------------------------------------------------------- */

int bwl_client_open(bwl_client **ret_client, const bwl_engine *const *engines,
                    const bwl_settings *asked, bool renewal_off, const char *url,
                    const char *program, bwl_fault *fault)
{
    bwl_client *client = calloc(1, sizeof *client);

    if (client == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    int status = bwl_shard_open(&client->first, engines, asked, renewal_off, url, fault);
    if (status < 0) {
        free(client);
        return status;
    }
    /* Without a renewal thread, a call runs the loop for all locks, but only for its own shard.  A
     * released lock that stays with the client has to be found by the next acquire of its name. */
    const bwl_settings *settings = &client->first->host.settings;
    bool                may_share =
        client->first->host.engine->share != NULL && settings->keeps && settings->keep_ms == 0;
    client->first->client = client;
    atomic_init(&client->shards[0], client->first);
    atomic_init(&client->usable, may_share ? BWL_SHARDS_MAX : 1);
    (void)pthread_mutex_init(&client->mutex, NULL); /* of the default kind: cannot fail */
    bwl_cond_init(&client->slot_is_free);
    if (program != NULL)
        (void)snprintf(client->first->host.program, sizeof client->first->host.program, "%s",
                       program); /* truncates */
    *ret_client = client;
    return BWL_OK;
}

/* No other thread uses it: the slot is taken, or the pool is being closed. */
static void close_slot(bwl_pool_slot *slot)
{
    if (slot->shard != NULL)
        bwl_shard_close(slot->shard); /* frees the lock */
    free(slot->transaction.seen);
    slot->shard       = NULL;
    slot->lock        = NULL;
    slot->transaction = (bwl_transaction){ .seen = NULL };
}

enum { LINGER_MS = 1 };

/* In turns, so that a server that takes nothing does not use up the time of the others. */
static void send_releases(bwl_client *client)
{
    bool more;

    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        bwl_shard_let_go(client->slots[i].shard);
    for (unsigned i = BWL_SHARDS_MAX; i-- > 0;)
        bwl_shard_let_go(atomic_load(&client->shards[i]));
    do {
        more = false;
        for (unsigned i = 0; i < BWL_POOL_MAX; i++)
            more |= bwl_shard_linger(client->slots[i].shard, LINGER_MS);
        for (unsigned i = BWL_SHARDS_MAX; i-- > 0;)
            more |= bwl_shard_linger(atomic_load(&client->shards[i]), LINGER_MS);
    } while (more);
}

void bwl_client_close(bwl_client *client)
{
    bool is_ours = !bwl_forked(&client->first->host.guard);

    if (client->wakeup != NULL && is_ours)
        bwl_wakeup_stop(client->wakeup);
    send_releases(client);
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        close_slot(&client->slots[i]);
    for (unsigned i = BWL_SHARDS_MAX; i-- > 0;)
        bwl_shard_close(atomic_load(&client->shards[i]));
    bwl_wakeup_free(client->wakeup);
    while ((is_ours || bwl_was_at_rest(&client->mutex)) && client->operations != NULL) {
        bwl_started_operation *op = client->operations;
        client->operations        = op->next;
        free(op);
    }
    if (is_ours) /* else a thread of the parent may wait on the condition */
        (void)pthread_cond_destroy(&client->slot_is_free);
    (void)pthread_mutex_destroy(&client->mutex);
    free(client);
}

/* ---- the shard of a call --------------------------------------------------------------------- */

void bwl_shards_use_first_only(bwl_client *client)
{
    if (atomic_load_explicit(&client->usable, memory_order_relaxed) == 1)
        return;
    (void)pthread_mutex_lock(&client->mutex);
    atomic_store_explicit(&client->usable, 1, memory_order_relaxed);
    (void)pthread_mutex_unlock(&client->mutex);
}

/* The count is only needed if there can be another shard.  A counter that other CPUs read costs
 * half as much as a mutex. */
static bool is_counted(const bwl_shard *shard)
{
    return shard->host.engine->share != NULL;
}

void bwl_shard_enter(bwl_shard *shard)
{
    if (!is_counted(shard))
        return;
    (void)atomic_fetch_add_explicit(&shard->callers, 1, memory_order_relaxed);
}

void bwl_shard_leave(bwl_shard *shard)
{
    if (!is_counted(shard))
        return;
    unsigned before = atomic_fetch_sub_explicit(&shard->callers, 1, memory_order_relaxed);

    assert(before > 0);
    (void)before;
}

/* A busy shard with a connection is better than an idle one that may not get a connection. */
static bool is_unhealthy(bwl_shard *shard)
{
    return !atomic_load_explicit(&shard->is_connected, memory_order_relaxed) &&
           bwl_clock_now() < atomic_load_explicit(&shard->unhealthy_until, memory_order_relaxed);
}

static bool enter_if_empty(bwl_shard *shard)
{
    unsigned nobody = 0;

    return atomic_load_explicit(&shard->callers, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong(&shard->callers, &nobody, 1);
}

/* Opens one more shard and enters it.  NULL: another call has opened it, or out of memory. */
static bwl_shard *open_shard(bwl_client *client, unsigned number)
{
    bwl_shard *shard = NULL;

    (void)pthread_mutex_lock(&client->mutex);
    if (number < atomic_load(&client->usable) && atomic_load(&client->shards[number]) == NULL &&
        bwl_shard_share(&shard, client->first) == BWL_OK) {
        shard->number = number;
        bwl_shard_enter(shard);
        atomic_store_explicit(&client->shards[number], shard, memory_order_release);
    }
    (void)pthread_mutex_unlock(&client->mutex);
    return shard;
}

bwl_shard *bwl_shards_enter(bwl_client *client)
{
    unsigned   usable = atomic_load_explicit(&client->usable, memory_order_relaxed);
    bwl_shard *open[BWL_SHARDS_MAX];
    unsigned   count = 0;

    if (usable == 1) {
        bwl_shard_enter(client->first);
        return client->first;
    }
    for (; count < usable; count++) {
        open[count] = atomic_load_explicit(&client->shards[count], memory_order_acquire);
        if (open[count] == NULL)
            break;
        if ((count == 0 || !is_unhealthy(open[count])) && enter_if_empty(open[count]))
            return open[count];
    }
    bwl_shard *fresh = count < usable ? open_shard(client, count) : NULL;
    if (fresh != NULL)
        return fresh;
    bwl_shard *shard = open[0];
    for (unsigned i = 1; i < count && i < BWL_SHARDS_SHARED; i++)
        if (!is_unhealthy(open[i]) && atomic_load(&open[i]->callers) < atomic_load(&shard->callers))
            shard = open[i];
    bwl_shard_enter(shard);
    return shard;
}

bwl_shard *bwl_shards_enter_for(bwl_client *client, const char *name, atomic_uint **ret_pin)
{
    uint64_t     hash   = bwl_hash(name, strnlen(name, BWL_NAME_MAX));
    atomic_uint *pin    = &client->pins[hash % BWL_NAME_PINS];
    bwl_shard   *chosen = NULL;

    if (atomic_load_explicit(&client->usable, memory_order_relaxed) == 1)
        return bwl_shards_enter(client); /* all names are in one shard */
    int number = bwl_name_pin(pin, -1);
    if (number < 0) {
        chosen = bwl_shards_enter(client);
        number = bwl_name_pin(pin, (int)chosen->number);
    }
    *ret_pin         = pin;
    bwl_shard *shard = atomic_load_explicit(&client->shards[number], memory_order_acquire);
    if (shard == chosen)
        return shard;
    if (chosen != NULL)
        bwl_shard_leave(chosen);
    bwl_shard_enter(shard);
    return shard;
}

/* ---- a shard for an update ------------------------------------------------------------------- */

static int open_slot(bwl_client *client, bwl_pool_slot *slot, bwl_fault *fault)
{
    int status = bwl_shard_share(&slot->shard, client->first);
    if (status < 0)
        return bwl_fail(fault, (bwl_status)status, "cannot open a connection for an update");
    const bwl_terms terms            = { .lease_ms    = slot->shard->host.settings.lease_ms,
                                         .max_hold_ms = BWL_NEVER };
    slot->shard->host.takes_no_locks = true;
    bwl_loop_lock(&slot->shard->loop);
    status = bwl_lock_new(&slot->lock, slot->shard, slot->shard->host.engine, SLOT_LOCK_NAME,
                          &terms, fault);
    bwl_loop_unlock(&slot->shard->loop);
    if (status < 0)
        close_slot(slot);
    return status;
}

/* locked: a free slot, an open one if there is one.  NULL: all are taken. */
static bwl_pool_slot *find_slot(bwl_client *client)
{
    bwl_pool_slot *closed = NULL;

    for (unsigned i = 0; i < BWL_POOL_MAX; i++) {
        bwl_pool_slot *slot = &client->slots[i];
        if (slot->is_taken)
            continue;
        if (slot->shard != NULL)
            return slot;
        if (closed == NULL)
            closed = slot;
    }
    return closed;
}

/* locked: waits for a free slot.  False: the time is over. */
static bool await_slot(bwl_client *client, bwl_ms until)
{
    bwl_ms now = bwl_clock_now();

    if (now >= until)
        return false;
    bwl_cond_wait(&client->slot_is_free, &client->mutex,
                  until == BWL_NEVER ? BWL_NEVER : until - now);
    return true;
}

int bwl_pool_take(bwl_client *client, bwl_ms until, bwl_pool_slot **ret_slot, bwl_fault *fault)
{
    int            status = BWL_OK;
    bwl_pool_slot *slot;

    assert(client->first->host.engine->step != NULL);
    (void)pthread_mutex_lock(&client->mutex);
    while ((slot = find_slot(client)) == NULL && status == BWL_OK)
        if (!await_slot(client, until))
            status = bwl_fail(fault, BWL_STATUS_TIMEOUT,
                              "%d updates of this client were under way during the whole wait",
                              BWL_POOL_MAX);
    if (slot != NULL) {
        slot->is_taken = true;
        slot->taker    = pthread_self();
        status         = BWL_OK;
    }
    (void)pthread_mutex_unlock(&client->mutex);
    if (slot == NULL)
        return status;
    if (slot->shard == NULL)
        status = open_slot(client, slot, fault);
    if (status < 0) {
        bwl_pool_give(client, slot, true);
        return status;
    }
    *ret_slot = slot;
    return BWL_OK;
}

bool bwl_pool_is_in(bwl_client *client)
{
    pthread_t self  = pthread_self();
    bool      is_in = false;

    (void)pthread_mutex_lock(&client->mutex);
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        is_in |= client->slots[i].is_taken && pthread_equal(client->slots[i].taker, self) != 0;
    (void)pthread_mutex_unlock(&client->mutex);
    return is_in;
}

void bwl_pool_give(bwl_client *client, bwl_pool_slot *slot, bool is_broken)
{
    assert(slot->is_taken);
    if (is_broken)
        close_slot(slot);
    (void)pthread_mutex_lock(&client->mutex);
    slot->is_taken = false;
    pthread_cond_signal(&client->slot_is_free);
    (void)pthread_mutex_unlock(&client->mutex);
}

/* ---- the event loop of the caller, and operations -------------------------------------------- */

/* locked: another thread may have ended an operation before, and was not able to notify. */
static void raise_for_earlier_ends(const bwl_shard *shard, bwl_wakeup *wakeup)
{
    if (!bwl_event_queue_is_empty(&shard->events))
        bwl_wakeup_raise(wakeup);
}

int bwl_client_need_wakeup(bwl_client *client, bwl_fault *fault)
{
    bwl_wakeup *wakeup = NULL;
    bwl_shard  *shard;
    int         status = BWL_OK;

    bwl_shards_use_first_only(client);
    bwl_loop_lock(&client->first->loop);
    if (client->wakeup == NULL)
        status = bwl_wakeup_new(&wakeup, fault);
    if (wakeup != NULL &&
        (status = bwl_loop_attach_wakeup(&client->first->loop, wakeup, fault)) < 0) {
        bwl_wakeup_free(wakeup);
        wakeup = NULL;
    }
    if (wakeup != NULL) {
        client->wakeup = wakeup;
        raise_for_earlier_ends(client->first, wakeup);
    }
    /* The other shards have renewal threads, and only raise the wakeup. */
    for (unsigned i = 1; wakeup != NULL && (shard = bwl_shard_at(client, i)) != NULL; i++) {
        bwl_loop_lock(&shard->loop);
        shard->loop.wakeup = wakeup;
        raise_for_earlier_ends(shard, wakeup);
        bwl_loop_unlock(&shard->loop);
    }
    bwl_loop_unlock(&client->first->loop);
    return status;
}

int bwl_client_operation_new(bwl_started_operation **ret_op, bwl_client *client, bwl_fault *fault)
{
    bwl_started_operation *op = calloc(1, sizeof *op);

    if (op == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    bwl_shards_use_first_only(client); /* the caller may have an event loop */
    op->client = client;
    (void)pthread_mutex_lock(&client->mutex);
    op->next  = client->operations;
    op->where = &client->operations;
    if (op->next != NULL)
        op->next->where = &op->next;
    client->operations = op;
    (void)pthread_mutex_unlock(&client->mutex);
    *ret_op = op;
    return BWL_OK;
}

void bwl_client_operation_free(bwl_started_operation *op)
{
    bwl_client *client = op->client;

    (void)pthread_mutex_lock(&client->mutex);
    *op->where = op->next;
    if (op->next != NULL)
        op->next->where = op->where;
    (void)pthread_mutex_unlock(&client->mutex);
    free(op);
}
