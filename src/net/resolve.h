/*
 * resolve.h -- from the name of a host to its addresses, without keeping anybody waiting.
 *
 * getaddrinfo can take half a minute when no name server answers, and there is no way to stop it.
 * So a thread of its own calls it, and the caller goes on: it looks whether there is an answer when
 * it is woken, gives up when its own time is over, and forgets the lookup whenever it likes.  The
 * thread then finds nobody interested, and frees what is left.
 *
 * A numeric address is answered at once, without a thread.
 *
 * There is one thread for every lookup that has not come to its end, forgotten ones included.  So a
 * caller that wants to ask the same once more keeps the lookup that it has.
 */
#pragma once

#include "net/stream.h"

#include <netdb.h>

enum {
    BWL_RESOLVE_MAX      = 8,   /* addresses of one host; more are left out                    */
    BWL_RESOLVE_HOST_MAX = 255, /* characters: a name as in the DNS, or an address and a zone  */
};

/* Who knows the addresses.  The two functions belong together, and are called by any thread. */
typedef struct bwl_resolver {
    int (*look_up)(const char *host, const char *port, const struct addrinfo *hints,
                   struct addrinfo **ret_found);
    void (*free_found)(struct addrinfo *found);
} bwl_resolver;

typedef struct bwl_resolve_request {
    const char  *host; /* copied */
    uint16_t     port;
    bwl_resolver resolver; /* zero: the system's, getaddrinfo                                  */
    void (*wake)(void *arg);
    void *arg;
} bwl_resolve_request;

typedef struct bwl_resolve bwl_resolve;

/* Begins.  `wake` is called at most once, by another thread, when there is something to take: it
 * may do no more than wake somebody (bwl_reactor_wake does, of a reactor that is open), and must
 * not call anything here.  For a numeric address it is not called: take at once, always.  USAGE
 * (no such host can be), NOMEM, SYSTEM (no thread can be had).  Free it with bwl_resolve_forget. */
int bwl_resolve_start(bwl_resolve **ret_resolve, const bwl_resolve_request *request,
                      bwl_fault *fault);

/* How many addresses there are, in the order in which they should be tried; 0: not yet known.
 * UNREACHABLE: there are none, or nobody could be asked; NOMEM, SYSTEM; FORKED: in a child of the
 * process that began it there is nobody who could answer.  May be asked any number of times.  Any
 * thread. */
int bwl_resolve_take(bwl_resolve *resolve, bwl_address ret_addresses[BWL_RESOLVE_MAX],
                     bwl_fault *fault);

/* Frees it, now or when its thread comes back.  `wake` is not called any more once this returns, so
 * what it wakes may go then.  Never waits for the lookup.  Also NULL; also in a child. */
void bwl_resolve_forget(bwl_resolve *resolve);
