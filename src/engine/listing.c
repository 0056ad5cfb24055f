#include "engine/listing.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_AT_FIRST = 16 };

int bwl_listing_new(bwl_engine_lock *lock, const char *pattern, bwl_fault *fault)
{
    bwl_listing *listing = calloc(1, sizeof *listing);

    if (listing == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    assert(strlen(pattern) <= BWL_GLOB_MAX);
    memcpy(listing->pattern, pattern, strlen(pattern));
    lock->listing = listing;
    return BWL_OK;
}

void bwl_listing_free(bwl_engine_lock *lock)
{
    if (lock->listing == NULL)
        return;
    free(lock->listing->found);
    free(lock->listing);
    lock->listing = NULL;
}

bool bwl_listing_wants(const bwl_listing *listing, const char *name, size_t size)
{
    return size <= BWL_NAME_MAX && bwl_name_fault(name, size) == NULL &&
           bwl_glob_matches(listing->pattern, name, size);
}

bwl_listed *bwl_listing_add(bwl_listing *listing, const char *name, size_t size)
{
    assert(size <= BWL_NAME_MAX);
    if (listing->count == listing->room) {
        size_t      room  = listing->room == 0 ? ROOM_AT_FIRST : 2 * listing->room;
        bwl_listed *found = realloc(listing->found, room * sizeof *found);
        if (found == NULL) {
            (void)bwl_fail(&listing->fault, BWL_STATUS_NOMEM, "out of memory");
            return NULL;
        }
        listing->found = found;
        listing->room  = room;
    }
    bwl_listed *listed = &listing->found[listing->count++];
    memcpy(listed->name, name, size);
    listed->name[size] = '\0';
    listed->holder     = (bwl_holder){ .held = false };
    return listed;
}
