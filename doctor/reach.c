/*
 * reach.c -- connects to a server and logs in: host, port, TLS, password.
 *
 * Two mistakes can hang: TLS to a plaintext port, and plaintext to a TLS port. So when one way
 * fails, the other is probed without any secret: an aborted handshake, or PING.
 */
#include "doctor/visit.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PROBE_MS  = 1000,
    DAY_S     = 86400,
    SOON_DAYS = 14,
};

/* Does the port speak TLS? The certificate does not matter. */
static bool speaks_tls(const doctor_server *store)
{
    static doctor_link probe;
    int                status = link_open(&probe, store, LINK_TLS, PROBE_MS);
    bool               speaks = status == BWL_OK;

    if (status == BWL_STATUS_REFUSED)
        speaks = strstr(probe.fault.text, "is not TLS") == NULL;
    link_close(&probe);
    return speaks;
}

/* Does the port speak RESP in plaintext? */
static bool speaks_clear(const doctor_server *store)
{
    static doctor_link       probe;
    static const char *const ping[] = { "PING" };
    bool                     speaks = link_open(&probe, store, LINK_CLEAR, PROBE_MS) == BWL_OK;

    if (speaks) {
        int type = link_ask(&probe, ping, 1);
        speaks   = type == '+' || type == '-';
    }
    link_close(&probe);
    return speaks;
}

static void report_unreachable(visit *v)
{
    const doctor_server *store = &v->store;
    const char          *check = v->link.addresses_count == 0 ? "resolve" : "connect";
    doctor_finding      *f;

    if (store->config->tls != NULL && v->link.was_connected) {
        bool is_clear = speaks_clear(store);
        f             = visit_find(v, "tls", DOCTOR_FAILURE);
        if (is_clear) {
            visit_what(f, "TLS to a plaintext port: %s", v->link.fault.text);
            visit_why(f, "the server speaks plaintext there: a TLS handshake fails or hangs");
            visit_type(f, "use the TLS port (tls-port in redis.conf): rediss://HOST:PORT");
            return;
        }
        visit_what(f, "%s", v->link.fault.text);
        visit_why(f, "without a trusted certificate for this name, any server could answer");
        visit_type(f, "openssl s_client -connect %.100s -showcerts", store->where);
        return;
    }
    f = visit_find(v, check, DOCTOR_FAILURE);
    visit_what(f, "%.100s: %s", store->where, v->link.fault.text);
    visit_why(f, "without a connection, acquire ends with UNREACHABLE after its wait");
    if (store->host == NULL)
        visit_type(f, "ls -l %.100s", store->where);
    else
        visit_type(f, check[0] == 'r' ? "getent hosts %.100s" : "nc -vz %.100s %u", store->host,
                   (unsigned)store->port);
}

