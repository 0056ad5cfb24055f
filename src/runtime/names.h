/*
 * names.h -- the locks of one client by their names: whether a name is in use here already.
 *
 * A hash table whose chains run through the locks, so that nothing is allocated for one more.
 * Without memory for more chains they are longer.
 */
#ifndef BWL_RUNTIME_NAMES_H
#define BWL_RUNTIME_NAMES_H

#include "core/status.h"

struct bwl_lock;

typedef struct bwl_named {
    struct bwl_lock **chains; /* NULL: none was needed yet */
    size_t            chains_count;
    size_t            count;
} bwl_named;

uint32_t bwl_name_hash(const char *name, size_t size);

/* locked: the lock is found from now on, and before others of its name.  False: no memory even for
 * the first chains, and it is not. */
bool bwl_named_add(bwl_named *named, struct bwl_lock *lock);

/* locked: nothing, if it was not added. */
void bwl_named_remove(bwl_named *named, struct bwl_lock *lock);

/* locked: the latest that was added of this name, or NULL. */
struct bwl_lock *bwl_named_find(const bwl_named *named, const char *name, size_t size);

void bwl_named_free(bwl_named *named);

#endif
