/*
 * links.h -- lists of links, in the order in which the links were added, and tables of such lists.
 */
#pragma once

#include "sim/redis/data/table.h"
#include "sim/redis/server.h"

typedef struct model_links {
    model_link **at;
    size_t       count;
    size_t       room;
} model_links;

void model_links_add(model_links *links, model_link *link);
bool model_links_remove(model_links *links, const model_link *link); /* false: it was not there */

/* Tables whose values are lists.  A list without links is removed. */
void model_links_table_add(model_table *table, model_text key, model_link *link);
bool model_links_table_remove(model_table *table, model_text key, const model_link *link);
void model_links_table_clear(model_table *table);
void model_links_free(void *links); /* one that was removed from a table */
