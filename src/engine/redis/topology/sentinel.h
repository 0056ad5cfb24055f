/*
 * sentinel.h -- queries the sentinels of a service for its primary, and reads their messages when
 * it moves.
 *
 * It keeps one connection to one sentinel, which is subscribed to messages about a new primary.
 *
 *       +--- discover ------------------------------+
 *       v                                           |
 *      IDLE --> RESOLVING --> CONNECTING --> QUERYING --answered--> WATCHING --breaks--> BACKOFF
 *                  |              |             |                                           |
 *                  +-- the next sentinel, until all were tried --> BACKOFF                  |
 *                  +-- the next one if the named server is no primary: try_next             |
 *                                                                                           |
 *      BACKOFF --after 1 s, while the client watches--> starts again, as a message may have
 *                                                       been missed
 *
 *      WATCHING --after 2 answer_ms, while the client watches--> QUERYING: a stopped sentinel keeps
 *                                                                its connection and sends nothing
 *
 * A sentinel's answer may be stale.  The handshake with the named server shows whether it is a
 * primary.
 *
 * All functions need the client's mutex.
 */
#pragma once

#include "engine/engine.h"
#include "engine/redis/session/resp_stream.h"
#include "net/dialer.h"
#include "base/url.h"
#include "engine/redis/wire/sentinel.h"
#include "net/stream.h"

/* Errors of a sentinel as texts for users: what, why, and the URL option to change. */

/* The sentinel answered with an error; the text quotes nothing that repeats a part of the password.
 * REFUSED, or UNREACHABLE: a temporary error. */
int bwl_sentinel_turned_away(const char *password, const char *bytes, size_t size,
                             bwl_fault *fault);

/* The sentinel does not monitor this service.  REFUSED. */
int bwl_sentinel_knows_none(const char *service, bwl_fault *fault);

/* Adds the likely cause to the fault of a failed connection.  is_silent: a time-out, not an event
 * of the connection.  A TLS answer to clear text is REFUSED. */
void bwl_sentinel_add_hint(const bwl_stream *conn, bool is_silent, bwl_fault *fault);

enum { BWL_SENTINEL_PORT = 26379 };

#define BWL_SENTINEL_OPTION_USER     "sentinel-user"
#define BWL_SENTINEL_OPTION_PASSWORD "sentinel-password-file"

/* With `primary`, fault is NULL: the result of a discovery, or a new primary.  Without: the
 * discovery has failed, REFUSED or UNREACHABLE. */
typedef void bwl_sentinel_heard(void *arg, const bwl_primary *primary, const bwl_fault *fault);

/* The configuration.  Everything is copied except `tls`, which is borrowed. */
typedef struct bwl_sentinel_plan {
    const bwl_url_host    *hosts; /* a port of 0: the default */
    unsigned               hosts_count;
    const char            *service;
    const char            *user;     /* for the sentinels, not for the service; NULL: none */
    const char            *password; /* for the sentinels; NULL: none                      */
    const bwl_tls_context *tls;      /* NULL: clear text                                   */
    bwl_resolver           resolver;
    bwl_sentinel_heard    *heard;
    void (*stirred)(void *arg); /* the deadline may have changed */
    void *arg;                  /* for both callbacks */
} bwl_sentinel_plan;

typedef struct bwl_sentinel bwl_sentinel;

/* NOMEM.  Free it with bwl_sentinel_free. */
int  bwl_sentinel_new(bwl_sentinel **ret_sentinel, bwl_host *client, const bwl_sentinel_plan *plan,
                      bwl_fault *fault);
int  bwl_sentinel_copy(bwl_sentinel **ret_sentinel, bwl_host *client, const bwl_sentinel *of,
                       void *arg);
void bwl_sentinel_free(bwl_sentinel *sentinel); /* also NULL */

/* Starts a discovery.  heard() will be called, or was called already, within answer_ms of the
 * client's settings. */
void bwl_sentinel_discover(bwl_sentinel *sentinel);

/* The named server is not the primary: queries the next sentinel, until `by`.  True: heard() will
 * be called, or was called already; false: all sentinels were queried, or the time is over. */
bool bwl_sentinel_try_next(bwl_sentinel *sentinel, bwl_ms by);

/* The deadline for bwl_sentinel_woken; BWL_NEVER: none.  Call it also after a lookup. */
bwl_ms bwl_sentinel_waits_until(const bwl_sentinel *sentinel);
void   bwl_sentinel_woken(bwl_sentinel *sentinel);

const char *bwl_sentinel_service(const bwl_sentinel *sentinel);
