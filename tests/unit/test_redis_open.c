/*
 * test_redis_open.c -- from a URL to a store: where it is, who we are, which keys.
 *
 * Nothing is sent, nothing is connected and nothing is looked up.  The password file is written in
 * every wrong way that somebody will.
 */
#include "engine/redis/redis.h"
#include "api/engines.h"
#include "runtime/lock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

#define SECRET         "hunter2"

static bwl_shard   *client;
static bwl_session *store;
static bwl_fault    fault;
static char         directory[64];
static char         password_file[80];

/* pread(2), in front of libc's: as it is on a file system of a network, interrupted or short, where
 * a test wants that. */
static bool     reads_badly;
static unsigned reads;

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    reads++;
    if (reads_badly && reads % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_pread64, fd, bytes, reads_badly && size > 3 ? 3 : size, at);
}

static int no_client(void **state)
{
    (void)state;
    client      = NULL;
    reads       = 0;
    reads_badly = false;
    (void)snprintf(directory, sizeof directory, "/tmp/bowline-open-XXXXXX");
    assert_non_null(mkdtemp(directory));
    (void)snprintf(password_file, sizeof password_file, "%s/password", directory);
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    if (client != NULL)
        bwl_shard_close(client);
    client = NULL;
    (void)unlink(password_file);
    (void)rmdir(password_file);
    assert_int_equal(rmdir(directory), 0);
    return 0;
}

static int open_url(const char *url)
{
    static const bwl_settings nothing;

    if (client != NULL)
        bwl_shard_close(client);
    client     = NULL;
    fault      = (bwl_fault){ 0 };
    int status = bwl_shard_open(&client, bwl_engines, &nothing, false, url, &fault);
    store      = status == BWL_OK ? bwl_redis_of(&client->host)->router.sessions : NULL;
    return status;
}

/* ---- where it is ----------------------------------------------------------------------------- */

static void assert_place(const char *url, const char *host, unsigned port, int64_t database)
{
    print_message("# %s\n", url);
    assert_int_equal(open_url(url), BWL_OK);
    assert_string_equal(store->endpoint.host, host);
    assert_int_equal(store->endpoint.port, port);
    assert_int_equal(store->config->database, database);
}

static void test_redis_open_takes_host_port_and_database(void **state)
{
    (void)state;
    assert_place("redis://127.0.0.1", "127.0.0.1", 6379, 0);
    assert_string_equal(store->endpoint.text, "127.0.0.1:6379");
    assert_place("redis://127.0.0.2:1/", "127.0.0.2", 1, 0);
    assert_place("redis://127.0.0.1:65535/3", "127.0.0.1", 65535, 3);
    assert_string_equal(store->endpoint.text, "127.0.0.1:65535");
    assert_place("redis://127.0.0.1/65535", "127.0.0.1", 6379, 65535);
    assert_place("redis://127.0.0.1?db=4", "127.0.0.1", 6379, 4);
    assert_place("redis://127.0.0.1/3?db=4", "127.0.0.1", 6379, 4);
}

static void test_redis_open_takes_an_ipv6_address(void **state)
{
    (void)state;
    assert_place("redis://[::1]:6380", "::1", 6380, 0);
}

static void test_redis_open_takes_a_socket_in_the_files(void **state)
{
    (void)state;
    assert_int_equal(open_url("unix:///run/re%20dis.sock?db=2"), BWL_OK);
    const struct sockaddr_un *to =
        (const struct sockaddr_un *)&store->link.dialer.addresses[0].socket;
    assert_int_equal(to->sun_family, AF_UNIX);
    assert_string_equal(to->sun_path, "/run/re dis.sock");
    assert_string_equal(store->endpoint.text, "/run/re dis.sock");
    assert_int_equal(store->config->database, 2);
    assert_int_equal(store->link.dialer.addresses_count, 1);
}

static void test_redis_open_path_of_a_socket_fits_or_is_refused(void **state)
{
    char url[160] = "unix://";

    (void)state;
    memset(url + 7, '/', 107);
    assert_int_equal(open_url(url), BWL_OK);
    url[7 + 107] = '/';
    assert_int_equal(open_url(url), BWL_STATUS_USAGE);
    assert_non_null(strstr(fault.text, "107 bytes"));
}

