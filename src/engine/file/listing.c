#include "engine/file/listing.h"

#include "base/fault.h"
#include "core/text.h"
#include "engine/file/store.h"
#include "engine/file/holder.h"
#include "engine/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STEP_FILES = 256, /* directory entries of one step */
    DEPTH_MAX  = 6,   /* an encoding of the longest name has fewer pieces */
};

/* The directories from the lock directory down to the one that is being read. */
typedef struct walk {
    unsigned depth; /* 0: not begun */
    DIR     *directories[DEPTH_MAX];
    size_t   sizes[DEPTH_MAX]; /* of `path` up to each */
    char     path[DEPTH_MAX * (BWL_FILE_LEAF_MAX + 1)];
} walk;

static bool enter(walk *w, int at, const char *entry)
{
    int  flags     = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int  fd        = w->depth < DEPTH_MAX ? bwl_file_open_at(at, entry, flags, 0) : -1;
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;

    if (directory == NULL) {
        if (fd >= 0)
            bwl_file_close_keeping_errno(fd);
        return false;
    }
    w->directories[w->depth++] = directory;
    return true;
}

static void leave(walk *w)
{
    (void)closedir(w->directories[--w->depth]); /* was read only */
}

void bwl_file_list_end(bwl_engine_lock *lock)
{
    walk *w = lock->listing != NULL ? lock->listing->walk : NULL;

    if (w == NULL)
        return;
    while (w->depth > 0)
        leave(w);
    free(w);
    lock->listing->walk = NULL;
}

/* Begins the walk.  False: there is nothing to read, or a fault. */
static bool begin(bwl_engine_lock *lock)
{
    bwl_file_store *store   = lock->host->store;
    bwl_listing    *listing = lock->listing;
    int             status  = bwl_file_store_open(store, false, &listing->fault);

    listing->fault.status = status;
    if (status < 0)
        return false;
    listing->is_at_end = store->directory.fd < 0; /* no directory, no locks */
    if (listing->is_at_end)
        return false;
    walk *w = calloc(1, sizeof *w);
    if (w == NULL) {
        (void)bwl_fail(&listing->fault, BWL_STATUS_NOMEM, "out of memory");
        return false;
    }
    listing->walk = w;
    if (enter(w, store->directory.fd, "."))
        return true;
    (void)bwl_fail_errno(&listing->fault, "cannot read the directory %.150s",
                         store->directory.path);
    bwl_file_list_end(lock);
    return false;
}

/* The holder of one name, if it has one. */
static void look_at(bwl_engine_lock *lock, const char *name, size_t size,
                    const bwl_file_flocks *flocks)
{
    bwl_file_store *store = lock->host->store;
    bwl_file_path   path;
    bwl_holder      holder = { .held = false };

    if (bwl_file_path_init(&path, &store->directory, name, size, NULL) < 0)
        return;
    if (bwl_file_path_open(&path, false, NULL) == BWL_OK && path.queue.fd >= 0) {
        bool name_is_locked = bwl_file_name_lock_test(&path.name_lock) == BWL_FILE_BUSY;
        if (name_is_locked || bwl_file_may_be_held(&path.queue, flocks))
            free(bwl_file_find_holder(&path.queue, &path.queue, name_is_locked, &holder));
    }
    bwl_file_path_free(&path);
    if (!holder.held)
        return;
    bwl_listed *listed = bwl_listing_add(lock->listing, name, size);
    if (listed != NULL)
        listed->holder = holder;
}

/* The name whose encoding is this path.  False: it is none. */
static bool read_name(const char *path, char ret_name[BWL_NAME_MAX + 1], size_t *ret_size)
{
    char   encoded[BWL_FILE_ENCODING_MAX];
    char   joined[BWL_FILE_ENCODING_MAX];
    size_t size = 0;

    for (const char *at = path; *at != '\0'; at++) {
        if (at[0] == '+' && at[1] == '/') {
            at++;
            continue;
        }
        if (size + 1 == sizeof joined)
            return false;
        joined[size++] = *at;
    }
    if (!bwl_percent_decode(ret_name, BWL_NAME_MAX + 1, joined, size))
        return false;
    *ret_size = strlen(ret_name);
    bwl_file_encode(encoded, ret_name, *ret_size);
    return strcmp(encoded, path) == 0;
}

/* One entry of the directory that is being read. */
static void visit(bwl_engine_lock *lock, walk *w, const char *entry, const bwl_file_flocks *flocks)
{
    size_t before = w->depth > 1 ? w->sizes[w->depth - 1] : 0;
    size_t size   = strlen(entry);
    char   name[BWL_NAME_MAX + 1];
    size_t name_size;

    if (entry[0] == '.' || size > BWL_FILE_LEAF_MAX)
        return;
    memcpy(w->path + before, entry, size + 1);
    if (entry[size - 1] == '+') { /* a part of a long name */
        if (enter(w, dirfd(w->directories[w->depth - 1]), entry)) {
            w->path[before + size] = '/';
            w->sizes[w->depth - 1] = before + size + 1;
        }
        return;
    }
    lock->listing->looked_at++;
    if (read_name(w->path, name, &name_size) && bwl_listing_wants(lock->listing, name, name_size))
        look_at(lock, name, name_size, flocks);
}

bool bwl_file_list(bwl_engine_lock *lock)
{
    bwl_listing    *listing = lock->listing;
    struct dirent  *entry;
    bwl_file_flocks flocks;

    if (listing->walk == NULL && !begin(lock))
        return true;
    walk *w = listing->walk;
    bwl_file_flocks_read(&flocks);
    for (unsigned i = 0; i < STEP_FILES && w->depth > 0 && listing->fault.status == BWL_OK; i++) {
        entry = readdir(w->directories[w->depth - 1]);
        if (entry != NULL)
            visit(lock, w, entry->d_name, &flocks);
        else
            leave(w);
    }
    bwl_file_flocks_free(&flocks);
    listing->is_at_end = w->depth == 0;
    return true;
}
