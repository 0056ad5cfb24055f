#include "sim/search/gates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PERIOD_MS  = 200,
    LONG_MS    = 600000, /* a longer world has long leases: it is looked at more rarely */
    SHARES_MAX = 512,    /* of a lock: more than all clients can have */

    /* b1: session token; see docs/reference/wire.md. */
    VALUE_SIZE   = 28,
    SESSION_AT   = 3,
    SESSION_SIZE = 9,
    KEY_MAX      = 32,
};

/* A share, or an exclusive hold, whose weight is not known. */
typedef struct gate_share {
    char     value[VALUE_SIZE];
    unsigned weight; /* its members on `server`, the last one that has it */
    unsigned server;
    int64_t  left_ns[SIM_SERVERS_MAX]; /* of the member that ends first */
} gate_share;

static struct {
    const sim_deploy *servers;
    const sim_plan   *plan;
    unsigned          count; /* of servers */
    bool              run[SIM_SERVERS_MAX];
    int64_t           period_ns;
    gate_share        shares[SHARES_MAX]; /* of one lock, while they are collected */
    unsigned          shares_count;
    check_kept        kept[SHARES_MAX];
} w;

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct gate_keys {
    const model_dataset *data;
    int64_t              now_ms;
    model_key_info       lock;
    char                 lock_key[KEY_MAX];
    char                 sharers_key[KEY_MAX];
    int64_t              sharers_end_ms;
    bool                 has_lock; /* a string whose time is not over */
    bool                 has_sharers;
    bool                 is_replica;
} gate_keys;

static bool is_there(const gate_keys *keys, const char *key, model_key_info *ret_info)
{
    return model_dataset_find(keys->data, key, ret_info) &&
           (ret_info->expires_ms < 0 || ret_info->expires_ms > keys->now_ms);
}

/* False: the server does not run. */
static bool read_keys(unsigned server, unsigned name, gate_keys *ret_keys)
{
    gate_keys     *keys    = ret_keys;
    model_key_info sharers = { .expires_ms = 0 };

    *keys = (gate_keys){ .now_ms = 0 };
    (void)snprintf(keys->lock_key, KEY_MAX, "bowline:{%s}", load_lock_name(name));
    (void)snprintf(keys->sharers_key, KEY_MAX, "bowline:{%s}:bwl.h", load_lock_name(name));
    keys->data = sim_deploy_data(w.servers, server, &keys->is_replica, &keys->now_ms);
    if (keys->data == NULL)
        return false;
    keys->has_lock       = is_there(keys, keys->lock_key, &keys->lock) && keys->lock.value != NULL;
    keys->has_sharers    = is_there(keys, keys->sharers_key, &sharers);
    keys->sharers_end_ms = sharers.expires_ms;
    return true;
}

/* Of the value in a gate of one; 0: it is none. */
static size_t only_at(const model_key_info *lock)
{
    const char *blank = memchr(lock->value, ' ', lock->value_size);

    return blank != NULL ? (size_t)(blank + 1 - lock->value) : 0;
}

