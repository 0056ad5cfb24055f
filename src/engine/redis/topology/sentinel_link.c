/*
 * sentinel_link.c -- see sentinel_link.h.
 *
 *       +--- ask -----------------------------------------------------------+
 *       v                                                                   |
 *      IDLE --> RESOLVING --> CONNECTING --> QUERYING --answered--> WATCHING --breaks--> BACKOFF
 *                  |              |             |                      |                    |
 *                  +--------------+-------------+--failed--> BACKOFF   |                    |
 *                                                                      |                    |
 *      BACKOFF  --after 1 to 16 s, while the client watches--> RESOLVING: a message may have been
 *                                                              missed
 *      WATCHING --a message about a new primary--> QUERYING
 *      WATCHING --after 2 answer_ms, while the client watches--> QUERYING: a stopped sentinel keeps
 *                                                                its connection and sends nothing
 *
 * All functions need the client's mutex.
 */
#include "engine/redis/topology/sentinel_link.h"

#include "base/fault.h"
#include "base/secret.h"
#include "engine/redis/wire/commands.h"
#include "net/dialer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_ROOM     = 100,
    QUERY_ROOM    = 1024, /* for the commands, without user and password */
    BACKOFF_MS    = 1000, /* after the end of a connection that has answered */
    DOUBLINGS_MAX = 4,    /* of the backoff, after attempts that failed */
    QUIET_PERIODS = 2,    /* times answer_ms: then a quiet sentinel is queried again */
};

typedef enum phase {
    IDLE = 1,
    BACKOFF,
    RESOLVING,
    CONNECTING, /* with TLS: includes its handshake */
    QUERYING,
    WATCHING,
} phase;

/* The next expected reply. */
typedef enum expected {
    HELLO = 1,
    STATE,
    ADDRESS,
} expected;

struct bwl_sentinel_link {
    bwl_resp_stream                conn; /* first: the reactor points to its source */
    bwl_dialer                     dialer;
    bwl_host                      *client;
    const bwl_tls_context         *tls; /* NULL: clear text */
    const bwl_sentinel_service    *service;
    const bwl_sentinel_link_owner *owner;
    void                          *owner_data;
    unsigned                       number;
    phase                          phase;
    bwl_ms                         phase_ends_at;
    bwl_ms                         until; /* time limit of the connection and its first query */
    expected                       expected;
    bwl_sentinel_says              says; /* the reply to MASTER ... */
    bwl_sentinel_state             state;
    bool                           asks_again; /* a message came before the reply */
    unsigned                       failures;   /* failed attempts in a row */
    uint64_t                       ended;      /* connections that have ended */
};

static bwl_ms now_of(const bwl_sentinel_link *l)
{
    return bwl_host_now(l->client);
}

static bwl_ms answer_ms_of(const bwl_sentinel_link *l)
{
    return l->client->settings.answer_ms;
}

static void enter(bwl_sentinel_link *l, phase to, bwl_ms ends_at)
{
    l->phase         = to;
    l->phase_ends_at = ends_at;
}

/* ---- errors as texts for users: what, why, and the URL option to change ---------------------- */

/* An error of the sentinel; the text quotes nothing that repeats a part of the password. */
static int turned_away(const bwl_sentinel_link *l, const char *bytes, size_t size, bwl_fault *fault)
{
    const char *password = l->service->password;
    char        text[TEXT_ROOM];

    bwl_redis_error_text(text, sizeof text, bytes, size);
    if (bwl_secret_is_in(password, bytes, size) ||
        bwl_secret_part_is_in(password, text, strlen(text)))
        (void)snprintf(text, sizeof text,
                       "an error that is not quoted: it repeats a part of the password");
    if (bwl_redis_error_is(bytes, size, "NOAUTH"))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                       "it wants a password (NOAUTH): give sentinel-password-file=");
    else if (bwl_redis_error_is(bytes, size, "WRONGPASS"))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                       "it does not accept this user and password (WRONGPASS): see sentinel-user= "
                       "and sentinel-password-file=");
    else if (bwl_redis_error_is(bytes, size, "NOPERM"))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                       "%s: grant it there: ACL SETUSER %.60s " BWL_SENTINEL_RIGHTS, text,
                       l->service->user != NULL ? l->service->user : "default");
    else if (bwl_redis_error_is(bytes, size, "ERR unknown command"))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                       "this is no sentinel: it says %s; if it is the server, write redis:// or "
                       "rediss://",
                       text);
    else
        (void)bwl_fail(
            fault, bwl_redis_is_not_now(bytes, size) ? BWL_STATUS_UNREACHABLE : BWL_STATUS_REFUSED,
            "%s", text);
    bwl_redis_error_code(fault->server_code, text);
    return fault->status;
}

