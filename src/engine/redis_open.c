/*
 * redis_open.c -- from a URL to a store.  See redis_store.h.
 */
#include "engine/redis_store.h"
#include "core/text.h"
#include "engine/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PORT_DEFAULT      = 6379,
    DATABASE_MAX      = 65535,
    PASSWORD_MAX      = 4096,
    LAST_WORDS_MS     = 100,
    QUEUE_DEFAULT_MAX = 10000,
    QUEUE_MAX         = 1000000000,
};

static int copy(char **ret_copy, const char *text, bwl_fault *fault)
{
    *ret_copy = strdup(text);
    return *ret_copy != NULL ? BWL_OK : bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
}

/* ---- where it is ----------------------------------------------------------------------------- */

static int add_socket_file(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    struct sockaddr_un *to   = (struct sockaddr_un *)&store->addresses[0].socket;
    size_t              size = strlen(url->path);

    if (size == 0 || (url->host != NULL && url->host[0] != '\0'))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "unix: takes the path of a socket: unix:///run/redis/redis.sock");
    if (size >= sizeof to->sun_path)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the path of a socket has at most %zu bytes",
                        sizeof to->sun_path - 1);
    to->sun_family = AF_UNIX;
    memcpy(to->sun_path, url->path, size + 1);
    store->addresses[0].size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
    store->addresses_count   = 1;
    (void)snprintf(store->where, sizeof store->where, "%.100s", url->path);
    return BWL_OK;
}

/* The name is looked up when there is something to ask, every time anew: see redis_connect.c. */
static int take_host(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    if (url->host == NULL || url->host[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s: takes a host: %s://127.0.0.1:6379",
                        url->scheme, url->scheme);
    if (strlen(url->host) > BWL_RESOLVE_HOST_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a host has at most %d characters",
                        BWL_RESOLVE_HOST_MAX);
    store->port = url->port != 0 ? url->port : PORT_DEFAULT;
    (void)snprintf(store->where, sizeof store->where, "%.100s:%u", url->host,
                   (unsigned)store->port);
    return copy(&store->host, url->host, fault);
}

static int take_database(bwl_redis_store *store, const char *text, bwl_fault *fault)
{
    uint64_t number;

    if (!bwl_number_parse(&number, text, strlen(text), DATABASE_MAX))
        return bwl_fail(fault, BWL_STATUS_USAGE, "a Redis database is a number: redis://HOST/2");
    store->database = (int64_t)number;
    return BWL_OK;
}

static int take_place(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    bool        is_file = strcmp(url->scheme, "unix") == 0;
    const char *path    = url->path;
    const char *option  = bwl_url_find(url, "db");
    int status = is_file ? add_socket_file(store, url, fault) : take_host(store, url, fault);

    if (status == BWL_OK && option != NULL)
        status = take_database(store, option, fault);
    else if (status == BWL_OK && !is_file && path[0] == '/' && path[1] != '\0')
        status = take_database(store, path + 1, fault);
    return status;
}

/* ---- who we are ------------------------------------------------------------------------------ */

/* A file that others may read has no secret in it. */
static int check_private(int fd, const char *name, bwl_fault *fault)
{
    struct stat about;

    if (fstat(fd, &about) != 0)
        return bwl_fail_errno(fault, "cannot look at the password file %.100s", name);
    if (!S_ISREG(about.st_mode))
        return bwl_fail(fault, BWL_STATUS_REFUSED, "the password file %.100s is no regular file",
                        name);
    if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "the password file %.100s can be read by others: chmod 600 it", name);
    return BWL_OK;
}

/* Up to the end of the file or of the room: a read may be interrupted, or bring less.  -1: see
 * errno. */
