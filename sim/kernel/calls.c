/*
 * calls.c -- the system calls of the library, in a simulated process.
 *
 * The build renames the undefined symbols of the library's objects as calls.syms says: `connect`
 * becomes `sim_call_connect`.  So the code under test is that of the library, byte for byte, and
 * neither the simulator nor the C library is affected.  What is not in the list works on memory and
 * text, or belongs to engines that are not simulated; tests/sim checks that.
 */
#include "sim/kernel/fork.h"
#include "sim/kernel/names.h"
#include "sim/kernel/socket.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>

enum { USER_ID = 1000, CHILDREN = 1 << 20 };

/* ---- time ------------------------------------------------------------------------------------ */

int sim_call_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    sim_clock which = clock == CLOCK_BOOTTIME   ? SIM_CLOCK_BOOT
                      : clock == CLOCK_REALTIME ? SIM_CLOCK_WALL
                                                : SIM_CLOCK_MONOTONIC;
    int64_t   now   = sim_clock_read(sim_self_process(), which);

    *ret_time = (struct timespec){ .tv_sec = now / SIM_S, .tv_nsec = now % SIM_S };
    return 0;
}

static int64_t nanoseconds(const struct timespec *t)
{
    return t->tv_sec * SIM_S + t->tv_nsec;
}

int sim_call_nanosleep(const struct timespec *length, struct timespec *ret_left)
{
    int64_t now = sim_clock_read(sim_self_process(), SIM_CLOCK_MONOTONIC);

    (void)ret_left;
    (void)sim_block(length, now + nanoseconds(length));
    return 0;
}

int sim_call_timerfd_create(int clock, int flags)
{
    assert(clock == CLOCK_BOOTTIME && (flags & TFD_NONBLOCK) != 0);
    return sim_timerfd();
}

int sim_call_timerfd_settime(int fd, int flags, const struct itimerspec *at,
                             struct itimerspec *ret_before)
{
    assert(flags == TFD_TIMER_ABSTIME && ret_before == NULL && at->it_interval.tv_sec == 0);
    return sim_timerfd_settime(fd, nanoseconds(&at->it_value));
}

/* ---- descriptors ----------------------------------------------------------------------------- */

int sim_call_close(int fd)
{
    return sim_close(fd);
}

ssize_t sim_call_read(int fd, void *bytes, size_t size)
{
    return sim_read(fd, bytes, size);
}

ssize_t sim_call_write(int fd, const void *bytes, size_t size)
{
    return sim_write(fd, bytes, size);
}

int sim_call_poll(struct pollfd *polled, nfds_t count, int wait_ms)
{
    return sim_poll(polled, (unsigned)count, wait_ms);
}

int sim_call_epoll_create1(int flags)
{
    (void)flags; /* EPOLL_CLOEXEC */
    return sim_epoll_create();
}

int sim_call_epoll_ctl(int epoll_fd, int what, int fd, struct epoll_event *event)
{
    return sim_epoll_ctl(epoll_fd, what, fd, event);
}

int sim_call_epoll_wait(int epoll_fd, struct epoll_event *ret_events, int room, int wait_ms)
{
    return sim_epoll_wait(epoll_fd, ret_events, room, wait_ms);
}

int sim_call_eventfd(unsigned value, int flags)
{
    (void)flags; /* always nonblocking here */
    return sim_eventfd(value);
}

int sim_call_fcntl64(int fd, int what, ...)
{
    va_list arguments;

    va_start(arguments, what);
    int flags = what == F_SETFL ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return sim_fcntl(fd, what, flags);
}

/* No files: /proc/self/comm and the like are missing. */
int sim_call_open64(const char *path, int flags, ...)
{
    (void)path;
    (void)flags;
    errno = ENOENT;
    return -1;
}

FILE *sim_call_fopen64(const char *path, const char *mode)
{
    (void)path;
    (void)mode;
    errno = ENOENT;
    return NULL;
}

/* ---- sockets --------------------------------------------------------------------------------- */

int sim_call_socket(int family, int type, int protocol)
{
    (void)protocol;
    return sim_socket(family, type);
}

int sim_call_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    return sim_connect(fd, address, size);
}

ssize_t sim_call_send(int fd, const void *bytes, size_t size, int flags)
{
    (void)flags; /* always MSG_NOSIGNAL and MSG_DONTWAIT */
    return sim_send(fd, bytes, size);
}

ssize_t sim_call_recv(int fd, void *bytes, size_t size, int flags)
{
    return sim_recv(fd, bytes, size, flags);
}

int sim_call_shutdown(int fd, int how)
{
    return sim_shutdown(fd, how);
}

int sim_call_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
    return sim_setsockopt(fd, level, option, value, size);
}

