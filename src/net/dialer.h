/*
 * dialer.h -- one attempt to reach a host: its name is looked up, and its addresses are tried in
 * turn, each up to the end of the TLS handshake, all within one time limit.
 *
 *      start --> RESOLVING --> CONNECTING --next address--> CONNECTING ...
 *                    |             |
 *                    +-- no address left, or no time: failed
 *
 * The dialer opens the stream of its owner.  The owner steps the stream, and says by
 * bwl_dialer_next when an address is no good.  An address gets an equal part of the time that is
 * left: one that swallows what it is sent must leave time for the others.
 *
 * The next attempt looks the host up again, because it may have moved.  A lookup that was too late
 * for an attempt is kept for the next one: it cannot be stopped, and a second one would not be
 * answered sooner.
 *
 * No clock: every function takes the time.  Not safe to call from two threads at once.
 */
#pragma once

#include "net/resolve.h"
#include "net/stream.h"

/* Whom to dial.  Borrowed until the attempt has ended. */
typedef struct bwl_dial {
    const char  *host; /* NULL: bwl_dialer_set_address has given the address */
    uint16_t     port;
    bwl_resolver resolver;
    void (*wake)(void *arg); /* called by another thread when there is something to do */
    void *wake_arg;
} bwl_dial;

/* What an attempt does; a failure is a bwl_status, below 0.  CONNECTING: the call that says so has
 * opened the stream to the next address. */
typedef enum bwl_dial_status {
    BWL_DIAL_RESOLVING = 1,
    BWL_DIAL_CONNECTING,
} bwl_dial_status;

typedef struct bwl_dialer {
    bwl_stream  *stream;
    bwl_resolve *resolve; /* NULL: no lookup is under way */
    bwl_ms       resolve_began_at;
    bwl_ms       started_at; /* the attempt                 */
    bwl_ms       until;      /* of the attempt               */
    bwl_ms       began_at;   /* of this step: the lookup, or one address */
    bwl_ms       ends_at;    /* likewise                     */
    bool         resolving;  /* this step is the lookup      */
    bwl_address  addresses[BWL_RESOLVE_MAX];
    unsigned     addresses_count;
    unsigned     address; /* that is tried; addresses_count: none is left */
    bwl_fault    refusal; /* what an address has refused; status 0: none  */
} bwl_dialer;

void bwl_dialer_init(bwl_dialer *dialer, bwl_stream *stream);

/* Without a name there is this one address. */
void bwl_dialer_set_address(bwl_dialer *dialer, const bwl_address *address);

/* Begins an attempt that ends at `until`; the stream must be closed.  A bwl_dial_status, or as
 * bwl_dialer_next.  A lookup of an earlier attempt is used if it began at most `lookup_age_ms`
 * ago, or is not answered. */
int bwl_dialer_start(bwl_dialer *dialer, const bwl_dial *to, bwl_ms now, bwl_ms until,
                     bwl_ms lookup_age_ms, bwl_fault *fault);

/* Goes on if the lookup has ended.  As bwl_dialer_start. */
int bwl_dialer_woken(bwl_dialer *dialer, bwl_ms now, bwl_fault *fault);

/* Says whether the step has taken too long, and why that is a failure. */
bool bwl_dialer_is_late(const bwl_dialer *dialer, bwl_ms now, bwl_fault *ret_fault);

/* The step has failed as *fault says: closes the stream, and tries the next address.
 * BWL_DIAL_CONNECTING; or the attempt has failed, *fault says why: REFUSED if any address has
 * refused (somebody has to correct that; "localhost" often has an address at which nobody listens),
 * else as the last step. */
int bwl_dialer_next(bwl_dialer *dialer, bwl_ms now, bwl_fault *fault);

/* No lookup is under way any more: its answer would be of another host. */
void bwl_dialer_forget(bwl_dialer *dialer);