static ssize_t read_all(int fd, char *bytes, size_t room)
{
    size_t size = 0;

    while (size < room) {
        ssize_t got = read(fd, bytes + size, room - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        size += (size_t)got;
    }
    return (ssize_t)size;
}

static int read_password(char **ret_password, const char *name, bwl_fault *fault)
{
    char    text[PASSWORD_MAX + 1];
    ssize_t size = -1;
    int     fd;

    do
        fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return bwl_fail_errno(fault, "cannot open the password file %.100s", name);
    int status = check_private(fd, name, fault);
    if (status < 0)
        goto out;
    size = read_all(fd, text, PASSWORD_MAX);
    if (size < 0) {
        status = bwl_fail_errno(fault, "cannot read the password file %.100s", name);
        goto out;
    }
    text[size]                  = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (text[0] == '\0' || size == PASSWORD_MAX)
        status = bwl_fail(fault, BWL_STATUS_REFUSED,
                          "the first line of the password file %.100s is empty or too long", name);
    else
        status = copy(ret_password, text, fault);
out:
    explicit_bzero(text, sizeof text);
    (void)close(fd);
    return status;
}

static int take_identity(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    const char *file   = bwl_url_find(url, "password-file");
    int         status = BWL_OK;

    if (file != NULL && url->password != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "there is a password in the URL and a password-file= as well");
    if (url->user != NULL && url->user[0] != '\0')
        status = copy(&store->user, url->user, fault);
    if (status == BWL_OK && url->password != NULL)
        status = copy(&store->password, url->password, fault);
    if (status == BWL_OK && file != NULL)
        status = read_password(&store->password, file, fault);
    if (status == BWL_OK && store->user != NULL && store->password == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the URL names a user without a password: write USER:PASSWORD@ or give "
                        "password-file=");
    return status;
}

/* ---- TLS ------------------------------------------------------------------------------------- */

/* Everything that can be known to be wrong is said when the client is opened. */
static int take_tls(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    bwl_tls_options options = { .ca_file   = bwl_url_find(url, BWL_TLS_OPTION_CA),
                                .cert_file = bwl_url_find(url, BWL_TLS_OPTION_CERT),
                                .key_file  = bwl_url_find(url, BWL_TLS_OPTION_KEY) };
    bwl_tls        *tls     = NULL;
    int             status  = bwl_tls_context_new(&store->tls, &options, fault);

    if (status < 0)
        return status;
    status = bwl_tls_start(&tls, store->tls, store->host, fault); /* can such a host be checked? */
    bwl_tls_free(tls);
    if (status == BWL_OK)
        bwl_conn_secure(&store->conn, store->tls, store->host);
    return status;
}

/* ---- which keys ------------------------------------------------------------------------------ */

static int take_keys(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    const char *template = bwl_url_find(url, "key");
    const char *wrong    = template != NULL ? bwl_key_template_fault(template) : NULL;

    if (wrong != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, key=: %s", wrong);
    int status = bwl_redis_take_profile(store, url, fault);
    if (status < 0)
        return status;
    if (template == NULL && store->profile != NULL)
        template = store->profile->key;
    return template != NULL ? copy(&store->key_template, template, fault) : BWL_OK;
}

/* ---- who may wait ---------------------------------------------------------------------------- */

static int take_queue(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    const char *text = bwl_url_find(url, "queue-max");
    uint64_t    max  = QUEUE_DEFAULT_MAX;

    if (text != NULL && !bwl_redis_listens(store))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, queue-max=: only protocol=queue has a queue on the server");
    if (text != NULL && !bwl_number_parse(&max, text, strlen(text), QUEUE_MAX))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, queue-max= is a number up to %d; 0: any number may wait",
                        QUEUE_MAX);
    store->queue_max = (uint32_t)max;
    return BWL_OK;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void wipe(char *secret)
{
    if (secret != NULL)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

static void free_store(bwl_redis_store *store)
{
    bwl_conn_free(&store->conn);
    if (!store->borrows_tls)
        bwl_tls_context_free(store->tls);
    bwl_resolve_forget(store->resolve);
    free(store->host);
    wipe(store->user);
    wipe(store->password);
    free(store->key_template);
    free(store->questions);
    free(store->waiters);
    free(store);
}

static void prepare_conn(bwl_redis_store *store)
{
    bwl_conn_init(&store->conn, &store->client->reactor, bwl_redis_ready);
    store->conn.silence_ms = store->client->settings.answer_ms;
}

static int check_options(const bwl_url *url, bool is_tls, bwl_fault *fault)
{
    static const char *const known[] = {
        BWL_SETTINGS_OPTIONS, "protocol", "profile",   "accept-risk",     "key",
        "password-file",      "db",       "queue-max", BWL_TLS_OPTION_CA, BWL_TLS_OPTION_CERT,
        BWL_TLS_OPTION_KEY,   NULL
    };
    static const char *const for_tls[] = { BWL_TLS_OPTION_CA, BWL_TLS_OPTION_CERT,
                                           BWL_TLS_OPTION_KEY };

    for (unsigned i = 0; !is_tls && i < sizeof for_tls / sizeof for_tls[0]; i++)
        if (bwl_url_find(url, for_tls[i]) != NULL)
            return bwl_fail(fault, BWL_STATUS_USAGE, "%s: has no option \"%s\": TLS is rediss://",
                            url->scheme, for_tls[i]);
    return bwl_url_check_options(url, known, fault);
}

int bwl_redis_open(bwl_client *client, const bwl_url *url, bwl_fault *fault)
{
    bool is_tls = strcmp(url->scheme, "rediss") == 0;
    int  status = check_options(url, is_tls, fault);

    if (status < 0)
        return status;
    bwl_redis_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    store->client = client;
    store->phase  = BWL_REDIS_DOWN;
    prepare_conn(store);
    if ((status = take_place(store, url, fault)) < 0 ||
        (status = take_identity(store, url, fault)) < 0 ||
        (status = take_keys(store, url, fault)) < 0 ||
        (status = take_queue(store, url, fault)) < 0 ||
        (is_tls && (status = take_tls(store, url, fault)) < 0)) {
        free_store(store);
        return status;
    }
    client->store = store;
    return BWL_OK;
}

static char *copy_of(const char *text, bool *all)
{
    char *copied = text != NULL ? strdup(text) : NULL;

    *all = *all && (text == NULL || copied != NULL);
    return copied;
}

int bwl_redis_share(bwl_client *client, const bwl_client *first)
{
    const bwl_redis_store *its   = first->store;
    bwl_redis_store       *store = calloc(1, sizeof *store);
    bool                   all   = true;

    if (store == NULL)
        return BWL_STATUS_NOMEM;
    store->client          = client;
    store->phase           = BWL_REDIS_DOWN;
    store->addresses_count = its->host != NULL ? 0 : its->addresses_count;
    store->port            = its->port;
    store->resolver        = its->resolver;
    store->tls             = its->tls; /* which the first one frees, as it is closed last */
    store->borrows_tls     = true;
    store->database        = its->database;
    store->queue_max       = its->queue_max;
    store->profile         = its->profile;
    if (its->host == NULL)
        memcpy(store->addresses, its->addresses, sizeof store->addresses);
    memcpy(store->where, its->where, sizeof store->where);
    prepare_conn(store);
    store->host         = copy_of(its->host, &all);
    store->user         = copy_of(its->user, &all);
    store->password     = copy_of(its->password, &all);
    store->key_template = copy_of(its->key_template, &all);
    if (!all) {
        free_store(store);
        return BWL_STATUS_NOMEM;
    }
    if (store->tls != NULL)
        bwl_conn_secure(&store->conn, store->tls, store->host);
    client->store = store;
    return BWL_OK;
}

/* Takes answers until the server has read all that it was sent, and closes; for a moment. */
static void await_end(bwl_client *client, int fd)
{
    struct pollfd something = { .fd = fd, .events = POLLIN };
    char          bytes[512];
    bwl_ms        end = bwl_client_now(client) + LAST_WORDS_MS;

    while (bwl_client_now(client) < end && poll(&something, 1, LAST_WORDS_MS) > 0 &&
           recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
}

/* The releases of a client that closes, to the kernel, if the server takes them within a moment. */
static void send_last_words(bwl_redis_store *store)
{
    bwl_conn *conn = &store->conn;

    if (bwl_redis_listens(store))
        bwl_redis_take_leave(store);
    while (bwl_conn_flush(conn, NULL) == BWL_OK && conn->out_size > 0) {
        struct pollfd room = { .fd = conn->source.fd, .events = POLLOUT };
        if (poll(&room, 1, LAST_WORDS_MS) <= 0)
            return; /* what was not sent ends with its lease */
    }
    bwl_conn_goodbye(conn);
    /* Closed with answers unread, the line would be reset, and what the server has not read yet of
     * our releases with it. */
    bool is_answered = store->phase == BWL_REDIS_READY && store->questions_count == 0;
    if ((store->lingers || !is_answered) && shutdown(conn->source.fd, SHUT_WR) == 0)
        await_end(store->client, conn->source.fd);
}

void bwl_redis_close(bwl_client *client)
{
    bwl_redis_store *store = client->store;
    /* A greeting that is under way says who we are, which is to be taken back. */
    bool has_spoken = store->phase == BWL_REDIS_READY ||
                      (store->phase == BWL_REDIS_GREETING && bwl_redis_listens(store));

    if (client->closing && has_spoken)
        send_last_words(store);
    free_store(store);
    client->store = NULL;
}