/* A TLS port closes the connection when it gets clear text; a clear-text port may read a TLS
 * handshake and wait for more. */
static void add_hint(const bwl_stream *conn, bool is_silent, bwl_fault *fault)
{
    bwl_fault   bare     = *fault;
    bool        is_clear = conn->context == NULL;
    const char *suspect  = NULL;

    if (!bwl_stream_is_open(conn) || !conn->joined)
        return;
    if (bwl_stream_sounds_like_tls(conn))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                       "this is a port for TLS: write rediss+sentinel://");
    else if (!conn->heard && bare.status == BWL_STATUS_UNREACHABLE && !(is_clear && is_silent))
        suspect = is_clear ? "if it speaks TLS, write rediss+sentinel://"
                           : "if it speaks no TLS, write redis+sentinel://";
    if (suspect != NULL)
        (void)bwl_fail(fault, (bwl_status)bare.status, "%s: %s", bare.text, suspect);
}

/* "sentinel 10.0.0.1:26379: no answer" */
static void name_sentinel(const bwl_sentinel_link *l, bwl_fault *fault)
{
    bwl_fault           bare = *fault;
    const bwl_url_host *at   = &l->service->hosts[l->number];

    (void)bwl_fail_because(fault, (bwl_status)bare.status, &bare, "sentinel %.100s:%u: %s",
                           at->name, (unsigned)at->port, bare.text);
}

/* ---- the connection -------------------------------------------------------------------------- */

/* The connection has failed: backs off, and reports it to the owner. */
static void fail(bwl_sentinel_link *l, bwl_fault *fault)
{
    unsigned doublings = l->failures < DOUBLINGS_MAX ? l->failures : DOUBLINGS_MAX;

    name_sentinel(l, fault);
    bwl_stream_close(&l->conn.stream);
    bwl_dialer_forget(&l->dialer);
    l->ended++;
    l->failures++;
    enter(l, BACKOFF, bwl_ms_add(now_of(l), (bwl_ms)BACKOFF_MS << doublings));
    l->owner->on_failed(l->owner_data, l->number, fault);
}

static void wake(void *arg)
{
    bwl_host_wake(arg);
}

/* Handles a result of the dialer: resolving, connecting, or failed. */
static void on_dial(bwl_sentinel_link *l, int result, bwl_fault *fault)
{
    if (result < 0) {
        fail(l, fault);
        return;
    }
    enter(l, result == BWL_DIAL_RESOLVING ? RESOLVING : CONNECTING, l->dialer.ends_at);
    if (result == BWL_DIAL_CONNECTING)
        l->conn.frames = (bwl_frames){ .long_left = 0 };
}

static void connect_to_it(bwl_sentinel_link *l)
{
    const bwl_url_host *at = &l->service->hosts[l->number];
    const bwl_dial to = { .host = at->name, .port = at->port, .wake = wake, .wake_arg = l->client };
    bwl_fault      fault = { 0 };

    l->until      = bwl_ms_add(now_of(l), answer_ms_of(l));
    l->expected   = HELLO;
    l->asks_again = false;
    enter(l, RESOLVING, l->until);
    if (l->tls != NULL)
        bwl_stream_secure(&l->conn.stream, l->tls, at->name);
    if (bwl_reactor_open(&l->client->reactor, &fault) < 0)
        fail(l, &fault);
    else
        on_dial(l, bwl_dialer_start(&l->dialer, &to, now_of(l), l->until, 0, &fault), &fault);
}

static void on_broken(bwl_sentinel_link *l, bwl_fault *fault)
{
    add_hint(&l->conn.stream, now_of(l) >= l->phase_ends_at, fault);
    if (l->phase == CONNECTING)
        on_dial(l, bwl_dialer_next(&l->dialer, now_of(l), fault), fault);
    else
        fail(l, fault);
}

/* ---- the query ------------------------------------------------------------------------------- */

