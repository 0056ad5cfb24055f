/*
 * dialer.h -- one attempt to connect to a host: the name is resolved, and the addresses are tried
 * in turn, each up to the end of the TLS handshake, all within one time limit.
 *
 *      start --> RESOLVING --> CONNECTING --next address--> CONNECTING ...
 *                    |             |
 *                    +-- no address left, or no time: failed
 *
 * The dialer opens its owner's stream.  The owner steps the stream, and calls bwl_dialer_next when
 * an address has failed.  Each address gets an equal share of the time left, so that a silent one
 * leaves time for the others.
 *
 * The next attempt resolves the host again, because it may have moved.  A lookup that was too late
 * for an attempt is kept for the next one: it cannot be cancelled, and a second one would not be
 * faster.
 *
 * The dialer reads no clock: every function takes the time.  Not thread-safe.
 */
#pragma once

#include "net/resolve.h"
#include "net/stream.h"

/* The state of an attempt; a failure is a bwl_status, below 0.  CONNECTING: the call that returns
 * it has opened the stream to the next address. */
typedef enum bwl_dial_status {
    BWL_DIAL_RESOLVING = 1,
    BWL_DIAL_CONNECTING,
} bwl_dial_status;

typedef struct bwl_dialer {
    bwl_stream  *stream;
    bwl_resolve *resolve; /* NULL: no lookup */
    bwl_ms       resolve_began_at;
    bwl_ms       started_at; /* of the attempt */
    bwl_ms       until;      /* time limit of the attempt */
    bwl_ms       began_at;   /* of this step: the lookup, or one address */
    bwl_ms       ends_at;    /* of this step */
    bool         resolving;  /* this step is the lookup */
    bwl_address  addresses[BWL_RESOLVE_MAX];
    unsigned     addresses_count;
    unsigned     address; /* the current one; addresses_count: none is left */
    bwl_fault    refusal; /* the last refusal of an address; status 0: none */
} bwl_dialer;

void bwl_dialer_init(bwl_dialer *dialer, bwl_stream *stream);

/* Sets the only address, for a target without a name. */
void bwl_dialer_set_address(bwl_dialer *dialer, const bwl_address *address);

/* Starts an attempt that ends at `until`; the stream must be closed.  The target is borrowed until
 * then; its host may be NULL: use the address of bwl_dialer_set_address.  After `wake`, call
 * bwl_dialer_woken.  Returns a bwl_dial_status, or as bwl_dialer_next.  A lookup of an earlier
 * attempt is used if it started at most `lookup_age_ms` ago, or is still running. */
int bwl_dialer_start(bwl_dialer *dialer, const bwl_dial *to, bwl_ms now, bwl_ms until,
                     bwl_ms lookup_age_ms, bwl_fault *fault);

/* Continues if the lookup has ended.  Returns as bwl_dialer_start. */
int bwl_dialer_woken(bwl_dialer *dialer, bwl_ms now, bwl_fault *fault);

/* Whether the step has exceeded its time limit; if so, writes the fault. */
bool bwl_dialer_is_late(const bwl_dialer *dialer, bwl_ms now, bwl_fault *ret_fault);

/* The step has failed with *fault: closes the stream, and tries the next address.
 * BWL_DIAL_CONNECTING; or the attempt has failed with *fault: REFUSED if any address refused (that
 * needs correction; "localhost" often has an address at which no server listens), else as the last
 * step. */
int bwl_dialer_next(bwl_dialer *dialer, bwl_ms now, bwl_fault *fault);

/* Drops the lookup: the host has changed. */
void bwl_dialer_forget(bwl_dialer *dialer);