static void test_redis_open_connects_to_nothing(void **state)
{
    (void)state;
    assert_int_equal(open_url("redis://127.0.0.1:1"), BWL_OK);
    assert_int_equal(store->phase, BWL_SESSION_DOWN);
    assert_false(bwl_stream_is_open(&store->link.conn.stream));
    assert_int_equal(client->host.reactor.epoll_fd, -1);
}

/* Looked up when there is something to ask: see test_redis_connect.c. */
static void test_redis_open_looks_nothing_up(void **state)
{
    (void)state;
    assert_place("redis://no.such.host.invalid", "no.such.host.invalid", 6379, 0);
    assert_null(store->link.dialer.resolve);
}

static void test_redis_open_name_of_a_host_has_255_characters_at_most(void **state)
{
    char url[300] = "redis://";

    (void)state;
    memset(url + 8, 'h', 255);
    assert_int_equal(open_url(url), BWL_OK);
    url[8 + 255] = 'h';
    assert_int_equal(open_url(url), BWL_STATUS_USAGE);
    assert_non_null(strstr(fault.text, "255"));
}

/* ---- TLS ------------------------------------------------------------------------------------- */

/* What is wrong with an address of TLS is said at once, and where. */
static void test_redis_open_bad_addresses_of_tls(void **state)
{
    static const struct {
        const char *url;
        int         status;
        const char *part;
    } list[] = {
        { "redis://127.0.0.1?ca=/x", BWL_STATUS_USAGE, "no option \"ca\": TLS is rediss://" },
        { "redis://127.0.0.1?cert=/x", BWL_STATUS_USAGE, "no option \"cert\"" },
        { "redis://127.0.0.1?cert-key=/x", BWL_STATUS_USAGE, "no option \"cert-key\"" },
        { "unix:///s?ca=/x", BWL_STATUS_USAGE, "no option \"ca\"" },
        { "rediss:", BWL_STATUS_USAGE, "rediss: takes a host" },
        { "rediss://", BWL_STATUS_USAGE, "rediss: takes a host" },
        { "rediss:///2", BWL_STATUS_USAGE, "rediss: takes a host" },
        { "rediss://:6380", BWL_STATUS_USAGE, "rediss: takes a host" },
        { "rediss://a%20b", BWL_STATUS_USAGE, "no certificate can be checked" },
        { "rediss://.redis.test", BWL_STATUS_USAGE, "no certificate can be checked" },
        { "rediss://h?nonsense=1", BWL_STATUS_USAGE, "rediss: has no option" },
        { "rediss://h?ca=/no/such/file", BWL_STATUS_SYSTEM, "CA file /no/such/file: No such" },
        { "rediss://h?ca=/", BWL_STATUS_REFUSED, "CA file / is no regular file" },
        { "rediss://h?ca=/etc/passwd", BWL_STATUS_REFUSED, "cannot use the CA file /etc/passwd" },
        { "rediss://h?cert=/no/such/file", BWL_STATUS_SYSTEM, "certificate file /no/such/file" },
        { "rediss://h?cert-key=/x", BWL_STATUS_USAGE, "no certificate that it belongs to" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        print_message("# %s\n", list[i].url);
        assert_int_equal(open_url(list[i].url), list[i].status);
        assert_int_equal(fault.status, list[i].status);
        if (strstr(fault.text, list[i].part) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", list[i].part, fault.text);
    }
}

static void test_redis_open_takes_an_address_of_tls(void **state)
{
    (void)state;
    assert_place("rediss://redis.test", "redis.test", 6379, 0);
    assert_non_null(store->config->tls);
    assert_ptr_equal(store->link.conn.stream.context, store->config->tls);
    assert_string_equal(store->link.conn.stream.host, "redis.test");
    assert_place("rediss://u:" SECRET "@[::1]:6380/3?lease=1s", "::1", 6380, 3);
    assert_place("redis://redis.test", "redis.test", 6379, 0);
    assert_null(store->config->tls);
    assert_null(store->link.conn.stream.context);
}

/* ---- who we are ------------------------------------------------------------------------------ */

static void assert_identity(const char *user, const char *password)
{
    assert_int_equal(store->config->user == NULL, user == NULL);
    assert_int_equal(store->config->password == NULL, password == NULL);
    if (user != NULL)
        assert_string_equal(store->config->user, user);
    if (password != NULL)
        assert_string_equal(store->config->password, password);
}

static void test_redis_open_takes_user_and_password(void **state)
{
    (void)state;
    assert_int_equal(open_url("redis://127.0.0.1"), BWL_OK);
    assert_identity(NULL, NULL);
    assert_int_equal(open_url("redis://ann:" SECRET "@127.0.0.1"), BWL_OK);
    assert_identity("ann", SECRET);
    assert_int_equal(open_url("redis://:" SECRET "@127.0.0.1"), BWL_OK);
    assert_identity(NULL, SECRET);
    assert_int_equal(open_url("redis://ann:@127.0.0.1"), BWL_OK);
    assert_identity("ann", "");
}

static void write_file(const char *text, size_t size, mode_t mode)
{
    FILE *file = fopen(password_file, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(password_file, mode), 0);
}

static int open_with_file(const char *before)
{
    char url[200];

    (void)snprintf(url, sizeof url, "redis://%s127.0.0.1?password-file=%s", before, password_file);
    return open_url(url);
}

static void test_redis_open_password_is_the_first_line_of_its_file(void **state)
{
    static const char *const list[] = { SECRET, SECRET "\n", SECRET "\r\n", SECRET "\nmore\n" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        write_file(list[i], strlen(list[i]), 0600);
        assert_int_equal(open_with_file(""), BWL_OK);
        assert_identity(NULL, SECRET);
    }
    assert_int_equal(open_with_file("ann@"), BWL_OK);
    assert_identity("ann", SECRET);
    assert_int_equal(chmod(password_file, 0400), 0);
    assert_int_equal(open_with_file(""), BWL_OK);
}

static void test_redis_open_password_comes_whole_however_it_is_read(void **state)
{
    static char text[4096];

    (void)state;
    reads_badly = true;
    write_file(SECRET "\n", strlen(SECRET) + 1, 0600);
    assert_int_equal(open_with_file(""), BWL_OK);
    assert_true(reads > 2);
    assert_identity(NULL, SECRET);
    memset(text, 'p', sizeof text);
    write_file(text, 4095, 0600);
    assert_int_equal(open_with_file(""), BWL_OK);
    assert_int_equal(strlen(store->config->password), 4095);
    write_file(text, 4096, 0600);
    assert_int_equal(open_with_file(""), BWL_STATUS_REFUSED);
}

static void test_redis_open_password_file_that_others_may_read_is_refused(void **state)
{
    static const mode_t modes[] = { 0640, 0604, 0620, 0601, 0644 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        write_file(SECRET, strlen(SECRET), modes[i]);
        assert_int_equal(open_with_file(""), BWL_STATUS_REFUSED);
        assert_non_null(strstr(fault.text, "chmod 600"));
        assert_null(strstr(fault.text, SECRET));
    }
}

static void test_redis_open_password_file_is_a_file(void **state)
{
    (void)state;
    assert_int_equal(open_with_file(""), BWL_STATUS_SYSTEM);
    assert_non_null(strstr(fault.text, "cannot open the password file"));
    assert_int_equal(mkdir(password_file, 0700), 0);
    assert_int_equal(open_with_file(""), BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "no regular file"));
    assert_int_equal(rmdir(password_file), 0);
    assert_int_equal(mkfifo(password_file, 0600), 0); /* which nobody writes: must not block */
    assert_int_equal(open_with_file(""), BWL_STATUS_REFUSED);
}

static void test_redis_open_password_of_a_file_is_not_empty_and_not_too_long(void **state)
{
    static char text[4097];

    (void)state;
    memset(text, 'p', sizeof text);
    write_file("", 0, 0600);
    assert_int_equal(open_with_file(""), BWL_STATUS_REFUSED);
    write_file("\n" SECRET, 8, 0600);
    assert_int_equal(open_with_file(""), BWL_STATUS_REFUSED);
    write_file(text, 4095, 0600);
    assert_int_equal(open_with_file(""), BWL_OK);
    assert_int_equal(strlen(store->config->password), 4095);
    write_file(text, 4096, 0600);
    assert_int_equal(open_with_file(""), BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "empty or too long"));
}

