#include "doctor/link.h"
#include "base/clock.h"
#include "base/fault.h"
#include "net/tls/tls_inside.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RECORD_ALERT = 21, VERSION_MAJOR = 3 };

static void is_ready(bwl_source *source, uint32_t events)
{
    doctor_link *link = (doctor_link *)source;

    if (link->status == BWL_OK)
        link->status = bwl_stream_step(&link->conn.stream, events, &link->fault);
}

static void wake(void *arg)
{
    bwl_reactor_wake(arg);
}

/* Dispatches events once, until `until` at most. */
static void turn(doctor_link *link, bwl_ms until)
{
    bwl_ready ready[BWL_READY_MAX];
    bwl_ms    now   = bwl_clock_now();
    int       count = bwl_reactor_wait(&link->reactor, until > now ? until - now : 0, ready);

    for (int i = 0; i < count; i++)
        if (ready[i].source != NULL)
            ready[i].source->ready(ready[i].source, ready[i].events);
}

/* Call before the stream is closed, which forgets this. */
static void note_progress(doctor_link *link)
{
    const bwl_stream *conn = &link->conn.stream;
    const char       *at   = conn->in != NULL ? conn->in + conn->in_taken : NULL;
    size_t            size = conn->in_size - conn->in_taken;

    link->was_connected = link->was_connected || conn->joined;
    link->has_received  = link->has_received || conn->heard;
    link->was_alert     = link->was_alert || (conn->context == NULL && size >= 2 &&
                                          at[0] == RECORD_ALERT && at[1] == VERSION_MAJOR);
}

static void name_address(doctor_link *link, const bwl_address *address)
{
    if (address->socket.ss_family == AF_UNIX ||
        getnameinfo((const struct sockaddr *)&address->socket, address->size, link->address,
                    sizeof link->address, NULL, 0, NI_NUMERICHOST) != 0)
        link->address[0] = '\0';
}

/* The dialer connects to its next address. */
static void begin_address(doctor_link *link)
{
    name_address(link, &link->dialer.addresses[link->dialer.address]);
    link->conn.frames = (bwl_frames){ .long_left = 0 };
    link->fault       = (bwl_fault){ 0 };
    link->status      = BWL_OK;
}

/* Waits until the name is resolved or the address has failed. Returns as bwl_dialer_next, or 0 when
 * connected. */
static int end_step(doctor_link *link)
{
    bwl_dialer *dialer = &link->dialer;

    for (;;) {
        bwl_fault late;
        bwl_ms    now     = bwl_clock_now();
        bool      is_late = bwl_dialer_is_late(dialer, now, &late);
        if (dialer->resolving) {
            int result = bwl_dialer_woken(dialer, now, &link->fault);
            if (result != BWL_DIAL_RESOLVING)
                return result;
        } else if (link->status < 0 || !link->conn.stream.connecting) {
            note_progress(link);
            return link->status == BWL_OK ? 0 : bwl_dialer_next(dialer, now, &link->fault);
        }
        if (is_late) {
            note_progress(link);
            link->fault = late;
            return bwl_dialer_next(dialer, now, &link->fault);
        }
        turn(link, dialer->ends_at);
    }
}

static int dial(doctor_link *link)
{
    const bwl_dial to     = { .host     = link->store->host,
                              .port     = link->store->port,
                              .wake     = wake,
                              .wake_arg = &link->reactor };
    bwl_ms         now    = bwl_clock_now();
    bwl_ms         until  = bwl_ms_add(now, link->patience_ms);
    int            result = bwl_dialer_start(&link->dialer, &to, now, until, 0, &link->fault);

    while (result > 0) {
        if (result == BWL_DIAL_CONNECTING)
            begin_address(link);
        result = end_step(link);
    }
    link->addresses_count = link->dialer.addresses_count;
    bwl_dialer_forget(&link->dialer);
    return link->status = result;
}

static bwl_tls_context *any_context;

/* For a probe whether the port speaks TLS, any certificate will do. */
static const bwl_tls_context *context_for(const doctor_server *store, link_way way)
{
    bwl_tls_options none = { .ca_file = NULL };

    if (way == LINK_CLEAR || (way == LINK_AS_URL && store->config->tls == NULL))
        return NULL;
    if (store->config->tls != NULL)
        return store->config->tls;
    if (any_context == NULL && bwl_tls_context_new(&any_context, &none, NULL) < 0)
        any_context = NULL; /* no OpenSSL here */
    return any_context;
}

