/*
 * queue_line.c -- the order of the model server's queue.  See queue.h.
 */
#include "lab/model/queue.h"

static bool is_in_line(const bwl_model_item *item)
{
    return item->is_there && item->key == BWL_MODEL_QUEUE;
}

bwl_model_item *bwl_model_line_first(bwl_model_redis *r)
{
    bwl_model_item *first = NULL;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        bwl_model_item *item = &r->data.items[i];
        if (is_in_line(item) && (first == NULL || bwl_member_is_before(item, first)))
            first = item;
    }
    return first;
}

unsigned bwl_model_line_rank(const bwl_model_redis *r, const bwl_model_item *of)
{
    unsigned rank = 0;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &r->data.items[i];
        rank += is_in_line(item) && bwl_member_is_before(item, of);
    }
    return rank;
}
