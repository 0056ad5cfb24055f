/*
 * cluster_command.c -- CLUSTER, ASKING, READONLY.
 */
#include "sim/redis/command/server_commands.h"
#include "sim/redis/data/hash.h"
#include "sim/redis/data/store.h"

static bool is_cluster(model_call *call)
{
    if (call->server->is_cluster)
        return true;
    model_reply_error(call, "ERR This instance has cluster support disabled");
    return false;
}

static void cmd_asking(model_call *call)
{
    if (!is_cluster(call))
        return;
    call->link->flags |= LINK_ASKING;
    model_reply_ok(call);
}

static void cmd_readonly(model_call *call)
{
    if (call->server->version != MODEL_VALKEY_9 && !is_cluster(call))
        return;
    call->link->flags |= LINK_READONLY;
    model_reply_ok(call);
}

static void cmd_readwrite(model_call *call)
{
    if (call->server->version != MODEL_VALKEY_9 && !is_cluster(call))
        return;
    call->link->flags &= ~(unsigned)LINK_READONLY;
    model_reply_ok(call);
}

/* ---- CLUSTER --------------------------------------------------------------------------------- */

static void cluster_myid(model_call *call)
{
    const model_cluster_view *view = call->server->view;

    model_reply_text(call, view != NULL ? view->nodes[view->self].id : call->server->run_id);
}

static void cluster_keyslot(model_call *call)
{
    model_reply_integer(call, model_slot_of(call->argv[2]));
}

static void cluster_countkeysinslot(model_call *call)
{
    size_t       at    = 0;
    int64_t      count = 0;
    int64_t      slot;
    model_entry *entry;

    if (!model_take_integer(call, 2, NULL, &slot))
        return;
    if (slot < 0 || slot >= MODEL_SLOTS) {
        model_reply_error(call, "ERR Invalid slot");
        return;
    }
    while ((entry = model_table_next(&call->server->data->keys[0], &at)) != NULL)
        count += model_slot_of((model_text){ entry->key, entry->size }) == (unsigned)slot;
    model_reply_integer(call, count);
}

static unsigned slots_assigned(const model_cluster_view *view)
{
    unsigned count = 0;

    for (unsigned slot = 0; slot < MODEL_SLOTS; slot++)
        count += view->owner[slot] != MODEL_NO_NODE;
    return count;
}

static void cluster_info(model_call *call)
{
    const model_cluster_view *view  = call->server->view;
    unsigned                  slots = view != NULL ? slots_assigned(view) : 0;
    unsigned                  size  = 0;
    model_bytes               out   = { .size = 0 };

    for (unsigned i = 0; view != NULL && i < view->nodes_count; i++)
        size += view->nodes[i].primary == MODEL_NO_NODE;
    model_bytes_print(&out,
                      "cluster_state:%s\r\ncluster_slots_assigned:%u\r\ncluster_slots_ok:%u\r\n"
                      "cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:%u\r\n"
                      "cluster_size:%u\r\ncluster_current_epoch:%llu\r\ncluster_my_epoch:%llu\r\n",
                      view == NULL || view->is_down ? "fail" : "ok", slots, slots,
                      view != NULL ? view->nodes_count : 1, size,
                      (unsigned long long)(view != NULL ? view->epoch : 0),
                      (unsigned long long)(view != NULL ? view->epoch : 0));
    model_reply_verbatim(call, model_bytes_text(&out));
    model_bytes_free(&out);
}

static bool is_replica_of(const model_node *node, int primary)
{
    return node->primary == primary && !node->has_failed;
}

static void reply_node(model_call *call, const model_node *node)
{
    bool is_old = call->server->version == MODEL_REDIS_6_2;

    model_reply_array(call, is_old ? 3 : 4);
    model_reply_text(call, node->host);
    model_reply_integer(call, node->port);
    model_reply_text(call, node->id);
    if (!is_old)
        model_reply_map(call, 0);
}

static unsigned end_of_range(const model_cluster_view *view, unsigned slot)
{
    unsigned end = slot;

    while (end < MODEL_SLOTS && view->owner[end] == view->owner[slot])
        end++;
    return end;
}

static unsigned count_ranges(const model_cluster_view *view)
{
    unsigned count = 0;

    for (unsigned slot = 0; slot < MODEL_SLOTS; slot = end_of_range(view, slot))
        count += view->owner[slot] != MODEL_NO_NODE;
    return count;
}

static void cluster_slots(model_call *call)
{
    const model_cluster_view *view = call->server->view;

    if (view == NULL) {
        model_reply_array(call, 0);
        return;
    }
    model_reply_array(call, count_ranges(view));
    for (unsigned slot = 0; slot < MODEL_SLOTS;) {
        unsigned end      = end_of_range(view, slot);
        int      owner    = view->owner[slot];
        unsigned replicas = 0;
        for (unsigned i = 0; i < view->nodes_count; i++)
            replicas += owner != MODEL_NO_NODE && is_replica_of(&view->nodes[i], owner);
        if (owner != MODEL_NO_NODE) {
            model_reply_array(call, 3 + replicas);
            model_reply_integer(call, slot);
            model_reply_integer(call, end - 1);
            reply_node(call, &view->nodes[owner]);
            for (unsigned i = 0; i < view->nodes_count; i++)
                if (is_replica_of(&view->nodes[i], owner))
                    reply_node(call, &view->nodes[i]);
        }
        slot = end;
    }
}

static const model_sub subs_cluster[] = {
    { "slots", 2, cluster_slots, false, false },
    { "info", 2, cluster_info, false, false },
    { "myid", 2, cluster_myid, false, false },
    { "keyslot", 3, cluster_keyslot, false, false },
    { "countkeysinslot", 3, cluster_countkeysinslot, false, false },
    { .name = NULL },
};

static void cmd_cluster(model_call *call)
{
    if (is_cluster(call))
        model_run_sub(call);
}

const model_command model_commands_cluster[] = {
    { "asking", cmd_asking, 1, 0, 0, 0, CMD(FAST) | CMD(STALE) | CAT(CONNECTION), NULL },
    { "readonly", cmd_readonly, 1, 0, 0, 0, CMD(FAST) | CMD(STALE) | CAT(CONNECTION), NULL },
    { "readwrite", cmd_readwrite, 1, 0, 0, 0, CMD(FAST) | CMD(STALE) | CAT(CONNECTION), NULL },
    { "cluster", cmd_cluster, -2, 0, 0, 0, CMD(SUB) | CMD(STALE) | CAT(ADMIN), subs_cluster },
    { .name = NULL },
};
