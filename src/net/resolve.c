/*
 * resolve.c -- see resolve.h.
 *
 * The caller and the thread share a lookup; the last of them frees it.  `mutex` guards what both
 * write; the thread also holds it while it calls `wake`, so that the caller cannot forget the
 * lookup, and close the reactor, in between.
 */
#include "net/resolve.h"
#include "base/calls.h"
#include "base/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The result of a lookup: made without the mutex, then copied into it. */
typedef struct findings {
    int         result; /* 0: none yet; number of addresses; below 0: a failure */
    bwl_address addresses[BWL_RESOLVE_MAX];
    bwl_fault   fault;
} findings;

struct bwl_resolve {
    pid_t           pid; /* the process that started it */
    pthread_mutex_t mutex;
    bool            caller_is_there;
    bool            thread_is_there;
    findings        found;
    bwl_resolver    resolver;
    void (*wake)(void *arg);
    void *arg;
    char  port[8];
    char  host[BWL_RESOLVE_HOST_MAX + 1];
};

static int copy_addresses(findings *ret_findings, const struct addrinfo *found)
{
    int count = 0;

    for (; found != NULL && count < BWL_RESOLVE_MAX; found = found->ai_next) {
        bwl_address *address = &ret_findings->addresses[count];
        bool         is_ours = found->ai_family == AF_INET || found->ai_family == AF_INET6;
        if (!is_ours || found->ai_addrlen > sizeof address->socket)
            continue;
        memcpy(&address->socket, found->ai_addr, found->ai_addrlen);
        address->size = found->ai_addrlen;
        count++;
    }
    return count;
}

static int explain_error(const char *host, int error, bwl_fault *fault)
{
    if (error == EAI_MEMORY)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (error == EAI_SYSTEM)
        return bwl_fail_errno(fault, "cannot look up the host \"%.100s\"", host);
    if (error == EAI_AGAIN)
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE,
                        "the host \"%.100s\" could not be looked up: no name server answers", host);
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "the host \"%.100s\" is not known: %.80s", host,
                    gai_strerror(error));
}

/* False: `flags` allow only a numeric address, and it is a name. */
static bool look_up(const bwl_resolve *resolve, int flags, findings *ret_findings)
{
    struct addrinfo  hints = { .ai_family   = AF_UNSPEC,
                               .ai_socktype = SOCK_STREAM,
                               .ai_flags    = AI_NUMERICSERV | flags };
    struct addrinfo *found = NULL;

    errno     = 0;
    int error = resolve->resolver.look_up(resolve->host, resolve->port, &hints, &found);
    if (error == EAI_NONAME && (flags & AI_NUMERICHOST) != 0)
        return false;
    if (error != 0) {
        ret_findings->result = explain_error(resolve->host, error, &ret_findings->fault);
        return true;
    }
    ret_findings->result = copy_addresses(ret_findings, found);
    resolve->resolver.free_found(found);
    if (ret_findings->result == 0)
        ret_findings->result = bwl_fail(&ret_findings->fault, BWL_STATUS_UNREACHABLE,
                                        "the host \"%.100s\" has no address", resolve->host);
    return true;
}

static void free_resolve(bwl_resolve *resolve)
{
    (void)pthread_mutex_destroy(&resolve->mutex);
    free(resolve);
}

static void *look_up_in_thread(void *arg)
{
    bwl_resolve *resolve = arg;
    findings     what    = { 0 };

    bool answered = look_up(resolve, 0, &what);
    assert(answered && what.result != 0);
    pthread_mutex_lock(&resolve->mutex);
    resolve->found           = what;
    resolve->thread_is_there = false;
    bool caller_is_there     = resolve->caller_is_there;
    if (caller_is_there)
        resolve->wake(resolve->arg);
    pthread_mutex_unlock(&resolve->mutex);
    if (!caller_is_there)
        free_resolve(resolve);
    return NULL;
}

static int start_thread(bwl_resolve *resolve, bwl_fault *fault)
{
    pthread_t thread;

    resolve->thread_is_there = true;
    if (bwl_thread_start(&thread, look_up_in_thread, resolve) < 0)
        return bwl_fail_errno(fault, "cannot start the thread that looks up a host");
    (void)pthread_detach(thread); /* it exists, and nobody joins it */
    return BWL_OK;
}

static bwl_resolve *make(const bwl_dial *to)
{
    bwl_resolve *resolve = calloc(1, sizeof *resolve);

    if (resolve == NULL)
        return NULL;
    resolve->pid             = getpid();
    resolve->caller_is_there = true;
    resolve->resolver        = to->resolver;
    if (resolve->resolver.look_up == NULL)
        resolve->resolver = (bwl_resolver){ getaddrinfo, freeaddrinfo };
    resolve->wake = to->wake;
    resolve->arg  = to->wake_arg;
    (void)pthread_mutex_init(&resolve->mutex, NULL); /* cannot fail for a plain one */
    (void)snprintf(resolve->port, sizeof resolve->port, "%u", (unsigned)to->port);
    (void)snprintf(resolve->host, sizeof resolve->host, "%s", to->host);
    return resolve;
}

int bwl_resolve_start(bwl_resolve **ret_resolve, const bwl_dial *to, bwl_fault *fault)
{
    size_t size   = strlen(to->host);
    int    status = BWL_OK;

    assert(to->wake != NULL);
    assert((to->resolver.look_up == NULL) == (to->resolver.free_found == NULL));
    if (size == 0 || size > BWL_RESOLVE_HOST_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a host has 1 to %d characters",
                        BWL_RESOLVE_HOST_MAX);
    bwl_resolve *resolve = make(to);
    if (resolve == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (!look_up(resolve, AI_NUMERICHOST, &resolve->found))
        status = start_thread(resolve, fault);
    if (status < 0) {
        free_resolve(resolve);
        return status;
    }
    *ret_resolve = resolve;
    return BWL_OK;
}

int bwl_resolve_take(bwl_resolve *resolve, bwl_address ret_addresses[BWL_RESOLVE_MAX],
                     bwl_fault *fault)
{
    if (resolve->pid != getpid())
        return bwl_fail(fault, BWL_STATUS_FORKED, "a lookup does not go on in a forked child");
    pthread_mutex_lock(&resolve->mutex);
    int result = resolve->found.result;
    if (result > 0)
        memcpy(ret_addresses, resolve->found.addresses, (size_t)result * sizeof *ret_addresses);
    else if (result < 0 && fault != NULL)
        *fault = resolve->found.fault;
    pthread_mutex_unlock(&resolve->mutex);
    return result;
}

void bwl_resolve_forget(bwl_resolve *resolve)
{
    if (resolve == NULL)
        return;
    if (resolve->pid != getpid()) {
        /* The thread does not exist in a child, and may have locked the mutex for ever. */
        free(resolve);
        return;
    }
    pthread_mutex_lock(&resolve->mutex);
    resolve->caller_is_there = false;
    bool thread_is_there     = resolve->thread_is_there;
    pthread_mutex_unlock(&resolve->mutex);
    if (!thread_is_there)
        free_resolve(resolve);
}