/* ---- which keys ------------------------------------------------------------------------------ */

static void test_redis_open_takes_a_key_template(void **state)
{
    (void)state;
    assert_int_equal(open_url("redis://127.0.0.1?key=lock:%25s"), BWL_OK);
    assert_string_equal(store->config->key_template, "lock:%s");
    assert_int_equal(open_url("redis://127.0.0.1?protocol=token"), BWL_OK);
    assert_null(store->config->key_template);
}

/* ---- who may wait ---------------------------------------------------------------------------- */

static void test_redis_open_takes_a_bound_of_the_queue(void **state)
{
    (void)state;
    assert_int_equal(open_url("redis://127.0.0.1?protocol=queue"), BWL_OK);
    assert_int_equal(store->config->queue_max, 10000);
    assert_int_equal(open_url("redis://127.0.0.1?protocol=queue&queue-max=5"), BWL_OK);
    assert_int_equal(store->config->queue_max, 5);
    assert_int_equal(open_url("redis://127.0.0.1?protocol=queue&queue-max=0"), BWL_OK);
    assert_int_equal(store->config->queue_max, 0);
    assert_int_equal(open_url("redis://127.0.0.1?protocol=queue&queue-max=1000000000"), BWL_OK);
    assert_int_equal(store->config->queue_max, 1000000000);
}

