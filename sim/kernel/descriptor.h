/*
 * descriptor.h -- simulated descriptors, and those that need no network: epoll, eventfd and
 * timerfd.
 *
 * Readiness is level-triggered, as the library uses it.  sim_descriptor_changed wakes the threads
 * that wait for a descriptor, also through an epoll descriptor that contains it.
 *
 * Numbers begin at SIM_FD_FIRST, so that no real descriptor is taken for a simulated one.
 */
#pragma once

#include "sim/kernel/process.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/types.h>

enum { SIM_FD_FIRST = 1 << 20 };

typedef struct sim_descriptor sim_descriptor;

typedef struct sim_descriptor_kind {
    uint32_t (*ready)(sim_descriptor *descriptor);                                /* EPOLLIN ... */
    ssize_t (*read)(sim_descriptor *descriptor, void *bytes, size_t size);        /* NULL: EINVAL */
    ssize_t (*write)(sim_descriptor *descriptor, const void *bytes, size_t size); /* the same */
    void (*close)(sim_descriptor *descriptor); /* its process has closed it, or has ended; frees */
} sim_descriptor_kind;

typedef struct sim_watch sim_watch; /* that an epoll descriptor contains it */

struct sim_descriptor {
    const sim_descriptor_kind *kind;
    sim_process               *process;
    int                        fd;
    bool                       blocks; /* reads wait */
    sim_watch                 *watches;
};

/* Adds it to the table of its process, which owns it from here on.  Returns its number; -1: EMFILE,
 * and it is not owned. */
int sim_descriptor_add(sim_descriptor *descriptor, const sim_descriptor_kind *kind);

/* Of the running process; NULL: there is none (errno is EBADF). */
sim_descriptor *sim_descriptor_find(int fd);

void sim_descriptor_changed(sim_descriptor *descriptor);

/* Open descriptors of a process. */
unsigned sim_descriptors_count(const sim_process *process);

/* Closes those of a process that has ended. */
void sim_descriptors_close(sim_process *process);

/* Timers of the process follow its clocks. */
void sim_descriptors_clock_changed(sim_process *process);

/* Opening fails with EMFILE from this many open ones of a process on; 0: never. */
void sim_descriptors_limit(unsigned at_most);

/* ---- as the system calls of these names, with errno ------------------------------------------ */

int     sim_close(int fd);
ssize_t sim_read(int fd, void *bytes, size_t size);
ssize_t sim_write(int fd, const void *bytes, size_t size);
int     sim_epoll_create(void);
int     sim_epoll_ctl(int epoll_fd, int what, int fd, struct epoll_event *event);
int     sim_epoll_wait(int epoll_fd, struct epoll_event *ret_events, int room, int wait_ms);
int     sim_eventfd(unsigned value);
int     sim_timerfd(void);                       /* of the boot clock */
int     sim_timerfd_settime(int fd, int64_t at); /* absolute, nanoseconds; 0: disarmed */
int     sim_poll(struct pollfd *polled, unsigned count, int wait_ms);
