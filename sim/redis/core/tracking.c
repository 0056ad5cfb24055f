/*
 * tracking.c -- CLIENT TRACKING: which links have read which keys, and the pushes that tell them of
 * a change.  In its default mode only: no prefixes, no redirection.
 */
#include "sim/redis/core/inside.h"

#include <string.h>

void model_track(model_link *link, model_text key)
{
    bool is_new;

    (void)model_table_add(&link->tracked, key, &is_new);
    if (!is_new)
        return;
    void **links = model_table_add(&link->server->tracked, key, &is_new);
    if (is_new) {
        model_links *first = model_allocate(sizeof *first);
        *first             = (model_links){ .count = 0 };
        *links             = first;
    }
    model_links_add(*links, link);
}

void model_untrack(model_link *link)
{
    size_t       at = 0;
    model_entry *entry;

    link->flags &= ~(unsigned)(LINK_TRACKS | LINK_NO_LOOP);
    while ((entry = model_table_next(&link->tracked, &at)) != NULL) {
        model_text key   = { entry->key, entry->size };
        void     **links = model_table_find(&link->server->tracked, key);
        if (links == NULL || !model_links_remove(*links, link) ||
            ((model_links *)*links)->count != 0)
            continue;
        void *empty = NULL;
        (void)model_table_remove(&link->server->tracked, key, &empty);
        model_links_free(empty);
    }
    model_table_clear(&link->tracked, NULL);
}

/* key.at NULL: every key.  The link whose command runs gets it behind the reply. */
static void tell(model_link *link, model_text key)
{
    model_bytes *out = model_push_output(link, &link->invalidations);

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

void model_trackers_tell(model_server *server, model_text key)
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
        tell(link, key);
    }
    model_links_free(links);
}

void model_trackers_flush(model_server *server)
{
    for (size_t i = 0; i < server->links.count; i++) {
        model_link *link = server->links.at[i];
        if ((link->flags & LINK_TRACKS) == 0)
            continue;
        unsigned flags = link->flags;
        model_untrack(link);
        link->flags = flags;
        tell(link, (model_text){ NULL, 0 });
    }
}
