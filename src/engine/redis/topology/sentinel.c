/*
 * sentinel.c -- finds the primary of a service that sentinels monitor.
 *
 *      redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]].../SERVICE[/DATABASE]
 *
 * Every attempt to connect begins with a query to a sentinel.  The named server is used if its own
 * handshake shows that it is a primary.  A stale sentinel names a replica, or a server that is
 * gone: then the next sentinel is queried in the same attempt, until all were queried or the time
 * is over.  A sentinel that names the same server again adds nothing.
 *
 * A sign that the primary has moved (a message of the sentinel, an error READONLY) closes the
 * connection.  Held locks are then revalidated at the new primary before they count as lost.
 *
 * There is one connection to one sentinel, which is subscribed to messages about a new primary.
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
 * All functions need the client's mutex.
 */
#include "engine/redis/topology/sentinel.h"

#include "base/fault.h"
#include "base/secret.h"
#include "engine/redis/wire/commands.h"
#include "net/dialer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_ROOM     = 100,
    QUERY_ROOM    = 512,  /* for the commands, without user and password */
    BACKOFF_MS    = 1000, /* between two rounds without a discovery */
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

/* What the URL says.  A sentinel owns the texts. */
typedef struct plan {
    const char  *service;
    const char  *user;     /* for the sentinels, not for the service; NULL: none */
    const char  *password; /* for the sentinels; NULL: none                      */
    unsigned     hosts_count;
    bwl_url_host hosts[BWL_URL_HOSTS_MAX];
} plan;

struct bwl_sentinel {
    bwl_resp_stream        conn; /* first: the reactor points to its source */
    bwl_router            *router;
    bwl_host              *client;
    const bwl_tls_context *tls; /* NULL: clear text */
    plan                   plan;
    phase                  phase;
    bwl_ms                 phase_ends_at;
    bwl_ms                 discovery_deadline;
    bwl_ms                 current_until;  /* time limit of the current sentinel */
    bool                   is_awaited;     /* a discovery waits for the answer */
    bool                   has_said_hello; /* the sentinel has answered HELLO */
    uint64_t               ended;          /* connections that have ended */
    unsigned               current;        /* index into hosts */
    unsigned               tried;          /* sentinels in this round */
    bwl_fault              refusal;        /* of this round: needs correction */
    bwl_dialer             dialer;
    bwl_primary            latest_primary; /* the latest; port 0: none yet */
};

static bwl_sentinel *sentinel_of(const bwl_session *session)
{
    return bwl_router_of(session)->sentinel;
}

/* ---- errors as texts for users: what, why, and the URL option to change ---------------------- */

