#include "engine/redis/session/request.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_AT_FIRST = 8 };

bool bwl_request_keep(bwl_request_list *list, const bwl_request *request)
{
    if (list->count == list->room) {
        size_t       room  = list->room == 0 ? ROOM_AT_FIRST : list->room * 2;
        bwl_request *items = realloc(list->items, room * sizeof *items);
        if (items == NULL)
            return false;
        list->items = items;
        list->room  = room;
    }
    list->items[list->count++] = *request;
    request->lock->host->pending++;
    bwl_host_pin(request->lock);
    return true;
}

bwl_request bwl_request_take(bwl_request_list *list, size_t nth)
{
    assert(nth < list->count);
    bwl_request taken = list->items[nth];

    list->count--;
    memmove(&list->items[nth], &list->items[nth + 1], (list->count - nth) * sizeof taken);
    taken.lock->host->pending--;
    return taken;
}

void bwl_request_list_free(bwl_request_list *list)
{
    free(list->items);
    *list = (bwl_request_list){ .items = NULL };
}

void bwl_request_complete(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    request->kind->complete(session, request, result);
    bwl_host_unpin(request->lock);
}

void bwl_request_answer(bwl_session *session, const bwl_request *request, bwl_answer answer)
{
    bwl_request_complete(session, request, &(bwl_event){ .kind = BWL_REPLY, .answer = answer });
}

bool bwl_request_is_wanted(const bwl_request *request)
{
    return !request->kind->is_machines || request->tag == request->lock->latest_tag;
}
