/*
 * sentinel.h -- where the primary of a service is: asked of its sentinels, and heard from them when
 * it moves.
 *
 * One connection to one of them, kept once it has answered, as it is subscribed to switches.
 *
 *       +--- seek --------------------------------+
 *       v                                         |
 *      IDLE --> RESOLVING --> CONNECTING --> ASKING --answered--> WATCHING --breaks--> RESTING
 *                  |              |             |                                         |
 *                  +-- the next sentinel, until all of them were tried --> RESTING        |
 *                  +-- likewise, when what it has named is not the primary: seek_on       |
 *                                                                                         |
 *      RESTING --a second later, while the client watches--> all of it again, as a switch may
 *                                                            have been missed
 *
 *      WATCHING --two silences later, likewise--> ASKING: a sentinel that stands still keeps its
 *                                                 line, and tells nothing
 *
 * What it says is what a sentinel believes.  Whether that server is a primary it says itself, when
 * it is greeted.
 *
 * Under the client's mutex, like everything of a store.
 */
#pragma once

#include "engine/engine.h"
#include "engine/redis/session/resp_stream.h"
#include "net/dialer.h"
#include "base/url.h"
#include "engine/redis/wire/sentinel.h"
#include "net/stream.h"

/* What is wrong with a sentinel, in words for people: what, why, and what to
 * type. */

/* It answers with an error, of which nothing is quoted that repeats a part of our password.
 * REFUSED, or UNREACHABLE: it cannot answer now. */
int bwl_sentinel_turned_away(const char *password, const char *bytes, size_t size,
                             bwl_fault *fault);

/* It watches no such service.  REFUSED. */
int bwl_sentinel_knows_none(const char *service, bwl_fault *fault);

/* Adds to the fault for which this connection is given up what may be its cause.  is_silent: it is
 * a time-out, not an event of the connection.  A TLS answer to clear text is REFUSED. */
void bwl_sentinel_add_hint(const bwl_stream *conn, bool is_silent, bwl_fault *fault);

enum { BWL_SENTINEL_PORT = 26379 };

#define BWL_SENTINEL_OPTION_USER     "sentinel-user"
#define BWL_SENTINEL_OPTION_PASSWORD "sentinel-password-file"

/* `primary`, with a fault of NULL: the answer to a seek, or it has moved.  NULL: the seek has
 * failed, REFUSED or UNREACHABLE. */
typedef void bwl_sentinel_heard(void *arg, const bwl_primary *primary, const bwl_fault *fault);

/* What it is made of.  All of it is copied, but for the context, which is borrowed. */
typedef struct bwl_sentinel_plan {
    const bwl_url_host    *hosts; /* a port of 0: the usual one                                */
    unsigned               hosts_count;
    const char            *service;
    const char            *user;     /* of the sentinels, not of the service; NULL: none        */
    const char            *password; /* likewise                                               */
    const bwl_tls_context *tls;      /* NULL: clear text                                       */
    bwl_resolver           resolver;
    bwl_sentinel_heard    *heard;
    void (*stirred)(void *arg); /* bwl_sentinel_waits_until may have changed */
    void *arg;                  /* of both */
} bwl_sentinel_plan;

typedef struct bwl_sentinel bwl_sentinel;

/* NOMEM.  Free it with bwl_sentinel_free. */
int  bwl_sentinel_new(bwl_sentinel **ret_sentinel, bwl_host *client, const bwl_sentinel_plan *plan,
                      bwl_fault *fault);
int  bwl_sentinel_copy(bwl_sentinel **ret_sentinel, bwl_host *client, const bwl_sentinel *of,
                       void *arg);
void bwl_sentinel_free(bwl_sentinel *sentinel); /* also NULL */

/* Asks.  heard will be called, or was; within answer_ms of the client's settings. */
void bwl_sentinel_discover(bwl_sentinel *sentinel);

/* What it has named is not the primary: another may know better.  Asks the next one, up to `by`;
 * heard will be called, or was.  False: all of them were asked, or the time is over. */
bool bwl_sentinel_try_next(bwl_sentinel *sentinel, bwl_ms by);

/* When it has to be woken; BWL_NEVER: not by time.  Also when a lookup has come back. */
bwl_ms bwl_sentinel_waits_until(const bwl_sentinel *sentinel);
void   bwl_sentinel_woken(bwl_sentinel *sentinel);

const char *bwl_sentinel_service(const bwl_sentinel *sentinel);