/* An error of the sentinel; the text quotes nothing that repeats a part of the password. */
static int turned_away(const bwl_sentinel *s, const char *bytes, size_t size, bwl_fault *fault)
{
    const char *password = s->plan.password;
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

/* ---- what a sentinel says, and the session --------------------------------------------------- */

static bool is_there(const bwl_endpoint *endpoint, const bwl_primary *primary)
{
    return endpoint->host != NULL && endpoint->port == primary->port &&
           strcmp(endpoint->host, primary->host) == 0;
}

static void try_it(bwl_session *session, const bwl_primary *primary)
{
    char         host[sizeof primary->host];
    bwl_endpoint endpoint = { .host = host, .port = primary->port };

    (void)snprintf(host, sizeof host, "%s", primary->host);
    (void)snprintf(endpoint.text, sizeof endpoint.text, "%.40s (%.60s:%u)",
                   sentinel_of(session)->plan.service, primary->host, (unsigned)primary->port);
    bwl_session_found(session, &endpoint);
}

static void on_found(bwl_session *session, const bwl_primary *primary, const bwl_fault *fault)
{
    const bwl_session_attempt *attempt = &session->attempt;

    if (primary == NULL)
        bwl_session_not_found(session, fault);
    else if (attempt->candidate.status == 0 || !is_there(&session->endpoint, primary))
        try_it(session, primary);
    else if (!bwl_sentinel_try_next(session, attempt->until))
        bwl_session_not_found(session, &attempt->candidate);
}

static void on_moved(bwl_session *session, const bwl_primary *primary)
{
    bwl_fault fault;

    (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "%s is not the primary any more, %.60s:%u is",
                   session->endpoint.text, primary->host, (unsigned)primary->port);
    bwl_session_break(session, &fault, false);
}

/* With `primary`, fault is NULL: the result of a discovery, or a new primary.  Without: the
 * discovery has failed, REFUSED or UNREACHABLE. */
static void on_result(bwl_sentinel *s, const bwl_primary *primary, const bwl_fault *fault)
{
    bwl_session *session = s->router->sessions;
    bool         is_new  = primary != NULL && !is_there(&session->endpoint, primary);

    switch (session->phase) {
    case BWL_SESSION_DOWN:
    case BWL_SESSION_BACKOFF: break; /* the next attempt queries again */
    case BWL_SESSION_DISCOVERING: on_found(session, primary, fault); break;
    case BWL_SESSION_RESOLVING:
    case BWL_SESSION_CONNECTING:
    case BWL_SESSION_HANDSHAKE:
        if (is_new)
            try_it(session, primary);
        break;
    case BWL_SESSION_READY:
        if (is_new)
            on_moved(session, primary);
        break;
    }
    session->owner->on_change(session);
}

static void try_current(bwl_sentinel *s);

static bwl_ms now_of(const bwl_sentinel *s)
{
    return bwl_host_now(s->client);
}

static void enter(bwl_sentinel *s, phase to, bwl_ms ends_at)
{
    s->phase         = to;
    s->phase_ends_at = ends_at;
}

/* ---- one round: each sentinel once ----------------------------------------------------------- */

static void disconnect(bwl_sentinel *s)
{
    bwl_stream_close(&s->conn.stream);
    bwl_dialer_forget(&s->dialer);
    s->has_said_hello = false;
    s->ended++;
}

/* "sentinel 10.0.0.1:26379: no answer" */
static void name_sentinel(const bwl_sentinel *s, bwl_fault *fault)
{
    bwl_fault           bare = *fault;
    const bwl_url_host *at   = &s->plan.hosts[s->current];

    (void)bwl_fail(fault, (bwl_status)bare.status, "sentinel %.100s:%u: %s", at->name,
                   (unsigned)at->port, bare.text);
}

/* All sentinels were tried. */
static void round_failed(bwl_sentinel *s, const bwl_fault *last)
{
    bwl_fault fault      = s->refusal.status != 0 ? s->refusal : *last;
    bool      is_awaited = s->is_awaited;

    s->is_awaited = false;
    enter(s, BACKOFF, bwl_ms_add(now_of(s), BACKOFF_MS));
    if (is_awaited)
        on_result(s, NULL, &fault);
}

static void leave_current(bwl_sentinel *s)
{
    disconnect(s);
    s->current = (s->current + 1) % s->plan.hosts_count;
}

/* This sentinel failed: tries the next one. */
static void fail_current(bwl_sentinel *s, bwl_fault *fault)
{
    name_sentinel(s, fault);
    leave_current(s);
    if (fault->status == BWL_STATUS_REFUSED)
        s->refusal = *fault;
    if (++s->tried < s->plan.hosts_count)
        try_current(s);
    else
        round_failed(s, fault);
}

/* The time limit of the current sentinel: an equal share of the time left, so that a silent one
 * leaves time for the others. */
static bwl_ms current_ends_at(const bwl_sentinel *s)
{
    bwl_ms now  = now_of(s);
    bwl_ms left = s->discovery_deadline > now ? s->discovery_deadline - now : 0;

    return now + left / (bwl_ms)(s->plan.hosts_count - s->tried);
}

static void wake(void *arg)
{
    bwl_host_wake(arg);
}

/* Handles a result of the dialer: resolving, connecting, or failed. */
static void on_dial(bwl_sentinel *s, int result, bwl_fault *fault)
{
    if (result < 0) {
        fail_current(s, fault);
        return;
    }
    enter(s, result == BWL_DIAL_RESOLVING ? RESOLVING : CONNECTING, s->dialer.ends_at);
    if (result == BWL_DIAL_CONNECTING)
        s->conn.frames = (bwl_frames){ .long_left = 0 };
}

static void try_current(bwl_sentinel *s)
{
    const bwl_url_host *at = &s->plan.hosts[s->current];
    const bwl_dial to = { .host = at->name, .port = at->port, .wake = wake, .wake_arg = s->client };
    bwl_fault      fault = { 0 };

    s->current_until = current_ends_at(s);
    enter(s, RESOLVING, s->current_until);
    if (s->tls != NULL)
        bwl_stream_secure(&s->conn.stream, s->tls, at->name);
    if (bwl_reactor_open(&s->client->reactor, &fault) < 0)
        fail_current(s, &fault);
    else
        on_dial(s, bwl_dialer_start(&s->dialer, &to, now_of(s), s->current_until, 0, &fault),
                &fault);
}

static void restart_deadline(bwl_sentinel *s)
{
    s->tried              = 0;
    s->refusal            = (bwl_fault){ 0 };
    s->discovery_deadline = bwl_ms_add(now_of(s), s->client->settings.answer_ms);
}

static void begin_round(bwl_sentinel *s)
{
    restart_deadline(s);
    try_current(s);
}

/* ---- the query ------------------------------------------------------------------------------- */

/* Sends the query; on a new connection HELLO and SUBSCRIBE first. */
static int send_query(bwl_sentinel *s, bwl_fault *fault)
{
    size_t          user     = s->plan.user != NULL ? strlen(s->plan.user) : 0;
    size_t          password = s->plan.password != NULL ? strlen(s->plan.password) : 0;
    bool            first    = s->phase == CONNECTING;
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&s->conn, QUERY_ROOM + user + password, &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (first) {
        bwl_redis_write_hello(&writer, s->plan.user, s->plan.password);
        bwl_resp_write(&writer, "SUBSCRIBE " BWL_SENTINEL_CHANNEL);
    }
    bwl_resp_write(&writer, "SENTINEL GET-MASTER-ADDR-BY-NAME %s", s->plan.service);
    bwl_resp_stream_commit(&s->conn, &writer);
    enter(s, QUERYING, first ? s->current_until : current_ends_at(s));
    return bwl_stream_flush(&s->conn.stream, fault);
}

static void report_primary(bwl_sentinel *s, const bwl_primary *primary)
{
    bool is_awaited = s->is_awaited;
    bool moved      = !bwl_primary_is(primary, &s->latest_primary);

    s->is_awaited     = false;
    s->latest_primary = *primary;
    if (is_awaited || moved)
        on_result(s, &s->latest_primary, NULL);
}

/* Handles a frame that is not a push: the reply to HELLO, or to the query. */
static int on_reply(bwl_sentinel *s, const char *bytes, size_t size, bwl_fault *fault)
{
    bwl_primary primary;

    if (s->phase != QUERYING)
        return bwl_fail(fault, BWL_STATUS_REFUSED, "it sent data without a request");
    if (!s->has_said_hello) {
        if (bwl_redis_is_error(bytes, size))
            return turned_away(s, bytes, size, fault);
        s->has_said_hello = true;
        return BWL_OK;
    }
    switch (bwl_sentinel_read(&primary, bytes, size)) {
    case BWL_SENTINEL_FOUND:
        enter(s, WATCHING, bwl_ms_add(now_of(s), QUIET_PERIODS * s->client->settings.answer_ms));
        report_primary(s, &primary);
        return BWL_OK;
    case BWL_SENTINEL_UNKNOWN:
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "it knows no service \"%.60s\": the path of the URL is the name behind "
                        "\"sentinel monitor\" in its configuration",
                        s->plan.service);
    case BWL_SENTINEL_ERROR: return turned_away(s, bytes, size, fault);
    case BWL_SENTINEL_STRANGE: break;
    }
    return bwl_fail(fault, BWL_STATUS_REFUSED, "it sent an unexpected reply");
}

