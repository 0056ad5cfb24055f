/*
 * references.c -- the references of the caller to a lock that it holds.  Each is released on its
 * own, and keeps a handle of the lock until that release is finished.
 */
#include "runtime/lock.h"

bool bwl_lock_add_reference(bwl_lock *lock)
{
    if (lock->face.references == 0 || lock->face.references == BWL_REFERENCES_MAX)
        return false;
    lock->face.references++;
    lock->handles++;
    return true;
}

bool bwl_lock_drop_reference(bwl_lock *lock)
{
    if (bwl_lock_other_references(lock) == 0)
        return false;
    lock->face.references--;
    return true;
}

uint32_t bwl_lock_other_references(const bwl_lock *lock)
{
    return lock->face.references > 0 ? lock->face.references - 1 : 0;
}
