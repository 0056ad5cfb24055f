/*
 * watch.h -- wakes a waiter when its lock file was closed, and so may be free: inotify(7).
 *
 * A client has one inotify descriptor, with one watch for each file that its locks wait for, and a
 * list of those locks in the order of their tickets.  An event of the file is pushed to the first
 * of the list: no other can be at the head of the queue before it.  The first then wins or leaves,
 * which closes the file or is an event itself, and so reaches the next.
 *
 * The events are: the file is closed, which also happens when a process is killed (the kernel sends
 * the event a moment before it drops the locks); its attributes change, as when it is removed, or
 * when a lock is released while a child has the file open; it is moved.
 *
 * The descriptor is opened by the first wait.  A user may have 128 by default
 * (fs.inotify.max_user_instances), so it is closed some time after the last wait.  (Not at once: to
 * close it just after a watch was removed takes the kernel ten milliseconds.)
 *
 * Not promised: that there are events.  A waiter without them polls.
 */
#pragma once

#include "engine/engine.h"

typedef struct bwl_file_watch bwl_file_watch;

/* A lock that waits for a file: embedded in the engine's part of the lock. */
typedef struct bwl_file_waiter {
    bwl_engine_lock        *lock;
    uint64_t                ticket;
    bwl_file_watch         *watch; /* NULL: not waiting                                          */
    struct bwl_file_waiter *next;
    struct bwl_file_waiter *previous;
} bwl_file_waiter;

enum { BWL_FILE_WATCH_IDLE_MS = 100 };

/* One for each client; lives as long as its reactor. */
typedef struct bwl_file_watcher {
    bwl_source      source; /* the inotify descriptor, or -1                                     */
    bwl_host       *client;
    bwl_ms          idle_at; /* the descriptor is closed then, if nothing is watched; NEVER: no */
    bwl_file_watch *watches; /* the newest first */
} bwl_file_watcher;

void bwl_file_watcher_init(bwl_file_watcher *watcher, bwl_host *client);

/* No lock may be waiting, except in a forked child, where the inherited descriptors are closed. */
void bwl_file_watcher_close(bwl_file_watcher *watcher);

/* locked: pushes events of this file to the waiter, whose lock and ticket are set.  False: no
 * events will come.  Does nothing and returns true if it is waiting already. */
bool bwl_file_watch_add(bwl_file_watcher *watcher, bwl_file_waiter *waiter, int fd);

/* locked: true if another lock of this client waits for the file behind this one. */
bool bwl_file_watch_has_next(const bwl_file_waiter *waiter);

/* locked: ends that.  Does nothing if it is not waiting. */
void bwl_file_watch_remove(bwl_file_watcher *watcher, bwl_file_waiter *waiter);

/* locked: closes the descriptor if it was not used for BWL_FILE_WATCH_IDLE_MS. */
void bwl_file_watcher_close_idle(bwl_file_watcher *watcher);
