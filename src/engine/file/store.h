/*
 * store.h -- what a client of file: shares between its locks; also for the doctor.
 */
#pragma once

#include "engine/file/directory.h"
#include "engine/file/owner_record.h"
#include "engine/file/watch.h"

typedef struct bwl_file_store { /* of one client */
    bwl_file_directory directory;
    const char        *parent; /* of the default directory; NULL: the URL names one              */
    bwl_file_watcher   watcher;
    bwl_file_identity  self;
} bwl_file_store;

/* Opens the lock directory unless it is open: the one that the URL names (its path is in
 * directory.path) or the default one, which is created if `make` is set; if not, it may be missing,
 * with OK. */
int bwl_file_store_open(bwl_file_store *store, bool make, bwl_fault *fault);