static void test_redis_open_takes_how_often_threads_hand_it_on(void **state)
{
    const bwl_settings *settings;

    (void)state;
    assert_int_equal(open_url("redis://127.0.0.1"), BWL_OK);
    settings = &store->host->settings;
    assert_int_equal(settings->turns_max, 64);
    assert_int_equal(settings->turns_ms, 100);
    assert_int_equal(open_url("redis://127.0.0.1?turns=1"), BWL_OK);
    assert_int_equal(store->host->settings.turns_max, 1);
    assert_int_equal(open_url("redis://127.0.0.1?turns=1024&turns-time=2s"), BWL_OK);
    assert_int_equal(store->host->settings.turns_max, 1024);
    assert_int_equal(store->host->settings.turns_ms, 2000);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_redis_open_spins_unless_the_url_says_no(void **state)
{
    static const bwl_settings spinning = { .spins = true };
    static const char *const  urls[]   = { "redis://h", "redis://h?spin=off" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        assert_int_equal(bwl_shard_open(&client, bwl_engines, &spinning, false, urls[i], &fault),
                         BWL_OK);
        store = bwl_redis_of(&client->host)->router.sessions;
        assert_int_equal(store->link.spin.is_off, i == 1);
        bwl_shard_close(client);
        client = NULL;
    }
}

static void test_redis_open_refuses_with_its_reason_and_without_the_password(void **state)
{
    static const struct {
        const char *url;
        int         status;
        const char *word;
    } list[] = {
        { "redis:", BWL_STATUS_USAGE, "takes a host" },
        { "redis://", BWL_STATUS_USAGE, "takes a host" },
        { "redis:///3", BWL_STATUS_USAGE, "takes a host" },
        { "redis://u:" SECRET "@", BWL_STATUS_USAGE, "takes a host" },
        { "redis://u:" SECRET "@127.0.0.1/x", BWL_STATUS_USAGE, "database is a number" },
        { "redis://127.0.0.1/65536", BWL_STATUS_USAGE, "database is a number" },
        { "redis://127.0.0.1/2/3", BWL_STATUS_USAGE, "database is a number" },
        { "redis://127.0.0.1?db=", BWL_STATUS_USAGE, "database is a number" },
        { "redis://127.0.0.1?db=-1", BWL_STATUS_USAGE, "database is a number" },
        { "redis://u@127.0.0.1", BWL_STATUS_USAGE, "user without a password" },
        { "redis://u:" SECRET "@127.0.0.1?password-file=/x", BWL_STATUS_USAGE, "as well" },
        { "redis://u:" SECRET "@127.0.0.1?key=x", BWL_STATUS_USAGE, "key=" },
        { "redis://127.0.0.1?key=%25d", BWL_STATUS_USAGE, "key=" },
        { "redis://u:" SECRET "@127.0.0.1?protocol=redlock", BWL_STATUS_UNSUPPORTED, "redlock" },
        { "redis://u:" SECRET "@127.0.0.1?nonsense=1", BWL_STATUS_USAGE, "nonsense" },
        { "redis://127.0.0.1?db=1&db=1", BWL_STATUS_USAGE, "twice" },
        { "redis://127.0.0.1?protocol=queue&queue-max=", BWL_STATUS_USAGE, "is a number" },
        { "redis://127.0.0.1?protocol=queue&queue-max=-1", BWL_STATUS_USAGE, "is a number" },
        { "redis://127.0.0.1?protocol=queue&queue-max=1000000001", BWL_STATUS_USAGE,
          "is a number" },
        { "redis://127.0.0.1?protocol=token&queue-max=5", BWL_STATUS_USAGE, "only protocol=queue" },
        { "redis://127.0.0.1?turns=0", BWL_STATUS_USAGE, "from 1 to 1024" },
        { "redis://127.0.0.1?turns=1025", BWL_STATUS_USAGE, "from 1 to 1024" },
        { "redis://127.0.0.1?turns=", BWL_STATUS_USAGE, "from 1 to 1024" },
        { "redis://127.0.0.1?turns-time=0s", BWL_STATUS_USAGE, "duration" },
        { "redis://127.0.0.1?turns-time=5", BWL_STATUS_USAGE, "duration" },
        { "redis://127.0.0.1?protocol=token&turns=5", BWL_STATUS_USAGE, "turns=: only" },
        { "redis://127.0.0.1?protocol=token&turns-time=5s", BWL_STATUS_USAGE, "turns-time=: only" },
        { "redis://127.0.0.1?sync=1&timeout=249ms", BWL_STATUS_USAGE, "timeout= of 250 ms" },
        { "redis://127.0.0.1?sync=1&lease=600ms", BWL_STATUS_USAGE, "three times that" },
        { "unix:", BWL_STATUS_USAGE, "path of a socket" },
        { "unix://", BWL_STATUS_USAGE, "path of a socket" },
        { "unix://run/redis.sock", BWL_STATUS_USAGE, "path of a socket" },
        { "unix:///x?db=x", BWL_STATUS_USAGE, "database is a number" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        print_message("# %s\n", list[i].url);
        assert_int_equal(open_url(list[i].url), list[i].status);
        assert_int_equal(fault.status, list[i].status);
        assert_non_null(strstr(fault.text, list[i].word));
        assert_null(strstr(fault.text, SECRET));
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, no_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_open_takes_host_port_and_database),
        CASE(test_redis_open_takes_an_ipv6_address),
        CASE(test_redis_open_takes_a_socket_in_the_files),
        CASE(test_redis_open_path_of_a_socket_fits_or_is_refused),
        CASE(test_redis_open_connects_to_nothing),
        CASE(test_redis_open_looks_nothing_up),
        CASE(test_redis_open_name_of_a_host_has_255_characters_at_most),
        CASE(test_redis_open_bad_addresses_of_tls),
        CASE(test_redis_open_takes_an_address_of_tls),
        CASE(test_redis_open_takes_user_and_password),
        CASE(test_redis_open_password_is_the_first_line_of_its_file),
        CASE(test_redis_open_password_comes_whole_however_it_is_read),
        CASE(test_redis_open_password_file_that_others_may_read_is_refused),
        CASE(test_redis_open_password_file_is_a_file),
        CASE(test_redis_open_password_of_a_file_is_not_empty_and_not_too_long),
        CASE(test_redis_open_takes_a_key_template),
        CASE(test_redis_open_takes_a_bound_of_the_queue),
        CASE(test_redis_open_takes_how_often_threads_hand_it_on),
        CASE(test_redis_open_spins_unless_the_url_says_no),
        CASE(test_redis_open_refuses_with_its_reason_and_without_the_password),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