int link_open(doctor_link *link, const doctor_server *store, link_way way, bwl_ms patience_ms)
{
    const bwl_tls_context *context = context_for(store, way);

    *link =
        (doctor_link){ .store = store, .patience_ms = patience_ms, .reactor = BWL_REACTOR_CLOSED };
    bwl_resp_stream_init(&link->conn, &link->reactor, is_ready);
    if (context != NULL)
        bwl_stream_secure(&link->conn.stream, context, store->host);
    else if (way == LINK_TLS)
        return link->status = bwl_fail(&link->fault, BWL_STATUS_UNSUPPORTED, "no TLS here");
    link->status = bwl_reactor_open(&link->reactor, &link->fault);
    if (link->status < 0)
        return link->status;
    if (store->host == NULL && store->address == NULL)
        return link->status = bwl_fail(&link->fault, BWL_STATUS_UNREACHABLE, "it has no address");
    bwl_dialer_init(&link->dialer, &link->conn.stream);
    if (store->host == NULL)
        bwl_dialer_set_address(&link->dialer, store->address);
    return dial(link);
}

void link_close(doctor_link *link)
{
    if (bwl_stream_is_open(&link->conn.stream))
        bwl_stream_goodbye(&link->conn.stream);
    bwl_stream_free(&link->conn.stream);
    bwl_reactor_close(&link->reactor);
}

static void copy_text(doctor_link *link, const bwl_resp_value *value)
{
    size_t size = value->text != NULL ? value->size : 0;

    size_t form = value->type == '=' && size >= 4 ? 4 : 0; /* "txt:", before a text of RESP3 */

    size -= form;
    if (size > LINK_TEXT_MAX)
        size = LINK_TEXT_MAX;
    if (size > 0)
        memcpy(link->text, value->text + form, size);
    link->text[size] = '\0';
    if (value->type == ':' || value->type == '#')
        (void)snprintf(link->text, sizeof link->text, "%lld", (long long)value->integer);
}

static int write_command(doctor_link *link, const char *const *words, unsigned count)
{
    size_t          room = 64;
    bwl_resp_writer writer;

    for (unsigned i = 0; i < count; i++)
        room += strlen(words[i]) + 32;
    if (!bwl_resp_stream_reserve(&link->conn, room, &writer))
        return bwl_fail(&link->fault, BWL_STATUS_NOMEM, "out of memory");
    bwl_resp_write_array(&writer, count);
    for (unsigned i = 0; i < count; i++)
        bwl_resp_write_text(&writer, words[i]);
    bwl_resp_stream_commit(&link->conn, &writer);
    return bwl_stream_flush(&link->conn.stream, &link->fault);
}

/* Reads the next frame that is not a push. Returns 1 or below 0. */
static int read_frame(doctor_link *link, bwl_ms until)
{
    for (;;) {
        int got = bwl_resp_stream_frame(&link->conn, &link->frame, &link->frame_size, &link->fault);
        if (got > 0 && link->frame[0] == '>')
            continue;
        if (got != 0)
            return got;
        if (link->status < 0)
            return link->status;
        if (bwl_clock_now() >= until)
            return bwl_fail(&link->fault, BWL_STATUS_UNREACHABLE, "no answer within %lld ms",
                            (long long)link->patience_ms);
        turn(link, until);
    }
}

int link_ask(doctor_link *link, const char *const *words, unsigned count)
{
    bwl_resp_cursor cursor;
    bwl_resp_value  value;

    link->text[0] = '\0';
    if (link->status < 0)
        return link->status;
    link->status = write_command(link, words, count);
    if (link->status == BWL_OK) {
        int heard = read_frame(link, bwl_ms_add(bwl_clock_now(), link->patience_ms));
        if (heard < 0)
            link->status = heard;
    }
    note_progress(link);
    if (link->status < 0) {
        bwl_stream_close(&link->conn.stream);
        return link->status;
    }
    cursor = bwl_resp_begin(link->frame, link->frame_size);
    if (!bwl_resp_next_bare(&cursor, &value)) /* an attribute without a value */
        return link->status = bwl_fail(&link->fault, BWL_STATUS_REFUSED, "an answer without one");
    copy_text(link, &value);
    return value.type == '!' ? '-' : value.type;
}

int64_t link_certificate_ends(const doctor_link *link)
{
    const bwl_tls *tls = link->conn.stream.tls;
    struct tm      ends;

    if (tls == NULL)
        return 0;
    const struct x509_st *shown = tls->openssl->SSL_get0_peer_certificate(tls->ssl);
    if (shown == NULL ||
        tls->openssl->ASN1_TIME_to_tm(tls->openssl->X509_get0_notAfter(shown), &ends) != 1)
        return 0;
    return timegm(&ends);
}
