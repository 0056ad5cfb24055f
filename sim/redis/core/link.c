/*
 * link.c -- the connections of a server: what they are fed, and what they are sent.
 *
 * Output is collected in each link and leaves when the present feed ends, one piece for each link,
 * as a pass of the event loop of Redis does it.  Input that is not a whole command waits in the
 * link.  A link that is blocked by WAIT keeps its input too.
 */
#include "sim/redis/core/inside.h"
#include "sim/redis/core/acl.h"
#include "sim/redis/core/protocol.h"

#include <stdlib.h>
#include <string.h>

void model_links_add(model_links *links, model_link *link)
{
    if (links->count == links->room) {
        links->room = links->room == 0 ? 4 : links->room * 2;
        links->at   = model_resize(links->at, links->room * sizeof(model_link *));
    }
    links->at[links->count++] = link;
}

bool model_links_remove(model_links *links, const model_link *link)
{
    for (size_t i = 0; i < links->count; i++) {
        if (links->at[i] != link)
            continue;
        links->count--;
        memmove(links->at + i, links->at + i + 1, (links->count - i) * sizeof(model_link *));
        return true;
    }
    return false;
}

void model_links_free(void *memory)
{
    model_links *links = memory;

    free(links->at);
    free(links);
}

/* ---- output ---------------------------------------------------------------------------------- */

model_bytes *model_link_output(model_link *link)
{
    if ((link->flags & LINK_HAS_OUTPUT) == 0) {
        link->flags |= LINK_HAS_OUTPUT;
        model_links_add(&link->server->with_output, link);
    }
    return &link->out;
}

model_bytes *model_push_output(model_link *link, model_bytes *later)
{
    model_bytes *out = model_link_output(link);

    return later != NULL && (link->flags & LINK_IS_RUNNING) != 0 ? later : out;
}

void model_link_end(model_link *link)
{
    link->flags |= LINK_CLOSING;
    (void)model_link_output(link);
}

void model_links_flush(model_server *server)
{
    for (size_t i = 0; i < server->with_output.count; i++) {
        model_link *link = server->with_output.at[i];
        link->flags &= ~(unsigned)LINK_HAS_OUTPUT;
        if (link->out.size != 0 && (link->flags & (LINK_DEAD | LINK_IS_PRIMARY)) == 0)
            server->owner.send(server->owner.arg, link->data, link->out.at, link->out.size);
        link->out.size = 0;
        if ((link->flags & (LINK_CLOSING | LINK_DEAD)) == LINK_CLOSING) {
            link->flags |= LINK_DEAD;
            model_unwatch(link);
            model_untrack(link);
            for (int kind = MODEL_CHANNEL; kind < MODEL_CHANNEL_KINDS; kind++)
                model_unsubscribe_all(link, (model_channel_kind)kind);
            server->owner.close(server->owner.arg, link->data);
        }
    }
    server->with_output.count = 0;
}

/* ---- input ----------------------------------------------------------------------------------- */

static void refuse(model_link *link, const char *error)
{
    model_bytes *out = model_link_output(link);

    model_bytes_print(out, "-%s\r\n", error);
    model_link_end(link);
}

/* Returns how many bytes were commands. */
static size_t run_commands(model_link *link, model_text bytes)
{
    model_parser parser = { .argc = 0 };
    size_t       used   = 0;

    link->flags |= LINK_IN_BUFFER;
    while ((link->flags & LINK_CLOSING) == 0 && !link->wait.is_waiting) {
        model_text rest = { bytes.at + used, bytes.size - used };
        size_t     size = 0;
        int        done = model_parse(&parser, rest, link->user != NULL, &size);
        if (done == MODEL_PARSE_BROKEN)
            refuse(link, parser.error);
        if (done != MODEL_PARSE_DONE)
            break;
        if (parser.argc != 0)
            model_execute(link, parser.argv, parser.argc);
        used += size;
    }
    link->flags &= ~(unsigned)LINK_IN_BUFFER;
    model_parser_free(&parser);
    return used;
}

void model_link_read(model_link *link)
{
    model_text bytes = model_bytes_text(&link->in);

    if ((link->flags & LINK_IN_BUFFER) == 0 && bytes.size != 0)
        model_bytes_drop(&link->in, run_commands(link, bytes));
}

void model_link_feed(model_link *link, const char *bytes, size_t size, int64_t now_us)
{
    link->server->now_us = now_us;
    if ((link->flags & LINK_CLOSING) != 0 || size == 0)
        return;
    if (link->in.size == 0 && !link->wait.is_waiting) {
        size_t used = run_commands(link, (model_text){ bytes, size });
        model_bytes_add(&link->in, bytes + used, size - used);
    } else {
        model_bytes_add(&link->in, bytes, size);
        model_link_read(link);
    }
    model_links_flush(link->server);
}

/* ---- begin and end --------------------------------------------------------------------------- */

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

void model_link_forget(model_link *link)
{
    model_unwatch(link);
    model_untrack(link);
    model_transaction_clear(link);
    for (int kind = MODEL_CHANNEL; kind < MODEL_CHANNEL_KINDS; kind++)
        model_unsubscribe_all(link, (model_channel_kind)kind);
    (void)model_links_remove(&link->server->links, link);
    (void)model_links_remove(&link->server->with_output, link);
    free(link->transaction.commands);
    free(link->address);
    free(link->name);
    free(link->library[0]);
    free(link->library[1]);
    model_bytes_free(&link->in);
    model_bytes_free(&link->out);
    model_bytes_free(&link->pushes);
    model_bytes_free(&link->invalidations);
    free(link);
}

void model_link_closed(model_link *link)
{
    model_link_forget(link);
}