int sim_call_getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
    return sim_getsockopt(fd, level, option, value, size);
}

int sim_call_getpeername(int fd, struct sockaddr *address, socklen_t *size)
{
    return sim_getpeername(fd, address, size);
}

typedef struct answer {
    struct addrinfo    info; /* first */
    struct sockaddr_in address;
} answer;

int sim_call_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                         struct addrinfo **ret_found)
{
    in_addr_t address;

    if (inet_pton(AF_INET, host, &address) != 1) {
        if ((hints->ai_flags & AI_NUMERICHOST) != 0)
            return EAI_NONAME;
        int error = sim_look_up(host, &address);
        if (error != 0)
            return error;
    }
    answer *found = sim_heap_take(sizeof *found);
    if (found == NULL)
        return EAI_MEMORY;
    *found     = (answer){ .info    = { .ai_family  = AF_INET,
                                        .ai_addrlen = sizeof found->address,
                                        .ai_addr    = (struct sockaddr *)&found->address },
                           .address = { .sin_family = AF_INET,
                                        .sin_port   = htons((uint16_t)strtoul(port, NULL, 10)),
                                        .sin_addr   = { address } } };
    *ret_found = &found->info;
    return 0;
}

void sim_call_freeaddrinfo(struct addrinfo *found)
{
    sim_heap_free(found);
}

/* ---- the process ----------------------------------------------------------------------------- */

pid_t sim_call_getpid(void)
{
    return (pid_t)sim_process_number(sim_self_process()) + (sim_is_child() ? CHILDREN : 0);
}

uid_t sim_call_geteuid(void)
{
    return USER_ID;
}

int sim_call_gethostname(char *ret_name, size_t room)
{
    (void)snprintf(ret_name, room, "%s", sim_process_name(sim_self_process()));
    return 0;
}

int sim_call_uname(struct utsname *ret_system)
{
    memset(ret_system, 0, sizeof *ret_system);
    return sim_call_gethostname(ret_system->nodename, sizeof ret_system->nodename);
}

int sim_call_getpwuid_r(uid_t id, struct passwd *entry, char *text, size_t room,
                        struct passwd **ret_found)
{
    (void)id;
    (void)entry;
    (void)text;
    (void)room;
    *ret_found = NULL;
    return 0;
}

ssize_t sim_call_getrandom(void *bytes, size_t size, unsigned flags)
{
    char *to = bytes;

    (void)flags;
    for (size_t done = 0; done < size;) {
        uint64_t random = sim_process_draw(sim_self_process());
        size_t   part   = size - done < sizeof random ? size - done : sizeof random;
        memcpy(to + done, &random, part);
        done += part;
    }
    return (ssize_t)size;
}

int sim_call_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret_set)
{
    (void)pid;
    CPU_ZERO_S(size, ret_set);
    CPU_SET_S(0, size, ret_set);
    CPU_SET_S(1, size, ret_set);
    return 0;
}

int sim_call_sched_yield(void)
{
    sim_give_way();
    return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* In the place of a pthread_mutex_t; zero bytes are an unlocked one. */
typedef struct mutex {
    const void *owner;
} mutex;

_Static_assert(sizeof(mutex) <= sizeof(pthread_mutex_t), "a mutex has room for its owner");

/* The world calls the library between two steps, when no thread has a mutex that it needs. */
static const void *self(void)
{
    static const char world = 0;

    return sim_self() != NULL ? (const void *)sim_self() : &world;
}

int sim_call_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes)
{
    (void)attributes;
    ((mutex *)(void *)m)->owner = NULL;
    return 0;
}

int sim_call_pthread_mutex_destroy(pthread_mutex_t *m)
{
    assert(((mutex *)(void *)m)->owner == NULL);
    return 0;
}

int sim_call_pthread_mutex_trylock(pthread_mutex_t *m)
{
    mutex *it = (mutex *)(void *)m;

    if (it->owner != NULL)
        return EBUSY;
    it->owner = self();
    return 0;
}

int sim_call_pthread_mutex_lock(pthread_mutex_t *m)
{
    mutex *it = (mutex *)(void *)m;

    assert(it->owner != self()); /* it would never return */
    while (it->owner != NULL)
        (void)sim_block(it, SIM_NEVER);
    it->owner = self();
    return 0;
}

int sim_call_pthread_mutex_unlock(pthread_mutex_t *m)
{
    mutex *it = (mutex *)(void *)m;

    assert(it->owner == self());
    it->owner = NULL;
    if (sim_self() != NULL) {
        (void)sim_wake_one(sim_self_process(), it);
        sim_give_way();
    }
    return 0;
}

int sim_call_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
    (void)condition; /* its address is all that counts */
    (void)attributes;
    return 0;
}