static void on_broken(bwl_sentinel *s, bwl_fault *fault)
{
    add_hint(&s->conn.stream, now_of(s) >= s->phase_ends_at, fault);
    if (s->phase == WATCHING) {
        leave_current(s);
        enter(s, BACKOFF, bwl_ms_add(now_of(s), BACKOFF_MS));
    } else if (s->phase == CONNECTING) {
        on_dial(s, bwl_dialer_next(&s->dialer, now_of(s), fault), fault);
    } else {
        fail_current(s, fault);
    }
}

/* Reads the frames that have arrived.  A callback may disconnect: then the rest is discarded. */
static int take_frames(bwl_sentinel *s, bwl_fault *fault)
{
    bwl_primary primary;
    const char *bytes;
    size_t      size;
    int         status;

    while ((status = bwl_resp_stream_frame(&s->conn, &bytes, &size, fault)) > 0) {
        if (bytes[0] != '>')
            status = on_reply(s, bytes, size, fault);
        else if (bwl_sentinel_read_switch(&primary, s->plan.service, bytes, size))
            report_primary(s, &primary);
        if (status < 0)
            break;
    }
    return status;
}

static void ready(bwl_source *source, uint32_t events)
{
    bwl_sentinel *s     = (bwl_sentinel *)(void *)source;
    uint64_t      ended = s->ended;
    bwl_fault     fault = { 0 };

    if (!bwl_stream_is_open(&s->conn.stream))
        return; /* the connection was closed meanwhile */
    bool was_connecting = s->conn.stream.connecting;
    int  status         = bwl_stream_step(&s->conn.stream, events, &fault);
    if (status == BWL_OK && was_connecting && !s->conn.stream.connecting)
        status = send_query(s, &fault);
    if (!s->conn.stream.connecting && s->phase != CONNECTING) {
        bwl_fault strange = { 0 };
        int       taken   = take_frames(s, &strange); /* even if the connection has just broken */
        if (taken < 0 && status >= 0) {
            status = taken;
            fault  = strange;
        }
    }
    if (status < 0 && s->ended == ended)
        on_broken(s, &fault);
    s->router->owner->on_change(s->router->sessions);
}

