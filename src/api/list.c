/*
 * list.c -- the held names of a store, read step by step.
 *
 * The engine fills one step after the other into the listing of a lock that is never acquired.  A
 * list keeps the names that it has returned, because a store may show one twice (SCAN does while
 * its table grows, and so do two servers): up to NAMES_MAX of them, so that its memory is
 * bounded.
 */
#include "api/handles.h"
#include "base/fault.h"
#include "core/text.h"
#include "engine/listing.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 20, BUCKETS_MIN = 256 };

/* A name that was returned. */
typedef struct returned {
    struct returned *next;
    uint64_t         hash;
    char             name[];
} returned;

struct bowline_list {
    bowline_client *client;
    bwl_lock       *lock; /* with the listing */
    size_t          next; /* in `found` of the listing */
    uint64_t        limit;
    uint64_t        looked_at; /* the caller reads them without a lock */
    uint64_t        total;
    returned      **buckets;
    size_t          buckets_count; /* a power of two; 0: none yet */
    size_t          names_count;
};

/* ---- the names that were returned ------------------------------------------------------------ */

/* Without memory for more buckets, the table only gets slower. */
static bool grow(bowline_list *list)
{
    size_t     count   = list->buckets_count == 0 ? BUCKETS_MIN : 2 * list->buckets_count;
    returned **buckets = calloc(count, sizeof(returned *));

    if (buckets == NULL)
        return list->buckets_count != 0;
    for (size_t i = 0; i < list->buckets_count; i++)
        for (returned *name = list->buckets[i], *next; name != NULL; name = next) {
            next                              = name->next;
            name->next                        = buckets[name->hash & (count - 1)];
            buckets[name->hash & (count - 1)] = name;
        }
    free(list->buckets);
    list->buckets       = buckets;
    list->buckets_count = count;
    return true;
}

/* 1: it is new; 0: it was returned before; NOMEM. */
static int remember(bowline_list *list, const char *name, bowline_error *reterr)
{
    size_t   size = strlen(name);
    uint64_t hash = bwl_hash(name, size);

    if (list->names_count >= list->buckets_count && list->names_count < NAMES_MAX && !grow(list))
        return bwl_fail(reterr, BWL_STATUS_NOMEM, "out of memory");
    returned **bucket = &list->buckets[hash & (list->buckets_count - 1)];
    for (const returned *before = *bucket; before != NULL; before = before->next)
        if (before->hash == hash && strcmp(before->name, name) == 0)
            return 0;
    if (list->names_count == NAMES_MAX)
        return 1;
    returned *added = malloc(sizeof *added + size + 1);
    if (added == NULL)
        return bwl_fail(reterr, BWL_STATUS_NOMEM, "out of memory");
    added->hash = hash;
    added->next = *bucket;
    memcpy(added->name, name, size + 1);
    *bucket = added;
    list->names_count++;
    return 1;
}

static void forget_names(bowline_list *list)
{
    for (size_t i = 0; i < list->buckets_count; i++)
        while (list->buckets[i] != NULL) {
            returned *name   = list->buckets[i];
            list->buckets[i] = name->next;
            free(name);
        }
    free(list->buckets);
}

/* ---- the calls ------------------------------------------------------------------------------- */

static const char lock_name[] = "list"; /* no key: a step names its own keys */

int bowline_list_start(bowline_list **ret_list, bowline_client *client, const char *pattern,
                       bowline_error *reterr)
{
    if (ret_list == NULL || client == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_list_start needs a place for the list, and a client");
    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    const char *wrong = pattern != NULL ? bwl_glob_fault(pattern) : NULL;
    if (wrong != NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "%s", wrong);
    bowline_list *list = calloc(1, sizeof *list);
    if (list == NULL)
        return bwl_fail(reterr, BWL_STATUS_NOMEM, "out of memory");
    bwl_loop_catch_up(&client->first->loop);
    int status = bwl_query_lock_new(&list->lock, client->first, lock_name, reterr);
    if (status == BOWLINE_OK) {
        status = bwl_listing_new(&list->lock->base, pattern != NULL ? pattern : "*", reterr);
        if (status < 0)
            bwl_lock_drop_handle(list->lock);
    }
    if (status < 0) {
        free(list);
        return status;
    }
    list->client = client;
    *ret_list    = list;
    return BOWLINE_OK;
}

/* locked */
static int step(bowline_list *list, bowline_error *reterr)
{
    bwl_listing  *listing = list->lock->base.listing;
    bwl_operation operation;

    if (list->limit != 0 && list->looked_at >= list->limit)
        return bwl_fail(reterr, BWL_STATUS_TIMEOUT,
                        "%llu of about %llu keys were looked at, and that is the limit",
                        (unsigned long long)list->looked_at, (unsigned long long)list->total);
    list->next = 0;
    bwl_lock_list(list->lock, &operation);
    int status      = bwl_lock_await(&operation, BWL_NEVER, reterr);
    list->looked_at = listing->looked_at;
    list->total     = listing->total;
    if (status == BOWLINE_OK && listing->fault.status < 0) {
        status         = listing->fault.status;
        listing->count = 0;
        if (reterr != NULL)
            *reterr = listing->fault;
    }
    return status;
}

int bowline_list_next(bowline_holder *ret_holder, bowline_list *list, bowline_error *reterr)
{
    if (ret_holder == NULL || list == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_list_next needs a place for the holder, and a list");
    int status = bwl_check_holder(ret_holder, reterr);
    if (status < 0)
        return status;
    BWL_CALL(list->client->first, reterr);
    if (call.status < 0)
        return call.status;
    const bwl_listing *listing = list->lock->base.listing;
    for (;;) {
        while (list->next < listing->count) {
            const bwl_listed *listed = &listing->found[list->next];
            status                   = remember(list, listed->name, reterr);
            if (status < 0)
                return status;
            list->next++;
            if (status == 1) {
                bwl_copy_holder(ret_holder, listed->name, &listed->holder);
                return 1;
            }
        }
        if (listing->is_at_end)
            return 0;
        status = step(list, reterr);
        if (status < 0)
            return status;
    }
}

void bowline_list_limit(bowline_list *list, uint64_t keys)
{
    if (list != NULL)
        list->limit = keys;
}

uint64_t bowline_list_progress(const bowline_list *list, uint64_t *ret_total)
{
    if (ret_total != NULL)
        *ret_total = list != NULL ? list->total : 0;
    return list != NULL ? list->looked_at : 0;
}

/* In a forked child, the lock is the parent's. */
void bowline_list_free(bowline_list *list)
{
    if (list == NULL)
        return;
    {
        BWL_QUERY(list->client->first);
        if (call.status == BOWLINE_OK)
            bwl_lock_drop_handle(list->lock);
    }
    forget_names(list);
    free(list);
}