/* Sends the query; on a new connection HELLO and SUBSCRIBE first. */
static int send_query(bwl_sentinel_link *l, bwl_fault *fault)
{
    const bwl_sentinel_service *service = l->service;

    size_t          user     = service->user != NULL ? strlen(service->user) : 0;
    size_t          password = service->password != NULL ? strlen(service->password) : 0;
    bool            first    = l->phase == CONNECTING;
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&l->conn, QUERY_ROOM + user + password, &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (first) {
        bwl_redis_write_hello(&writer, service->user, service->password);
        bwl_resp_write(&writer, "SUBSCRIBE " BWL_SENTINEL_CHANNEL);
    }
    bwl_resp_write(&writer, "SENTINEL MASTER %s", service->name);
    bwl_resp_write(&writer, "SENTINEL GET-MASTER-ADDR-BY-NAME %s", service->name);
    bwl_resp_stream_commit(&l->conn, &writer);
    l->expected   = first ? HELLO : STATE;
    l->asks_again = false;
    enter(l, QUERYING, first ? l->until : bwl_ms_add(now_of(l), answer_ms_of(l)));
    return bwl_stream_flush(&l->conn.stream, fault);
}

static void query_again(bwl_sentinel_link *l)
{
    bwl_fault fault = { 0 };

    if (send_query(l, &fault) < 0)
        fail(l, &fault);
}

static void report(bwl_sentinel_link *l, const bwl_primary *primary)
{
    bwl_sentinel_answer answer = bwl_sentinel_answer_of(&l->state, primary);
    uint64_t            ended  = l->ended;

    l->failures = 0;
    enter(l, WATCHING, bwl_ms_add(now_of(l), QUIET_PERIODS * answer_ms_of(l)));
    l->owner->on_answer(l->owner_data, l->number, &answer);
    if (l->asks_again && l->phase == WATCHING && l->ended == ended)
        query_again(l);
}

static int on_unknown(const bwl_sentinel_link *l, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "it knows no service \"%.60s\": the path of the URL is the name behind "
                    "\"sentinel monitor\" in its configuration",
                    l->service->name);
}

static int on_strange(bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED, "it sent an unexpected reply");
}

static int on_state(bwl_sentinel_link *l, const char *bytes, size_t size, bwl_fault *fault)
{
    l->says = bwl_sentinel_read_state(&l->state, bytes, size);
    if (l->says == BWL_SENTINEL_ERROR)
        return turned_away(l, bytes, size, fault);
    if (l->says == BWL_SENTINEL_STRANGE)
        return on_strange(fault);
    l->expected = ADDRESS;
    return BWL_OK;
}

static int on_address(bwl_sentinel_link *l, const char *bytes, size_t size, bwl_fault *fault)
{
    bwl_primary       primary;
    bwl_sentinel_says says = bwl_sentinel_read(&primary, bytes, size);

    if (says == BWL_SENTINEL_ERROR)
        return turned_away(l, bytes, size, fault);
    if (says == BWL_SENTINEL_STRANGE)
        return on_strange(fault);
    if (says == BWL_SENTINEL_UNKNOWN || l->says == BWL_SENTINEL_UNKNOWN)
        return on_unknown(l, fault);
    report(l, &primary);
    return BWL_OK;
}

/* Handles a frame that is not a push. */
static int on_reply(bwl_sentinel_link *l, const char *bytes, size_t size, bwl_fault *fault)
{
    if (l->phase != QUERYING)
        return bwl_fail(fault, BWL_STATUS_REFUSED, "it sent data without a request");
    switch (l->expected) {
    case HELLO:
        if (bwl_redis_is_error(bytes, size))
            return turned_away(l, bytes, size, fault);
        l->expected = STATE;
        return BWL_OK;
    case STATE: return on_state(l, bytes, size, fault);
    case ADDRESS: return on_address(l, bytes, size, fault);
    }
    bwl_unreachable("a reply outside of its enum");
}

static int on_push(bwl_sentinel_link *l, const char *bytes, size_t size, bwl_fault *fault)
{
    uint64_t    ended = l->ended;
    bwl_primary primary;

    if (!bwl_sentinel_read_switch(&primary, l->service->name, bytes, size))
        return BWL_OK;
    l->asks_again = true; /* replies that are on their way may be older */
    l->owner->on_switch(l->owner_data, &primary);
    return l->ended == ended && l->phase == WATCHING ? send_query(l, fault) : BWL_OK;
}

