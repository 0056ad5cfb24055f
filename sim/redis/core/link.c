/*
 * link.c -- see link.h.
 */
#include "sim/redis/core/link.h"
#include "sim/redis/core/acl.h"
#include "sim/redis/core/output.h"
#include "sim/redis/core/pubsub.h"
#include "sim/redis/core/tracking.h"
#include "sim/redis/core/watch.h"

#include <stdlib.h>

model_link *model_link_open(model_server *server, void *link_data, const char *client_address,
                            int64_t now_us)
{
    model_link *link = model_allocate(sizeof *link);

    server->now_us = now_us;
    *link          = (model_link){
                 .server    = server,
                 .data      = link_data,
                 .id        = ++server->last_id,
                 .address   = model_text_copy(model_text_of(client_address)),
                 .user      = model_acl_first_user(server),
                 .opened_us = now_us,
                 .resp      = 2,
    };
    model_links_add(&server->links, link);
    return link;
}

void model_link_clear(model_link *link)
{
    model_unwatch(link);
    model_untrack(link);
    model_transaction_clear(&link->transaction);
    for (int kind = MODEL_CHANNEL; kind < MODEL_CHANNEL_KINDS; kind++)
        model_unsubscribe_all(link, (model_channel_kind)kind);
}

void model_links_flush(model_server *server)
{
    size_t      at = 0;
    model_link *link;

    while ((link = model_output_send_next(server, &at)) != NULL) {
        if ((link->flags & (LINK_CLOSING | LINK_DEAD)) != LINK_CLOSING)
            continue;
        link->flags |= LINK_DEAD;
        model_link_clear(link);
        server->owner.close(server->owner.arg, link->data);
    }
}

void model_link_forget(model_link *link)
{
    model_link_clear(link);
    model_output_forget(link);
    (void)model_links_remove(&link->server->links, link);
    model_transaction_free(&link->transaction);
    free(link->address);
    free(link->name);
    free(link->library[0]);
    free(link->library[1]);
    model_bytes_free(&link->in);
    free(link);
}

bool model_link_has_run_script(const model_link *link)
{
    return link->has_run_script;
}

void model_link_closed(model_link *link)
{
    model_link_forget(link);
}

void model_links_end(model_server *server)
{
    while (server->links.count != 0)
        model_link_forget(server->links.at[server->links.count - 1]);
    free(server->links.at);
    model_outputs_end(server);
}