static bool has_gate(const gate_keys *keys)
{
    return keys->has_lock && keys->lock.value_size > 4 && memcmp(keys->lock.value, "b1:~", 4) == 0;
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* NULL: there are too many. */
static gate_share *share_of(const char *value)
{
    gate_share *share = w.shares;
    gate_share *end   = &w.shares[w.shares_count];

    while (share < end && memcmp(share->value, value, VALUE_SIZE) != 0)
        share++;
    if (share < end)
        return share;
    if (w.shares_count == SHARES_MAX)
        return NULL;
    w.shares_count++;
    *share = (gate_share){ .weight = 0 };
    memcpy(share->value, value, VALUE_SIZE);
    return share;
}

/* weight 0: it is an exclusive hold.  The members come in the order of their ends. */
static void add_member(unsigned server, const char *value, unsigned weight, int64_t left_ms)
{
    gate_share *share = share_of(value);

    if (share == NULL)
        return;
    if (share->left_ns[server] == 0)
        share->left_ns[server] = left_ms * SIM_MS;
    share->weight = share->server == server ? share->weight + weight : weight;
    share->server = server;
}

typedef struct member_visit {
    unsigned server;
    int64_t  now_ms;
    double   last; /* the highest score of all */
} member_visit;

/* `value:2` is the second member of a share of two permits or more. */
static void visit_member(void *arg, const char *member, size_t size, double score)
{
    member_visit *v = arg;

    v->last = score;
    if (size >= VALUE_SIZE)
        add_member(v->server, member, 1, (int64_t)score - v->now_ms);
}

static void collect(unsigned server, unsigned name)
{
    gate_keys keys;

    w.run[server] = read_keys(server, name, &keys);
    if (!keys.has_lock)
        return;
    int64_t left_ms = keys.lock.expires_ms - keys.now_ms;
    size_t  only    = has_gate(&keys) ? only_at(&keys.lock) : 0;
    if (only > 0 && keys.lock.value_size == only + VALUE_SIZE) {
        add_member(server, keys.lock.value + only, 1, left_ms);
    } else if (has_gate(&keys) && keys.has_sharers) {
        member_visit v = { .server = server, .now_ms = keys.now_ms };
        model_dataset_each_member(keys.data, keys.sharers_key, visit_member, &v);
    } else if (keys.lock.value_size == VALUE_SIZE) {
        add_member(server, keys.lock.value, 0, left_ms);
    }
}

/* For so long `least` servers keep it; one that does not run may. */
static int64_t left_of(const gate_share *share, unsigned least)
{
    int64_t result = 0;
    int64_t left_ns[SIM_SERVERS_MAX];

    for (unsigned i = 0; i < w.count; i++)
        left_ns[i] = w.run[i] ? share->left_ns[i] : SIM_NEVER;
    for (unsigned i = 0; i < w.count; i++) {
        unsigned longer = 0;
        for (unsigned k = 0; k < w.count; k++)
            longer += left_ns[k] >= left_ns[i];
        if (longer >= least && left_ns[i] > result)
            result = left_ns[i];
    }
    return result;
}

/* From the client info of its session; 0: there is none. */
static unsigned process_of(const gate_share *share)
{
    char   key[KEY_MAX];
    char   number[16] = "";
    size_t size;

    (void)snprintf(key, sizeof key, "bowline:who:%.*s", SESSION_SIZE, share->value + SESSION_AT);
    for (unsigned i = 0; i < w.count; i++) {
        bool                 is_replica;
        int64_t              now_ms;
        const model_dataset *data = sim_deploy_data(w.servers, i, &is_replica, &now_ms);
        const char *text = data != NULL ? model_dataset_field(data, key, "pid", &size) : NULL;
        if (text != NULL && size < sizeof number) {
            memcpy(number, text, size);
            return (unsigned)strtoul(number, NULL, 10);
        }
    }
    return 0;
}

const check_kept *sim_gates_shares(unsigned name, unsigned *ret_count)
{
    unsigned least   = sim_plan_copies(w.plan);
    unsigned stopped = 0;

    w.shares_count = 0;
    for (unsigned i = 0; i < w.count; i++) {
        collect(i, name);
        stopped += !w.run[i];
    }
    if (stopped >= least)
        return NULL;
    for (unsigned i = 0; i < w.shares_count; i++)
        w.kept[i] = (check_kept){ .process = process_of(&w.shares[i]),
                                  .weight  = w.shares[i].weight,
                                  .left_ns = left_of(&w.shares[i], least) };
    *ret_count = w.shares_count;
    return w.kept;
}

/* ---- both keys ------------------------------------------------------------------------------- */

/* While a slot moves, one of the keys is on another server. */
static bool is_moving(unsigned server, unsigned name)
{
    for (unsigned i = 0; i < w.count; i++) {
        gate_keys keys;
        if (i != server && w.plan->servers.topology == SIM_CLUSTER && read_keys(i, name, &keys) &&
            !keys.is_replica && (keys.has_lock || keys.has_sharers))
            return true;
    }
    return false;
}

static void compare_ends(unsigned server, unsigned name, const gate_keys *keys)
{
    member_visit v = { .server = server, .now_ms = keys->now_ms };

    w.shares_count = 0;
    model_dataset_each_member(keys->data, keys->sharers_key, visit_member, &v);
    if (keys->lock.expires_ms != keys->sharers_end_ms || keys->lock.expires_ms != (int64_t)v.last)
        check_fail("gate: lock %u ends in %" PRId64
                   " ms on server %u, those who share it in %" PRId64
                   " ms, the last of them in %" PRId64 " ms",
                   name, keys->lock.expires_ms - keys->now_ms, server,
                   keys->sharers_end_ms - keys->now_ms, (int64_t)v.last - keys->now_ms);
}

static void look_at(unsigned server, unsigned name)
{
    gate_keys keys;

    if (!check_is_name_calm(name, sim_now()) || !read_keys(server, name, &keys) || keys.is_replica)
        return;
    bool needs_sharers = has_gate(&keys) && only_at(&keys.lock) == 0;
    if (needs_sharers && keys.has_sharers)
        compare_ends(server, name, &keys);
    else if (needs_sharers != keys.has_sharers && !is_moving(server, name))
        check_fail("gate: lock %u is %s on server %u, and there is %s who shares it", name,
                   needs_sharers ? "a gate" : "no gate", server,
                   keys.has_sharers ? "a list of those" : "no list of those");
}

static void look(void *arg)
{
    for (unsigned name = 0; name < w.plan->clients[0].load.names; name++) {
        for (unsigned i = 0; i < w.count; i++)
            look_at(i, name);
        check_shares(name);
    }
    (void)sim_at(sim_now() + w.period_ns, look, arg);
}

void sim_gates_begin(sim_deploy *servers, const sim_plan *plan)
{
    bool clocks_jump =
        sim_plan_has(plan, FAULT_SERVER_CLOCK) || sim_plan_has(plan, FAULT_SERVER_CLOCK_FORWARD);

    memset(&w, 0, sizeof w);
    w.servers   = servers;
    w.plan      = plan;
    w.count     = sim_deploy_count(&plan->servers) - plan->servers.sentinels;
    w.period_ns = (plan->length_ms > LONG_MS ? 20 : 1) * PERIOD_MS * SIM_MS;
    if (plan->servers.topology != SIM_CLUSTER || !clocks_jump)
        look(NULL);
}
