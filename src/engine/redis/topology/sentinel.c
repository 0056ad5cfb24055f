#include "engine/redis/topology/sentinel.h"
#include "base/fault.h"
#include "base/copy.h"
#include "base/secret.h"
#include "engine/redis/wire/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_ROOM  = 100,
    QUERY_ROOM = 512, /* for the commands, without user and password */
};

static int turned_away(const char *text, const char *bytes, size_t size, bwl_fault *fault)
{
    if (bwl_redis_error_is(bytes, size, "NOAUTH"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "it wants a password (NOAUTH): give sentinel-password-file=");
    if (bwl_redis_error_is(bytes, size, "WRONGPASS"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "it does not accept this user and password (WRONGPASS): see sentinel-user= "
                        "and sentinel-password-file=");
    if (bwl_redis_error_is(bytes, size, "ERR unknown command"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "this is no sentinel: it says %s; if it is the server, write redis:// or "
                        "rediss://",
                        text);
    return bwl_fail(fault,
                    bwl_redis_is_not_now(bytes, size) ? BWL_STATUS_UNREACHABLE : BWL_STATUS_REFUSED,
                    "%s", text);
}

int bwl_sentinel_turned_away(const char *password, const char *bytes, size_t size, bwl_fault *fault)
{
    char text[TEXT_ROOM];

    bwl_redis_error_text(text, sizeof text, bytes, size);
    if (bwl_secret_is_in(password, bytes, size) ||
        bwl_secret_part_is_in(password, text, strlen(text)))
        (void)snprintf(text, sizeof text,
                       "an error that is not quoted: it repeats a part of the password");
    int status = turned_away(text, bytes, size, fault);
    bwl_redis_error_code(fault->server_code, text);
    return status;
}

int bwl_sentinel_knows_none(const char *service, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "it knows no service \"%.60s\": the path of the URL is the name behind "
                    "\"sentinel monitor\" in its configuration",
                    service);
}

/* A TLS port closes the connection when it gets clear text; a clear-text port may read a TLS
 * handshake and wait for more. */
void bwl_sentinel_add_hint(const bwl_stream *conn, bool is_silent, bwl_fault *fault)
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

enum {
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

typedef struct host {
    char    *name;
    uint16_t port;
} host;

struct bwl_sentinel {
    bwl_resp_stream        conn; /* first: the reactor points to its source */
    bwl_host              *client;
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
    unsigned               hosts_count;
    host                   hosts[BWL_URL_HOSTS_MAX];
    char                  *service;
    char                  *user;
    char                  *password;
    const bwl_tls_context *tls;
    bwl_resolver           resolver;
    bwl_sentinel_heard    *heard;
    void (*stirred)(void *arg);
    void *arg;
};

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
    bwl_fault   bare = *fault;
    const host *at   = &s->hosts[s->current];

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
        s->heard(s->arg, NULL, &fault);
}

static void leave_current(bwl_sentinel *s)
{
    disconnect(s);
    s->current = (s->current + 1) % s->hosts_count;
}

/* This sentinel failed: tries the next one. */
static void fail_current(bwl_sentinel *s, bwl_fault *fault)
{
    name_sentinel(s, fault);
    leave_current(s);
    if (fault->status == BWL_STATUS_REFUSED)
        s->refusal = *fault;
    if (++s->tried < s->hosts_count)
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

    return now + left / (bwl_ms)(s->hosts_count - s->tried);
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
    const host    *at    = &s->hosts[s->current];
    const bwl_dial to    = { .host     = at->name,
                             .port     = at->port,
                             .resolver = s->resolver,
                             .wake     = wake,
                             .wake_arg = s->client };
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
    size_t          user     = s->user != NULL ? strlen(s->user) : 0;
    size_t          password = s->password != NULL ? strlen(s->password) : 0;
    bool            first    = s->phase == CONNECTING;
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&s->conn, QUERY_ROOM + user + password, &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (first) {
        bwl_redis_write_hello(&writer, s->user, s->password);
        bwl_resp_write(&writer, "SUBSCRIBE " BWL_SENTINEL_CHANNEL);
    }
    bwl_resp_write(&writer, "SENTINEL GET-MASTER-ADDR-BY-NAME %s", s->service);
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
        s->heard(s->arg, &s->latest_primary, NULL);
}

/* Handles a frame that is not a push: the reply to HELLO, or to the query. */
static int on_reply(bwl_sentinel *s, const char *bytes, size_t size, bwl_fault *fault)
{
    bwl_primary primary;

    if (s->phase != QUERYING)
        return bwl_fail(fault, BWL_STATUS_REFUSED, "it sent data without a request");
    if (!s->has_said_hello) {
        if (bwl_redis_is_error(bytes, size))
            return bwl_sentinel_turned_away(s->password, bytes, size, fault);
        s->has_said_hello = true;
        return BWL_OK;
    }
    switch (bwl_sentinel_read(&primary, bytes, size)) {
    case BWL_SENTINEL_FOUND:
        enter(s, WATCHING, bwl_ms_add(now_of(s), QUIET_PERIODS * s->client->settings.answer_ms));
        report_primary(s, &primary);
        return BWL_OK;
    case BWL_SENTINEL_UNKNOWN: return bwl_sentinel_knows_none(s->service, fault);
    case BWL_SENTINEL_ERROR: return bwl_sentinel_turned_away(s->password, bytes, size, fault);
    case BWL_SENTINEL_STRANGE: break;
    }
    return bwl_fail(fault, BWL_STATUS_REFUSED, "it sent an unexpected reply");
}

static void on_broken(bwl_sentinel *s, bwl_fault *fault)
{
    bwl_sentinel_add_hint(&s->conn.stream, now_of(s) >= s->phase_ends_at, fault);
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
        else if (bwl_sentinel_read_switch(&primary, s->service, bytes, size))
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
    s->stirred(s->arg);
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

void bwl_sentinel_discover(bwl_sentinel *s)
{
    s->is_awaited = true;
    if (s->phase == IDLE || s->phase == BACKOFF)
        begin_round(s);
    else if (s->phase == WATCHING)
        query_again(s);
}

bool bwl_sentinel_try_next(bwl_sentinel *s, bwl_ms by)
{
    bool is_asking = s->phase == RESOLVING || s->phase == CONNECTING || s->phase == QUERYING;

    if (now_of(s) >= by || (!is_asking && s->tried + 1 >= s->hosts_count))
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

const char *bwl_sentinel_service(const bwl_sentinel *s)
{
    return s->service;
}

/* ---- new and free ---------------------------------------------------------------------------- */

int bwl_sentinel_new(bwl_sentinel **ret_sentinel, bwl_host *client, const bwl_sentinel_plan *plan,
                     bwl_fault *fault)
{
    bwl_sentinel *s   = calloc(1, sizeof *s);
    bool          all = s != NULL;

    assert(plan->hosts_count >= 1 && plan->hosts_count <= BWL_URL_HOSTS_MAX);
    if (all) {
        bwl_resp_stream_init(&s->conn, &client->reactor, ready);
        bwl_dialer_init(&s->dialer, &s->conn.stream);
        s->conn.stream.silence_ms = client->settings.answer_ms;
        s->client                 = client;
        s->service                = bwl_copy_of(plan->service, &all);
        s->user                   = bwl_copy_of(plan->user, &all);
        s->password               = bwl_copy_of(plan->password, &all);
        s->tls                    = plan->tls;
        s->resolver               = plan->resolver;
        s->heard                  = plan->heard;
        s->stirred                = plan->stirred;
        s->arg                    = plan->arg;
        s->hosts_count            = plan->hosts_count;
        for (unsigned i = 0; i < plan->hosts_count; i++) {
            uint16_t port    = plan->hosts[i].port;
            s->hosts[i].name = bwl_copy_of(plan->hosts[i].name, &all);
            s->hosts[i].port = port != 0 ? port : BWL_SENTINEL_PORT;
        }
        enter(s, IDLE, BWL_NEVER);
    }
    if (!all) {
        bwl_sentinel_free(s);
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    }
    *ret_sentinel = s;
    return BWL_OK;
}

int bwl_sentinel_copy(bwl_sentinel **ret_sentinel, bwl_host *client, const bwl_sentinel *of,
                      void *arg)
{
    bwl_url_host      hosts[BWL_URL_HOSTS_MAX];
    bwl_sentinel_plan plan = { .hosts       = hosts,
                               .hosts_count = of->hosts_count,
                               .service     = of->service,
                               .user        = of->user,
                               .password    = of->password,
                               .tls         = of->tls,
                               .resolver    = of->resolver,
                               .heard       = of->heard,
                               .stirred     = of->stirred,
                               .arg         = arg };

    for (unsigned i = 0; i < of->hosts_count; i++)
        hosts[i] = (bwl_url_host){ .name = of->hosts[i].name, .port = of->hosts[i].port };
    return bwl_sentinel_new(ret_sentinel, client, &plan, NULL);
}

void bwl_sentinel_free(bwl_sentinel *s)
{
    if (s == NULL)
        return;
    bwl_stream_free(&s->conn.stream);
    bwl_dialer_forget(&s->dialer);
    for (unsigned i = 0; i < s->hosts_count; i++)
        free(s->hosts[i].name);
    bwl_secret_free(s->password);
    free(s->user);
    free(s->service);
    free(s);
}