/* ---- exported functions ---------------------------------------------------------------------- */

/* Queries the connected sentinel again; if that fails, the others. */
static void query_again(bwl_sentinel *s)
{
    bwl_fault fault = { 0 };

    restart_deadline(s);
    if (send_query(s, &fault) < 0)
        fail_current(s, &fault);
}

void bwl_sentinel_discover(bwl_session *session)
{
    bwl_sentinel *s = sentinel_of(session);

    s->is_awaited = true;
    if (s->phase == IDLE || s->phase == BACKOFF)
        begin_round(s);
    else if (s->phase == WATCHING)
        query_again(s);
}

/* False: all sentinels were queried, or the time is over. */
bool bwl_sentinel_try_next(bwl_session *session, bwl_ms by)
{
    bwl_sentinel *s = sentinel_of(session);
    bool is_asking  = s->phase == RESOLVING || s->phase == CONNECTING || s->phase == QUERYING;

    if (now_of(s) >= by || (!is_asking && s->tried + 1 >= s->plan.hosts_count))
        return false;
    s->is_awaited = true;
    if (is_asking)
        return true; /* the connection to the sentinel that named it broke: a round is running */
    if (s->phase == WATCHING)
        leave_current(s);
    s->discovery_deadline = by;
    s->tried++;
    try_current(s);
    return true;
}

bwl_ms bwl_sentinel_waits_until(const bwl_sentinel *s)
{
    return s->phase_ends_at;
}

void bwl_sentinel_woken(bwl_sentinel *s)
{
    bwl_fault fault;

    if (s->phase == RESOLVING) {
        int result = bwl_dialer_woken(&s->dialer, now_of(s), &fault);
        if (result != BWL_DIAL_RESOLVING)
            on_dial(s, result, &fault);
    }
    if (now_of(s) < bwl_sentinel_waits_until(s))
        return;
    if (s->phase == WATCHING && s->client->watches) {
        query_again(s);
    } else if (s->phase == WATCHING) {
        s->phase_ends_at = BWL_NEVER; /* the next discovery queries it */
    } else if (s->phase == BACKOFF && s->client->watches) {
        begin_round(s);
    } else if (s->phase == BACKOFF) {
        enter(s, IDLE, BWL_NEVER); /* no discovery waits */
    } else {
        (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "no answer in time");
        on_broken(s, &fault);
    }
}

int bwl_sentinel_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault)
{
    int status = bwl_single_check_hello(session, hello, fault);

    if (status < 0 || bwl_resp_text_is(&hello->role, "master"))
        return status;
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE,
                    "%s is a replica, and the sentinel names it as the primary",
                    session->endpoint.text);
}

bool bwl_sentinel_is_demoted(const bwl_session *session, const char *bytes, size_t size)
{
    (void)session;
    return bwl_redis_error_is(bytes, size, "READONLY");
}

bool bwl_sentinel_has_moved(const bwl_session *session)
{
    const bwl_endpoint *served = &bwl_router_of(session)->served;
    const bwl_endpoint *now    = &session->endpoint;

    return served->host != NULL &&
           (now->port != served->port || strcmp(now->host, served->host) != 0);
}

/* Out of memory: the next connection counts as one to the same server. */
void bwl_sentinel_served(bwl_session *session)
{
    bwl_endpoint *served = &bwl_router_of(session)->served;

    free(served->host);
    served->host = strdup(session->endpoint.host);
    served->port = session->endpoint.port;
}

