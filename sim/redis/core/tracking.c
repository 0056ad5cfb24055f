/*
 * tracking.c -- see tracking.h.
 */
#include "sim/redis/core/tracking.h"
#include "sim/redis/core/output.h"
#include "sim/redis/core/protocol.h"
#include "sim/redis/core/state.h"

void model_tracking_begin(model_link *link, bool no_loop, bool opts_in)
{
    link->flags &= ~(unsigned)(LINK_NO_LOOP | LINK_OPTS_IN);
    link->flags |= LINK_TRACKS | (no_loop ? LINK_NO_LOOP : 0u) | (opts_in ? LINK_OPTS_IN : 0u);
}

void model_track(model_link *link, model_text key)
{
    bool is_new;

    (void)model_table_add(&link->tracked, key, &is_new);
    if (is_new)
        model_links_table_add(&link->server->tracked, key, link);
}

void model_untrack(model_link *link)
{
    size_t       at = 0;
    model_entry *entry;

    link->flags &= ~(unsigned)(LINK_TRACKS | LINK_NO_LOOP | LINK_OPTS_IN | LINK_CACHES);
    while ((entry = model_table_next(&link->tracked, &at)) != NULL)
        (void)model_links_table_remove(&link->server->tracked,
                                       (model_text){ entry->key, entry->size }, link);
    model_table_clear(&link->tracked, NULL);
}

/* key.at NULL: every key.  The link whose command runs gets it behind the reply. */
static void send_invalidation(model_link *link, model_text key)
{
    model_bytes *out = model_invalidation_output(link);

    if (link->resp < 3)
        return;
    model_bytes_add_text(out, ">2\r\n$10\r\ninvalidate\r\n");
    if (key.at == NULL) {
        model_bytes_add_text(out, "_\r\n");
        return;
    }
    model_bytes_add_text(out, "*1\r\n");
    model_write_bulk(out, key);
}

void model_tracking_invalidate(model_server *server, model_text key)
{
    void *found = NULL;

    if (server->tracked.count == 0 || !model_table_remove(&server->tracked, key, &found))
        return;
    model_links *links = found;
    for (size_t i = 0; i < links->count; i++) {
        model_link *link = links->at[i];
        void       *nothing;
        (void)model_table_remove(&link->tracked, key, &nothing);
        if ((link->flags & LINK_TRACKS) == 0 ||
            ((link->flags & LINK_NO_LOOP) != 0 && (link->flags & LINK_IS_RUNNING) != 0))
            continue;
        send_invalidation(link, key);
    }
    model_links_free(links);
}

void model_tracking_invalidate_all(model_server *server)
{
    for (size_t i = 0; i < server->links.count; i++) {
        model_link *link = server->links.at[i];
        if ((link->flags & LINK_TRACKS) == 0)
            continue;
        unsigned flags = link->flags;
        model_untrack(link);
        link->flags = flags;
        send_invalidation(link, (model_text){ NULL, 0 });
    }
}

void model_tracking_end(model_server *server)
{
    model_links_table_clear(&server->tracked);
}