static void report_certificate(visit *v)
{
    int64_t         ends = link_certificate_ends(&v->link);
    int64_t         left = ends - (int64_t)(bwl_clock_wall_us() / 1000000);
    time_t          at   = (time_t)ends;
    struct tm       day;
    char            date[16] = "an unknown day";
    doctor_finding *f =
        visit_find(v, "tls", left < SOON_DAYS * DAY_S ? DOCTOR_WARNING : DOCTOR_FINE);

    if (ends != 0 && gmtime_r(&at, &day) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%d", &day);
    visit_what(f, "TLS, the certificate names %.100s and ends on %s", v->store.host, date);
    if (left >= SOON_DAYS * DAY_S)
        return;
    visit_why(f, "after that date connections fail, and locks that are held are not renewed");
    visit_type(f, "openssl s_client -connect %.100s </dev/null | openssl x509 -noout -enddate",
               v->store.where);
}

static bool report_refusal(visit *v, int type)
{
    const doctor_server *store = &v->store;
    char                 words[120];
    doctor_finding      *f;

    if (type < 0) {
        bool is_tls = store->config->tls == NULL && store->host != NULL &&
                      (v->link.was_alert || !v->link.has_received) && speaks_tls(store);
        if (is_tls) {
            f = visit_find(v, "tls", DOCTOR_FAILURE);
            visit_what(f, "plaintext to a TLS port: %s", v->link.fault.text);
            visit_why(f, "the server waits for a TLS handshake, and the client for a reply");
            visit_type(f, "use rediss:// instead of redis://, with ca=FILE for a private "
                          "certificate authority");
            return false;
        }
        f = visit_find(v, "handshake", DOCTOR_FAILURE);
        visit_what(f, "%.100s: %s", store->where, v->link.fault.text);
        visit_why(f, "this is not a Redis server, or it does not serve");
        visit_type(f, "check the host and the port of the URL");
        return false;
    }
    bwl_session_error_text(store->config, words, sizeof words, v->link.frame, v->link.frame_size);
    f = visit_find(v, "authentication", DOCTOR_FAILURE);
    visit_what(f, "the server refuses the login: %s", words);
    visit_why(f, "bowline does not try another user, which might have other permissions");
    if (bwl_redis_is_not_now(v->link.frame, v->link.frame_size))
        visit_type(f, "wait until it serves: redis-cli INFO persistence");
    else if (strncmp(words, "NOAUTH", 6) == 0 && v->asks_sentinel)
        visit_type(f, "?sentinel-password-file=FILE, and sentinel-user= if it is not the default");
    else if (strncmp(words, "NOAUTH", 6) == 0)
        visit_type(f, "a URL with USER:PASSWORD@, in a file: bowline doctor --url-file FILE");
    else
        visit_type(f, "ACL GETUSER %.60s, as a user who may run it", visit_user(v));
    return false;
}

/* Reads the version from the reply to HELLO, a map. */
static void read_hello(visit *v)
{
    bwl_resp_cursor cursor = bwl_resp_begin(v->link.frame, v->link.frame_size);
    bwl_resp_value  map, key, value;

    if (!bwl_resp_next_bare(&cursor, &map) || map.type != '%')
        return;
    while (bwl_resp_next_bare(&cursor, &key) && bwl_resp_next_bare(&cursor, &value)) {
        if (bwl_resp_text_is(&key, "version") && value.text != NULL)
            (void)snprintf(v->version, sizeof v->version, "%.*s",
                           value.size < 20 ? (int)value.size : 20, value.text);
        bwl_resp_skip(&cursor, &value);
    }
    v->major = (unsigned)strtoul(v->version, NULL, 10);
}

static int send_auth(visit *v)
{
    const doctor_server *store    = &v->store;
    const char          *words[3] = { "AUTH", store->config->user, store->config->password };

    if (store->config->user == NULL)
        words[1] = store->config->password;
    return link_ask(&v->link, words, store->config->user == NULL ? 2 : 3);
}

/* HELLO 3 with AUTH, or RESP2 if the server does not know HELLO. */
static bool handshake(visit *v)
{
    const doctor_server *store = &v->store;
    const char *words[5] = { "HELLO", "3", "AUTH", store->config->user, store->config->password };

    if (store->config->user == NULL)
        words[3] = "default";
    int type = link_ask(&v->link, words, store->config->password != NULL ? 5 : 2);
    if (type == '-' && bwl_redis_knows_no_hello(v->link.frame, v->link.frame_size)) {
        v->is_resp2 = true;
        type        = store->config->password != NULL ? send_auth(v) : '+';
    }
    if (type < 0 || type == '-')
        return report_refusal(v, type);
    if (!v->is_resp2)
        read_hello(v);
    if (!v->is_resp2 && v->major == 0) {
        doctor_finding *f = visit_find(v, "handshake", DOCTOR_FAILURE);
        visit_what(f, "%.100s answers, but not as a known Redis server", store->where);
        visit_type(f, "check the host and the port of the URL");
        return false;
    }
    return true;
}

static bool select_database(visit *v)
{
    const doctor_server *store = &v->store;
    char                 command[40];

    if (store->config->database == 0)
        return true;
    (void)snprintf(command, sizeof command, "SELECT %lld", (long long)store->config->database);
    if (visit_ask(v, command) != NULL || v->is_dead)
        return !v->is_dead;
    doctor_finding *f = visit_find(v, "database", DOCTOR_FAILURE);
    visit_what(f, "database %lld cannot be selected: %.100s", (long long)store->config->database,
               v->link.text);
    visit_why(f, "a lock in another database is another lock, so bowline refuses");
    if (visit_is_denied(v))
        visit_type(f, "ACL SETUSER %.60s +select", visit_user(v));
    else
        visit_type(f, "CONFIG GET databases");
    return false;
}

bool visit_reach(visit *v)
{
    const doctor_server *store = &v->store;
    doctor_finding      *f;

    if (link_open(&v->link, store, LINK_AS_URL, v->target->client->host.settings.answer_ms) < 0) {
        report_unreachable(v);
        return false;
    }
    if (store->host != NULL) {
        f = visit_find(v, "resolve", DOCTOR_FINE);
        visit_what(f, "%.100s has %u address%s", store->host, v->link.addresses_count,
                   v->link.addresses_count == 1 ? "" : "es");
    }
    f = visit_find(v, "connect", DOCTOR_FINE);
    visit_what(f, "connected to %.100s",
               v->link.address[0] != '\0' ? v->link.address : store->where);
    if (store->config->tls != NULL)
        report_certificate(v);
    if (!handshake(v))
        return false;
    f = visit_find(v, "authentication", DOCTOR_FINE);
    visit_what(f, "logged in as user %.60s%s", visit_user(v),
               store->config->password == NULL ? ", without a password" : "");
    if (!v->asks_sentinel && store->config->password == NULL && store->host != NULL &&
        strcmp(v->link.address, "127.0.0.1") != 0 && strcmp(v->link.address, "::1") != 0) {
        f->grade = DOCTOR_WARNING;
        visit_why(f, "every client that reaches the port can delete locks");
        visit_type(f, "bowline acl, then put a URL with that user in a file: --url-file");
    }
    return select_database(v);
}
