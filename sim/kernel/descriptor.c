/*
 * descriptor.c -- see descriptor.h.
 */
#include "sim/kernel/descriptor.h"

#include "lab/base/memory.h"
#include "sim/kernel/fork.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DESCRIPTORS_MAX = 4096 };

struct sim_watch {
    struct epoll_descriptor *epoll;
    sim_descriptor          *descriptor;
    struct epoll_event       event;
    sim_watch               *next_of_epoll;
    sim_watch               *next_of_descriptor;
};

typedef struct epoll_descriptor {
    sim_descriptor descriptor; /* first */
    sim_watch     *watches;    /* the oldest first */
} epoll_descriptor;

typedef struct counter_descriptor {
    sim_descriptor descriptor; /* first */
    uint64_t       count;
    int64_t        at; /* of a timer, by the boot clock; 0: not set */
    sim_event     *event;
} counter_descriptor;

static struct {
    sim_descriptor *all[DESCRIPTORS_MAX];
    unsigned        at_most;
} table;

void sim_descriptors_limit(unsigned at_most)
{
    table.at_most = at_most;
}

unsigned sim_descriptors_count(const sim_process *process)
{
    unsigned count = 0;

    for (unsigned i = 0; i < DESCRIPTORS_MAX; i++)
        count += table.all[i] != NULL && table.all[i]->process == process;
    return count;
}

int sim_descriptor_add(sim_descriptor *descriptor, const sim_descriptor_kind *kind)
{
    sim_process *process = sim_self_process();

    assert(process != NULL);
    if (sim_is_child())
        sim_child_fail("opens a descriptor");
    if (table.at_most > 0 && sim_descriptors_count(process) >= table.at_most) {
        errno = EMFILE;
        return -1;
    }
    for (int i = 0; i < DESCRIPTORS_MAX; i++) {
        if (table.all[i] != NULL)
            continue;
        descriptor->kind    = kind;
        descriptor->process = process;
        descriptor->fd      = SIM_FD_FIRST + i;
        table.all[i]        = descriptor;
        return descriptor->fd;
    }
    errno = EMFILE;
    return -1;
}

static sim_descriptor *find(int fd)
{
    sim_descriptor *found = NULL;

    if (fd >= SIM_FD_FIRST && fd < SIM_FD_FIRST + DESCRIPTORS_MAX)
        found = table.all[fd - SIM_FD_FIRST];
    if (found == NULL || found->process != sim_self_process()) {
        errno = EBADF;
        return NULL;
    }
    return found;
}

sim_descriptor *sim_descriptor_find(int fd)
{
    if (sim_is_child())
        sim_child_fail("uses descriptor %d of its parent", fd - SIM_FD_FIRST);
    return find(fd);
}

void sim_descriptor_changed(sim_descriptor *descriptor)
{
    (void)sim_wake_all(descriptor->process, descriptor);
    /* poll(2) waits for several; a thread that does looks again. */
    (void)sim_wake_all(descriptor->process, table.all);
    for (sim_watch *w = descriptor->watches; w != NULL; w = w->next_of_descriptor)
        sim_descriptor_changed(&w->epoll->descriptor);
}

/* ---- epoll ----------------------------------------------------------------------------------- */

static uint32_t epoll_ready(sim_descriptor *descriptor)
{
    epoll_descriptor *epoll = (epoll_descriptor *)(void *)descriptor;

    for (sim_watch *w = epoll->watches; w != NULL; w = w->next_of_epoll) {
        if ((w->descriptor->kind->ready(w->descriptor) & (w->event.events | EPOLLERR | EPOLLHUP)) !=
            0)
            return EPOLLIN;
    }
    return 0;
}

static void forget_watch(sim_watch *watch)
{
    sim_watch **link = &watch->epoll->watches;

    while (*link != watch)
        link = &(*link)->next_of_epoll;
    *link = watch->next_of_epoll;
    link  = &watch->descriptor->watches;
    while (*link != watch)
        link = &(*link)->next_of_descriptor;
    *link = watch->next_of_descriptor;
    free(watch);
}

static void epoll_close(sim_descriptor *descriptor)
{
    epoll_descriptor *epoll = (epoll_descriptor *)(void *)descriptor;

    while (epoll->watches != NULL)
        forget_watch(epoll->watches);
    free(epoll);
}

static const sim_descriptor_kind epoll_kind = { epoll_ready, NULL, NULL, epoll_close };

static epoll_descriptor *find_epoll(int fd)
{
    sim_descriptor *found = sim_descriptor_find(fd);

    if (found != NULL && found->kind != &epoll_kind)
        errno = EINVAL;
    return found != NULL && found->kind == &epoll_kind ? (epoll_descriptor *)(void *)found : NULL;
}

