/*
 * output.c -- see output.h.
 */
#include "sim/redis/core/output.h"
#include "sim/redis/core/state.h"

#include <stdlib.h>

model_bytes *model_link_output(model_link *link)
{
    if ((link->flags & LINK_HAS_OUTPUT) == 0) {
        link->flags |= LINK_HAS_OUTPUT;
        model_links_add(&link->server->with_output, link);
    }
    return &link->out;
}

static model_bytes *output_of(model_link *link, model_bytes *later)
{
    model_bytes *out = model_link_output(link);

    return (link->flags & LINK_IS_RUNNING) != 0 ? later : out;
}

/* Before Valkey, a message may come before the reply of the command that caused it. */
model_bytes *model_push_output(model_link *link)
{
    bool waits = link->server->version == MODEL_VALKEY_9;

    return waits ? output_of(link, &link->pushes) : model_link_output(link);
}

model_bytes *model_invalidation_output(model_link *link)
{
    return output_of(link, &link->invalidations);
}

void model_output_end_reply(model_link *link)
{
    model_bytes_add(&link->out, link->pushes.at, link->pushes.size);
    model_bytes_add(&link->out, link->invalidations.at, link->invalidations.size);
    link->pushes.size = link->invalidations.size = 0;
}

void model_link_end(model_link *link)
{
    link->flags |= LINK_CLOSING;
    (void)model_link_output(link);
}

model_link *model_output_send_next(model_server *server, size_t *at)
{
    if (*at == server->with_output.count) {
        server->with_output.count = 0;
        return NULL;
    }
    model_link *link = server->with_output.at[(*at)++];
    link->flags &= ~(unsigned)LINK_HAS_OUTPUT;
    if (link->out.size != 0 && (link->flags & (LINK_DEAD | LINK_IS_PRIMARY)) == 0)
        server->owner.send(server->owner.arg, link->data, link->out.at, link->out.size);
    link->out.size = 0;
    return link;
}

void model_output_forget(model_link *link)
{
    (void)model_links_remove(&link->server->with_output, link);
    model_bytes_free(&link->out);
    model_bytes_free(&link->pushes);
    model_bytes_free(&link->invalidations);
}

void model_outputs_end(model_server *server)
{
    free(server->with_output.at);
}