/* Reads the frames that have arrived.  A callback may disconnect: then the rest is discarded. */
static int take_frames(bwl_sentinel_link *l, bwl_fault *fault)
{
    const char *bytes;
    size_t      size;
    int         status;

    while ((status = bwl_resp_stream_frame(&l->conn, &bytes, &size, fault)) > 0) {
        status = bytes[0] == '>' ? on_push(l, bytes, size, fault) : on_reply(l, bytes, size, fault);
        if (status < 0)
            break;
    }
    return status;
}

static void ready(bwl_source *source, uint32_t events)
{
    bwl_sentinel_link *l     = (bwl_sentinel_link *)(void *)source;
    uint64_t           ended = l->ended;
    bwl_fault          fault = { 0 };

    if (!bwl_stream_is_open(&l->conn.stream))
        return; /* the connection was closed meanwhile */
    bool was_connecting = l->conn.stream.connecting;
    int  status         = bwl_stream_step(&l->conn.stream, events, &fault);
    if (status == BWL_OK && was_connecting && !l->conn.stream.connecting)
        status = send_query(l, &fault);
    if (!l->conn.stream.connecting && l->phase != CONNECTING) {
        bwl_fault strange = { 0 };
        int       taken   = take_frames(l, &strange); /* even if the connection has just broken */
        if (taken < 0 && status >= 0) {
            status = taken;
            fault  = strange;
        }
    }
    if (status < 0 && l->ended == ended)
        on_broken(l, &fault);
    l->owner->on_change(l->owner_data);
}

/* ---- exported functions ---------------------------------------------------------------------- */

void bwl_sentinel_link_ask(bwl_sentinel_link *l)
{
    switch (l->phase) {
    case IDLE:
    case BACKOFF: connect_to_it(l); break;
    case WATCHING: query_again(l); break;
    case RESOLVING:
    case CONNECTING:
    case QUERYING: break; /* an answer is on its way */
    }
}

bwl_ms bwl_sentinel_link_waits_until(const bwl_sentinel_link *l)
{
    return l->phase_ends_at;
}

static void on_late(bwl_sentinel_link *l)
{
    bwl_fault fault;

    switch (l->phase) {
    case WATCHING:
        if (l->client->watches)
            query_again(l);
        else
            l->phase_ends_at = BWL_NEVER; /* the next discovery queries it */
        break;
    case BACKOFF:
        if (l->client->watches)
            connect_to_it(l);
        else
            enter(l, IDLE, BWL_NEVER);
        break;
    case RESOLVING:
    case CONNECTING:
    case QUERYING:
        (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "no answer in time");
        on_broken(l, &fault);
        break;
    case IDLE: break;
    }
}

void bwl_sentinel_link_woken(bwl_sentinel_link *l)
{
    bwl_fault fault;

    if (l->phase == RESOLVING) {
        int result = bwl_dialer_woken(&l->dialer, now_of(l), &fault);
        if (result != BWL_DIAL_RESOLVING)
            on_dial(l, result, &fault);
    }
    if (now_of(l) >= l->phase_ends_at)
        on_late(l);
}

bwl_sentinel_link *bwl_sentinel_link_new(bwl_host *client, const bwl_sentinel_service *service,
                                         unsigned number, const bwl_tls_context *tls,
                                         const bwl_sentinel_link_owner *owner, void *owner_data)
{
    bwl_sentinel_link *l = calloc(1, sizeof *l);

    assert(number < service->hosts_count);
    if (l == NULL)
        return NULL;
    bwl_resp_stream_init(&l->conn, &client->reactor, ready);
    bwl_dialer_init(&l->dialer, &l->conn.stream);
    l->conn.stream.silence_ms = client->settings.answer_ms;
    l->client                 = client;
    l->tls                    = tls;
    l->service                = service;
    l->owner                  = owner;
    l->owner_data             = owner_data;
    l->number                 = number;
    enter(l, IDLE, BWL_NEVER);
    return l;
}

void bwl_sentinel_link_free(bwl_sentinel_link *l)
{
    if (l == NULL)
        return;
    bwl_stream_free(&l->conn.stream);
    bwl_dialer_forget(&l->dialer);
    free(l);
}