int sim_epoll_create(void)
{
    epoll_descriptor *epoll = bwl_room_for(1, sizeof *epoll);
    int               fd    = sim_descriptor_add(&epoll->descriptor, &epoll_kind);

    if (fd < 0)
        free(epoll);
    return fd;
}

static sim_watch *find_watch(const epoll_descriptor *epoll, const sim_descriptor *descriptor)
{
    sim_watch *w = epoll->watches;

    while (w != NULL && w->descriptor != descriptor)
        w = w->next_of_epoll;
    return w;
}

static void add_watch(epoll_descriptor *epoll, sim_descriptor *descriptor,
                      const struct epoll_event *event)
{
    sim_watch  *watch = bwl_room_for(1, sizeof *watch);
    sim_watch **last  = &epoll->watches;

    *watch = (sim_watch){ .epoll              = epoll,
                          .descriptor         = descriptor,
                          .event              = *event,
                          .next_of_descriptor = descriptor->watches };
    while (*last != NULL)
        last = &(*last)->next_of_epoll;
    *last               = watch;
    descriptor->watches = watch;
}

int sim_epoll_ctl(int epoll_fd, int what, int fd, struct epoll_event *event)
{
    epoll_descriptor *epoll      = find_epoll(epoll_fd);
    sim_descriptor   *descriptor = epoll != NULL ? sim_descriptor_find(fd) : NULL;

    if (descriptor == NULL)
        return -1;
    sim_watch *watch = find_watch(epoll, descriptor);
    if ((watch == NULL) != (what == EPOLL_CTL_ADD)) {
        errno = watch == NULL ? ENOENT : EEXIST;
        return -1;
    }
    if (what == EPOLL_CTL_ADD)
        add_watch(epoll, descriptor, event);
    else if (what == EPOLL_CTL_MOD)
        watch->event = *event;
    else
        forget_watch(watch);
    sim_descriptor_changed(descriptor);
    return 0;
}

static int collect(const epoll_descriptor *epoll, struct epoll_event *ret_events, int room)
{
    int count = 0;

    for (sim_watch *w = epoll->watches; w != NULL && count < room; w = w->next_of_epoll) {
        uint32_t ready =
            w->descriptor->kind->ready(w->descriptor) & (w->event.events | EPOLLERR | EPOLLHUP);
        if (ready != 0) {
            ret_events[count]        = w->event;
            ret_events[count].events = ready;
            count++;
        }
    }
    return count;
}

/* The time limit of a wait, by the monotonic clock. */
static int64_t limit(int wait_ms)
{
    if (wait_ms < 0)
        return SIM_NEVER;
    return sim_clock_read(sim_self_process(), SIM_CLOCK_MONOTONIC) + (int64_t)wait_ms * SIM_MS;
}

int sim_epoll_wait(int epoll_fd, struct epoll_event *ret_events, int room, int wait_ms)
{
    epoll_descriptor *epoll = find_epoll(epoll_fd);
    int64_t           until = limit(wait_ms);

    if (epoll == NULL)
        return -1;
    sim_give_way();
    for (;;) {
        int count = collect(epoll, ret_events, room);
        if (count > 0 || wait_ms == 0 || !sim_block(epoll, until))
            return count > 0 ? count : collect(epoll, ret_events, room);
    }
}

/* ---- eventfd and timerfd --------------------------------------------------------------------- */

static uint32_t counter_ready(sim_descriptor *descriptor)
{
    return ((counter_descriptor *)(void *)descriptor)->count > 0 ? EPOLLIN : 0;
}