int sim_call_pthread_cond_destroy(pthread_cond_t *condition)
{
    (void)condition;
    return 0;
}

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *m, int64_t until)
{
    mutex *it = (mutex *)(void *)m;

    assert(it->owner == self());
    it->owner = NULL;
    (void)sim_wake_one(sim_self_process(), it);
    bool woken = sim_block(condition, until);
    (void)sim_call_pthread_mutex_lock(m);
    return woken ? 0 : ETIMEDOUT;
}

/* All conditions of the library are of the monotonic clock. */
int sim_call_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *m,
                                    const struct timespec *until)
{
    return wait_for(condition, m, nanoseconds(until));
}

int sim_call_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *m)
{
    return wait_for(condition, m, SIM_NEVER);
}

int sim_call_pthread_cond_signal(pthread_cond_t *condition)
{
    if (sim_self() != NULL)
        (void)sim_wake_one(sim_self_process(), condition);
    return 0;
}

int sim_call_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
                            void *(*run)(void *arg), void               *arg)
{
    (void)attributes;
    *ret_thread = (pthread_t)sim_thread_start(sim_self_process(), run, arg);
    return 0;
}

int sim_call_pthread_join(pthread_t thread, void **ret_result)
{
    void *result = sim_thread_join((sim_thread *)thread);

    if (ret_result != NULL)
        *ret_result = result;
    return 0;
}

int sim_call_pthread_detach(pthread_t thread)
{
    sim_thread_detach((sim_thread *)thread);
    return 0;
}

pthread_t sim_call_pthread_self(void)
{
    return (pthread_t)sim_self();
}

int sim_call_pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_before)
{
    (void)how;
    (void)set;
    (void)ret_before;
    return 0;
}

int sim_call_pthread_setcancelstate(int state, int *ret_before)
{
    (void)state;
    (void)ret_before;
    return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

void *sim_call_malloc(size_t size)
{
    return sim_heap_take(size);
}

void *sim_call_calloc(size_t count, size_t size)
{
    size_t all = count * size;

    if (size != 0 && all / size != count)
        return NULL;
    void *taken = sim_heap_take(all);
    if (taken != NULL)
        memset(taken, 0, all);
    return taken;
}

void *sim_call_realloc(void *taken, size_t size)
{
    return sim_heap_resize(taken, size);
}

void sim_call_free(void *taken)
{
    sim_heap_free(taken);
}

char *sim_call_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char  *copy = sim_heap_take(size);

    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

__attribute__((format(printf, 2, 0))) static int print(char **ret_text, const char *format,
                                                       va_list arguments)
{
    va_list again;

    va_copy(again, arguments);
    int size  = vsnprintf(NULL, 0, format, again);
    *ret_text = size < 0 ? NULL : sim_heap_take((size_t)size + 1);
    va_end(again);
    return *ret_text == NULL ? -1 : vsnprintf(*ret_text, (size_t)size + 1, format, arguments);
}

__attribute__((format(printf, 2, 3))) int sim_call_asprintf(char **ret_text, const char *format,
                                                            ...)
{
    va_list arguments;

    va_start(arguments, format);
    int size = print(ret_text, format, arguments);
    va_end(arguments);
    return size;
}

/* What FORTIFY makes of asprintf. */
__attribute__((format(printf, 3, 4))) int sim_call___asprintf_chk(char **ret_text, int flag,
                                                                  const char *format, ...)
{
    va_list arguments;

    (void)flag;
    va_start(arguments, format);
    int size = print(ret_text, format, arguments);
    va_end(arguments);
    return size;
}

/* A page that the kernel clears in a forked child.  The block's own address is before it. */
void *sim_call_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    (void)protection;
    (void)flags;
    (void)offset;
    assert(at == NULL && fd == -1 && size <= SIM_PAGE);
    char *block = sim_heap_take((size_t)3 * SIM_PAGE);
    if (block == NULL)
        return (void *)-1;
    char *page = (char *)(((uintptr_t)block + 2 * SIM_PAGE - 1) & ~(uintptr_t)(SIM_PAGE - 1));
    memcpy(page - sizeof block, &block, sizeof block);
    memset(page, 0, size);
    return page;
}

static void *block_of(const void *page)
{
    void *block;

    memcpy(&block, (const char *)page - sizeof block, sizeof block);
    return block;
}

int sim_call_munmap(void *page, size_t size)
{
    (void)size;
    sim_heap_free(block_of(page));
    return 0;
}

int sim_call_madvise(void *page, size_t size, int advice)
{
    (void)size;
    if (advice == MADV_WIPEONFORK)
        sim_heap_wipe_on_fork(block_of(page), page);
    return 0;
}
