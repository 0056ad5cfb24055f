#include "engine/file/store.h"

int bwl_file_store_open(bwl_file_store *store, bool make, bwl_fault *fault)
{
    bwl_file_directory *d = &store->directory;

    if (d->fd >= 0)
        return BWL_OK;
    if (store->parent != NULL)
        return bwl_file_directory_open_own(d, store->parent, make, fault);
    return bwl_file_directory_open(d, d->path, fault);
}