static ssize_t counter_read(sim_descriptor *descriptor, void *bytes, size_t size)
{
    counter_descriptor *counter = (counter_descriptor *)(void *)descriptor;

    assert(size == sizeof counter->count);
    if (counter->count == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(bytes, &counter->count, size);
    counter->count = 0;
    return (ssize_t)size;
}

static ssize_t counter_write(sim_descriptor *descriptor, const void *bytes, size_t size)
{
    counter_descriptor *counter = (counter_descriptor *)(void *)descriptor;
    uint64_t            more;

    assert(size == sizeof more);
    memcpy(&more, bytes, size);
    counter->count += more;
    sim_descriptor_changed(descriptor);
    return (ssize_t)size;
}

static void counter_close(sim_descriptor *descriptor)
{
    counter_descriptor *counter = (counter_descriptor *)(void *)descriptor;

    sim_cancel(&counter->event);
    free(counter);
}

static const sim_descriptor_kind eventfd_kind = { counter_ready, counter_read, counter_write,
                                                  counter_close };
static const sim_descriptor_kind timerfd_kind = { counter_ready, counter_read, NULL,
                                                  counter_close };

static int add_counter(const sim_descriptor_kind *kind, uint64_t count)
{
    counter_descriptor *counter = bwl_room_for(1, sizeof *counter);
    int                 fd      = sim_descriptor_add(&counter->descriptor, kind);

    counter->count = count;
    if (fd < 0)
        free(counter);
    return fd;
}

int sim_eventfd(unsigned value)
{
    return add_counter(&eventfd_kind, value);
}

int sim_timerfd(void)
{
    return add_counter(&timerfd_kind, 0);
}

static void expire(void *arg)
{
    counter_descriptor *timer = arg;

    timer->event = NULL;
    timer->at    = 0;
    timer->count++;
    sim_descriptor_changed(&timer->descriptor);
}

static void arm(counter_descriptor *timer)
{
    sim_cancel(&timer->event);
    if (timer->at != 0 && timer->at <= sim_clock_read(timer->descriptor.process, SIM_CLOCK_BOOT))
        expire(timer); /* before the call returns, as in the kernel */
    else if (timer->at != 0)
        timer->event = sim_at(sim_clock_when(timer->descriptor.process, SIM_CLOCK_BOOT, timer->at),
                              expire, timer);
}

int sim_timerfd_settime(int fd, int64_t at)
{
    sim_descriptor *found = sim_descriptor_find(fd);

    if (found == NULL)
        return -1;
    assert(found->kind == &timerfd_kind);
    counter_descriptor *timer = (counter_descriptor *)(void *)found;
    timer->count              = 0;
    timer->at                 = at;
    arm(timer);
    return 0;
}

void sim_descriptors_clock_changed(sim_process *process)
{
    for (unsigned i = 0; i < DESCRIPTORS_MAX; i++) {
        sim_descriptor *d = table.all[i];
        if (d != NULL && d->process == process && d->kind == &timerfd_kind)
            arm((counter_descriptor *)(void *)d);
    }
}

/* ---- any descriptor -------------------------------------------------------------------------- */

static void close_descriptor(sim_descriptor *descriptor)
{
    while (descriptor->watches != NULL)
        forget_watch(descriptor->watches);
    table.all[descriptor->fd - SIM_FD_FIRST] = NULL;
    descriptor->kind->close(descriptor);
}

int sim_close(int fd)
{
    sim_descriptor *descriptor = find(fd);

    if (descriptor == NULL)
        return -1;
    if (sim_is_child())
        table.all[fd - SIM_FD_FIRST] = NULL; /* its parent has it open */
    else
        close_descriptor(descriptor);
    return 0;
}

void sim_descriptors_close(sim_process *process)
{
    for (unsigned i = 0; i < DESCRIPTORS_MAX; i++) {
        if (table.all[i] != NULL && table.all[i]->process == process)
            close_descriptor(table.all[i]);
    }
}

ssize_t sim_read(int fd, void *bytes, size_t size)
{
    sim_descriptor *descriptor = sim_descriptor_find(fd);

    if (descriptor == NULL)
        return -1;
    if (descriptor->kind->read == NULL) {
        errno = EINVAL;
        return -1;
    }
    return descriptor->kind->read(descriptor, bytes, size);
}

ssize_t sim_write(int fd, const void *bytes, size_t size)
{
    sim_descriptor *descriptor = sim_descriptor_find(fd);

    if (descriptor == NULL)
        return -1;
    if (descriptor->kind->write == NULL) {
        errno = EINVAL;
        return -1;
    }
    return descriptor->kind->write(descriptor, bytes, size);
}

/* Errors are always reported. */
static uint32_t asked(uint32_t events)
{
    return events | (uint32_t)EPOLLERR | (uint32_t)EPOLLHUP;
}

static int poll_once(struct pollfd *polled, unsigned count)
{
    int ready = 0;

    for (unsigned i = 0; i < count; i++) {
        sim_descriptor *d = polled[i].fd < 0 ? NULL : sim_descriptor_find(polled[i].fd);
        polled[i].revents = 0;
        if (d != NULL)
            polled[i].revents = (short)(d->kind->ready(d) & asked((uint32_t)polled[i].events));
        else if (polled[i].fd >= 0)
            polled[i].revents = POLLNVAL;
        ready += polled[i].revents != 0;
    }
    return ready;
}

int sim_poll(struct pollfd *polled, unsigned count, int wait_ms)
{
    int64_t until = limit(wait_ms);

    for (;;) {
        int ready = poll_once(polled, count);
        if (ready > 0 || wait_ms == 0 || !sim_block(table.all, until))
            return ready > 0 ? ready : poll_once(polled, count);
    }
}