int bwl_sentinel_parse(bwl_endpoint *ret_endpoint, const bwl_url *url, const char **ret_rest,
                       bwl_fault *fault)
{
    const char *name = url->path[0] == '/' ? url->path + 1 : url->path;
    size_t      size = strcspn(name, "/");

    if (url->host == NULL || url->host[0] == '\0')
        return bwl_fail(
            fault, BWL_STATUS_USAGE,
            "%s: takes the sentinels and a service: %s://HOST:26379,HOST:26379/mymaster",
            url->scheme, url->scheme);
    if (size == 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "%s: the path names the service, as the sentinels know it: /mymaster",
                        url->scheme);
    if (size > BWL_SENTINEL_NAME_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a service has at most %d characters",
                        BWL_SENTINEL_NAME_MAX);
    for (unsigned i = 0; i < url->hosts_count; i++)
        if (strlen(url->hosts[i].name) > BWL_RESOLVE_HOST_MAX)
            return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a host has at most %d characters",
                            BWL_RESOLVE_HOST_MAX);
    (void)snprintf(ret_endpoint->text, sizeof ret_endpoint->text, "%.*s",
                   (int)(size < 100 ? size : 100), name);
    *ret_rest = name + size;
    return BWL_OK;
}

/* ---- new and free ---------------------------------------------------------------------------- */

static int new (bwl_router *router, const plan *of, bwl_fault *fault)
{
    bwl_sentinel *s   = calloc(1, sizeof *s);
    bool          all = s != NULL;

    assert(of->hosts_count >= 1 && of->hosts_count <= BWL_URL_HOSTS_MAX);
    if (all) {
        bwl_resp_stream_init(&s->conn, &router->host->reactor, ready);
        bwl_dialer_init(&s->dialer, &s->conn.stream);
        s->conn.stream.silence_ms = router->host->settings.answer_ms;
        s->router                 = router;
        s->client                 = router->host;
        s->tls                    = router->config->tls;
        s->plan                   = (plan){ .service     = bwl_copy_of(of->service, &all),
                                            .user        = bwl_copy_of(of->user, &all),
                                            .password    = bwl_copy_of(of->password, &all),
                                            .hosts_count = of->hosts_count };
        for (unsigned i = 0; i < of->hosts_count; i++) {
            uint16_t port    = of->hosts[i].port;
            s->plan.hosts[i] = (bwl_url_host){ .name = bwl_copy_of(of->hosts[i].name, &all),
                                               .port = port != 0 ? port : BWL_SENTINEL_PORT };
        }
        enter(s, IDLE, BWL_NEVER);
    }
    if (!all) {
        bwl_sentinel_free(s);
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    }
    router->sentinel = s;
    return BWL_OK;
}

void bwl_sentinel_free(bwl_sentinel *s)
{
    if (s == NULL)
        return;
    bwl_stream_free(&s->conn.stream);
    bwl_dialer_forget(&s->dialer);
    for (unsigned i = 0; i < s->plan.hosts_count; i++)
        free((char *)s->plan.hosts[i].name);
    bwl_secret_free((char *)s->plan.password);
    free((char *)s->plan.user);
    free((char *)s->plan.service);
    free(s);
}

int bwl_sentinel_open(bwl_router *router, const bwl_url *url, bwl_fault *fault)
{
    const char *file = bwl_url_find(url, BWL_SENTINEL_OPTION_PASSWORD);
    const char *name = url->path[0] == '/' ? url->path + 1 : url->path;
    char        service[BWL_SENTINEL_NAME_MAX + 1];
    char       *password = NULL;
    plan        named    = { .service     = service,
                             .user        = bwl_url_find(url, BWL_SENTINEL_OPTION_USER),
                             .hosts_count = url->hosts_count };
    int         status   = BWL_OK;

    (void)snprintf(service, sizeof service, "%.*s", (int)strcspn(name, "/"), name);
    memcpy(named.hosts, url->hosts, url->hosts_count * sizeof url->hosts[0]);
    if (named.user != NULL && file == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the URL names a user of the sentinels without a password: give "
                        "sentinel-password-file=");
    if (file != NULL)
        status = bwl_secret_read(&password, file, fault);
    named.password = password;
    if (status == BWL_OK)
        status = new (router, &named, fault);
    bwl_secret_free(password);
    return status;
}

int bwl_sentinel_share(bwl_router *router, const bwl_router *of)
{
    (void)snprintf(router->sessions->endpoint.text, sizeof router->sessions->endpoint.text,
                   "%.100s", of->sentinel->plan.service);
    return new (router, &of->sentinel->plan, NULL);
}
