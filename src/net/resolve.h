/*
 * resolve.h -- resolves the name of a host to its addresses, without blocking.
 *
 * getaddrinfo can take half a minute when no name server answers, and cannot be cancelled.  So a
 * separate thread calls it.  The caller checks for the result when it is woken, and may forget the
 * lookup at any time; the thread then frees what is left.
 *
 * A numeric address is resolved at once, without a thread.
 *
 * Each unfinished lookup has a thread, even a forgotten one.  So a caller that needs the same name
 * again should keep its lookup.
 */
#pragma once

#include "net/stream.h"

#include <netdb.h>

enum {
    BWL_RESOLVE_MAX      = 8,   /* addresses of one host; more are ignored */
    BWL_RESOLVE_HOST_MAX = 255, /* characters: a DNS name, or an address and a zone */
};

/* The source of addresses.  The two functions belong together, and any thread may call them. */
typedef struct bwl_resolver {
    int (*look_up)(const char *host, const char *port, const struct addrinfo *hints,
                   struct addrinfo **ret_found);
    void (*free_found)(struct addrinfo *found);
} bwl_resolver;

/* The target of a lookup, or of a whole attempt to connect (dialer.h). */
typedef struct bwl_dial {
    const char  *host;
    uint16_t     port;
    bwl_resolver resolver;   /* zero: the system's, getaddrinfo */
    void (*wake)(void *arg); /* any thread: the lookup has ended */
    void *wake_arg;
} bwl_dial;

typedef struct bwl_resolve bwl_resolve;

/* Starts a lookup; the target is copied.  Another thread calls `wake` at most once, when there is a
 * result; it may only wake a thread (as bwl_reactor_wake does, of an open reactor), and must not
 * call functions of this file.  For a numeric address it is not called, so always take at once.
 * USAGE (not a valid host), NOMEM, SYSTEM (no thread).  Free it with bwl_resolve_forget. */
int bwl_resolve_start(bwl_resolve **ret_resolve, const bwl_dial *to, bwl_fault *fault);

/* The number of addresses, in the order in which to try them; 0: no result yet.  UNREACHABLE: no
 * addresses, or no name server answered; NOMEM, SYSTEM; FORKED: in a forked child, where the thread
 * does not exist.  May be called repeatedly.  Any thread. */
int bwl_resolve_take(bwl_resolve *resolve, bwl_address ret_addresses[BWL_RESOLVE_MAX],
                     bwl_fault *fault);

/* Frees it, now or when its thread returns.  `wake` is not called after this returns.  Never waits
 * for the lookup.  Also NULL; also in a forked child. */
void bwl_resolve_forget(bwl_resolve *resolve);
