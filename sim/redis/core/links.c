/*
 * links.c -- see links.h.
 */
#include "sim/redis/core/links.h"

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

/* ---- tables ---------------------------------------------------------------------------------- */

void model_links_free(void *memory)
{
    model_links *links = memory;

    free(links->at);
    free(links);
}

void model_links_table_add(model_table *table, model_text key, model_link *link)
{
    bool   is_new;
    void **links = model_table_add(table, key, &is_new);

    if (is_new) {
        model_links *first = model_allocate(sizeof *first);
        *first             = (model_links){ .count = 0 };
        *links             = first;
    }
    model_links_add(*links, link);
}

bool model_links_table_remove(model_table *table, model_text key, const model_link *link)
{
    void **links = model_table_find(table, key);
    void  *empty = NULL;

    if (links == NULL || !model_links_remove(*links, link))
        return false;
    if (((model_links *)*links)->count == 0) {
        (void)model_table_remove(table, key, &empty);
        model_links_free(empty);
    }
    return true;
}

void model_links_table_clear(model_table *table)
{
    model_table_clear(table, model_links_free);
}
