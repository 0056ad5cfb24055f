/*
 * names.h -- the locks of one shard by name: whether a name is in use here already.
 *
 * A hash table whose chains run through the locks, so that adding one allocates nothing but, at
 * times, more chains.  Without memory for these the chains become longer.
 */
#pragma once

#include "core/status.h"

struct bwl_lock;

typedef struct bwl_named {
    struct bwl_lock **chains; /* NULL: none needed yet */
    size_t            chains_count;
    size_t            count;
} bwl_named;

uint32_t bwl_name_hash(const char *name, size_t size);

/* locked: adds the lock, which is found before others of its name.  False: no memory for the first
 * chains; the lock is not added. */
bool bwl_named_add(bwl_named *named, struct bwl_lock *lock);

/* locked: does nothing if the lock was not added. */
void bwl_named_remove(bwl_named *named, struct bwl_lock *lock);

/* locked: the lock of this name that was added last, or NULL. */
struct bwl_lock *bwl_named_find(const bwl_named *named, const char *name, size_t size);

void bwl_named_free(bwl_named *named);
