#include "engine/file/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

struct bwl_file_watch {
    int             number; /* of inotify                                                       */
    bool            pushed; /* since the last overflow                                          */
    bwl_file_watch *next;
    bwl_file_waiter end; /* of the ring of waiters: next is the first, with the lowest ticket    */
};

enum { EVENTS_SIZE = 4096 };

static const uint32_t watched = IN_CLOSE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;

static bwl_file_watch *find(const bwl_file_watcher *watcher, int number)
{
    bwl_file_watch *watch = watcher->watches;

    while (watch != NULL && watch->number != number)
        watch = watch->next;
    return watch;
}

static bwl_file_watch *add(bwl_file_watcher *watcher, int number)
{
    bwl_file_watch *watch = malloc(sizeof *watch);

    if (watch == NULL)
        return NULL;
    *watch          = (bwl_file_watch){ .number = number, .next = watcher->watches };
    watch->end.next = watch->end.previous = &watch->end;
    watcher->watches                      = watch;
    return watch;
}

static void drop(bwl_file_watcher *watcher, bwl_file_watch *watch)
{
    bwl_file_watch **where = &watcher->watches;

    while (*where != watch)
        where = &(*where)->next;
    *where = watch->next;
    free(watch);
}

/* May remove this watch and others. */
static void push_first(bwl_file_watch *watch)
{
    bwl_host_event(watch->end.next->lock, (bwl_event){ .kind = BWL_PUSH, .answer = BWL_NO });
}

/* Events were lost: any file may have changed. */
static void push_all(bwl_file_watcher *watcher)
{
    bwl_file_watch *watch;

    for (watch = watcher->watches; watch != NULL; watch = watch->next)
        watch->pushed = false;
    for (watch = watcher->watches; watch != NULL;) {
        bool was_pushed = watch->pushed;
        watch->pushed   = true;
        if (!was_pushed)
            push_first(watch);
        watch = was_pushed ? watch->next : watcher->watches; /* it may be removed by now */
    }
}

static void handle_event(bwl_file_watcher *watcher, const struct inotify_event *event)
{
    bwl_file_watch *watch;

    if ((event->mask & IN_Q_OVERFLOW) != 0)
        push_all(watcher);
    else if ((watch = find(watcher, event->wd)) != NULL)
        push_first(watch);
}

/* locked: the descriptor is readable, or was at the last poll. */
static void ready(bwl_source *source, uint32_t events)
{
    bwl_file_watcher                   *watcher = (bwl_file_watcher *)source;
    _Alignas(struct inotify_event) char bytes[EVENTS_SIZE];
    int                                 last = 0; /* no watch has this number */

    (void)events;
    if (source->fd < 0)
        return;
    ssize_t size = read(source->fd, bytes, sizeof bytes);
    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const struct inotify_event *)(bytes + at);
        /* An event with a name is about an entry of a locked directory.  A waiter that was pushed
         * has seen the effects of all earlier events. */
        if (event->len == 0 && event->wd != last) {
            last = event->wd;
            handle_event(watcher, event);
        }
        at += (ssize_t)(sizeof *event + event->len);
    }
}

void bwl_file_watcher_init(bwl_file_watcher *watcher, bwl_host *client)
{
    *watcher = (bwl_file_watcher){ .source  = { .fd = -1, .ready = ready },
                                   .client  = client,
                                   .idle_at = BWL_NEVER };
}

static bool open_source(bwl_file_watcher *watcher)
{
    bwl_reactor *reactor = &watcher->client->reactor;
    bwl_fault    fault; /* the cause does not matter: without events, waiters poll */

    if (watcher->source.fd >= 0)
        return true;
    if (bwl_reactor_open(reactor, &fault) < 0)
        return false;
    watcher->source.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watcher->source.fd < 0)
        return false;
    if (bwl_reactor_watch(reactor, &watcher->source, EPOLLIN, &fault) < 0) {
        (void)close(watcher->source.fd);
        watcher->source.fd = -1;
        return false;
    }
    return true;
}

static void close_source(bwl_file_watcher *watcher)
{
    if (watcher->source.fd < 0)
        return;
    bwl_reactor_forget(&watcher->client->reactor, &watcher->source);
    (void)close(watcher->source.fd);
    watcher->source.fd = -1;
}

/* A forked child shares the epoll and the inotify instance with its parent: a watch that is removed
 * here would be removed there. */
void bwl_file_watcher_close(bwl_file_watcher *watcher)
{
    bwl_host *client = watcher->client;

    if (bwl_forked(&client->guard)) {
        if (watcher->source.fd >= 0)
            (void)close(watcher->source.fd);
        while (watcher->watches != NULL)
            drop(watcher, watcher->watches);
        return;
    }
    assert(watcher->watches == NULL);
    bwl_host_set_timer(client, BWL_NEVER);
    close_source(watcher);
}

void bwl_file_watcher_close_idle(bwl_file_watcher *watcher)
{
    /* The timer has not expired, or the descriptor is in use again. */
    if (watcher->watches != NULL || watcher->client->latest < watcher->idle_at)
        return;
    close_source(watcher);
}

/* Watches the open file, and not what its path leads to by now. */
static int watch_file(const bwl_file_watcher *watcher, int fd)
{
    char path[32];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return inotify_add_watch(watcher->source.fd, path, watched);
}

/* Keeps the order of the tickets; nearly always at the end.  A ticket is above 0. */
static void insert(bwl_file_watch *watch, bwl_file_waiter *waiter)
{
    bwl_file_waiter *before = watch->end.previous;

    while (before->ticket > waiter->ticket)
        before = before->previous;
    waiter->watch          = watch;
    waiter->previous       = before;
    waiter->next           = before->next;
    waiter->next->previous = waiter;
    before->next           = waiter;
}

bool bwl_file_watch_add(bwl_file_watcher *watcher, bwl_file_waiter *waiter, int fd)
{
    if (waiter->watch != NULL)
        return true;
    if (!open_source(watcher))
        return false;
    int number = watch_file(watcher, fd); /* the same number for the same file */
    if (number < 0)
        return false;
    bwl_file_watch *watch = find(watcher, number);
    if (watch == NULL && (watch = add(watcher, number)) == NULL) {
        (void)inotify_rm_watch(watcher->source.fd, number); /* it exists */
        return false;
    }
    insert(watch, waiter);
    watcher->idle_at = BWL_NEVER;
    bwl_host_set_timer(watcher->client, BWL_NEVER);
    return true;
}

bool bwl_file_watch_has_next(const bwl_file_waiter *waiter)
{
    return waiter->watch != NULL && waiter->next != &waiter->watch->end;
}

void bwl_file_watch_remove(bwl_file_watcher *watcher, bwl_file_waiter *waiter)
{
    bwl_host       *client = watcher->client;
    bwl_file_watch *watch  = waiter->watch;

    if (watch == NULL)
        return;
    waiter->previous->next = waiter->next;
    waiter->next->previous = waiter->previous;
    waiter->watch          = NULL;
    if (watch->end.next != &watch->end)
        return;
    (void)inotify_rm_watch(watcher->source.fd, watch->number); /* if it fails, it is gone already */
    drop(watcher, watch);
    if (watcher->watches != NULL)
        return;
    watcher->idle_at = bwl_ms_add(bwl_host_now(client), BWL_FILE_WATCH_IDLE_MS);
    bwl_host_set_timer(client, watcher->idle_at);
}
