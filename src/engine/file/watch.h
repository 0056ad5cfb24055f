/*
 * watch.h -- being told that a lock file was closed, and so may be free: inotify(7).
 *
 * A client has one inotify descriptor, and in it one watch for each file that locks of it wait for,
 * with the list of those locks in the order of their tickets.  When something happens to the file,
 * the first of the list is pushed: none behind it can be at the head of the queue before it.  What
 * the first does then (wins, leaves) closes the file, or is told in another way, and so reaches the
 * next.
 *
 * Watched is: closing, which also happens to the files of a process that is killed (but the kernel
 * tells it a moment before it drops the locks); a change of the file's attributes, which is what
 * removes it, and what a lock does that is given back while a child still has the file open; and
 * its being moved.
 *
 * The descriptor is opened by the first wait.  There are 128 for each user by default
 * (fs.inotify.max_user_instances): it is closed a while after the last wait.  (At once would be
 * wrong: to close it just after a watch was removed takes the kernel ten milliseconds.)
 *
 * What it does not promise: that there is one.  Where it cannot be had, one looks by oneself.
 */
#ifndef BWL_ENGINE_FILE_WATCH_H
#define BWL_ENGINE_FILE_WATCH_H

#include "engine/engine.h"

typedef struct bwl_file_watch bwl_file_watch;

/* A lock that waits for a file: embedded in the engine's part of the lock. */
typedef struct bwl_file_waiter {
    bwl_engine_lock        *lock;
    uint64_t                ticket;
    bwl_file_watch         *watch; /* NULL: waits for none                                       */
    struct bwl_file_waiter *next;
    struct bwl_file_waiter *previous;
} bwl_file_waiter;

enum { BWL_FILE_WATCH_BUCKETS = 64, BWL_FILE_WATCH_IDLE_MS = 100 };

/* One for each client; lives as long as its reactor. */
typedef struct bwl_file_watcher {
    bwl_source      source; /* the inotify descriptor, or -1                                     */
    bwl_host       *client;
    bwl_ms          idle_at; /* the descriptor is closed then, if nothing is watched; NEVER: no */
    size_t          count; /* of watches                                                          */
    bwl_file_watch *buckets[BWL_FILE_WATCH_BUCKETS]; /* by the number of the watch                */
} bwl_file_watcher;

void bwl_file_watcher_init(bwl_file_watcher *watcher, bwl_host *client);

/* Nobody waits any more; or this is a forked child, and what it inherited is closed. */
void bwl_file_watcher_close(bwl_file_watcher *watcher);

/* locked: from now on lock and ticket of the waiter (set before) are told of what happens to this
 * file.  False: nobody will tell.  True, and nothing else, if it waits already. */
bool bwl_file_watch_add(bwl_file_watcher *watcher, bwl_file_waiter *waiter, int fd);

/* locked: no more.  Does nothing if it does not wait. */
void bwl_file_watch_remove(bwl_file_watcher *watcher, bwl_file_waiter *waiter);

/* locked: closes the descriptor if it has not been needed for a while. */
void bwl_file_watcher_rest(bwl_file_watcher *watcher);

#endif
