/*
 * test_redis_connect.c -- from nothing to a connection: names and addresses.
 *
 * The addresses are sockets in the files, of which the test chooses which are listened at; names
 * are answered by a function of the test, which may take its time.  Attempts are counted, never
 * timed; where a time must end, the client is told that it is over, and this machine may be late.
 * The pauses between them: test_redis_connect_pauses.c.
 */
#include "redis_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>

/* ---- a name server of our own ---------------------------------------------------------------- */

enum { PLACES_MAX = 9 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t  changed;
    bool            holds_back; /* the answer                                                   */
    int             calls;
    uint16_t        port;  /* that is asked for in this test                                     */
    int             error; /* 0: the addresses below                                            */
    unsigned        count;
    uint16_t        ports[PLACES_MAX];
} names = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void free_found(struct addrinfo *found)
{
    while (found != NULL) {
        struct addrinfo *next = found->ai_next;
        free(found->ai_addr);
        free(found);
        found = next;
    }
}

static struct addrinfo *found_place(uint16_t port, struct addrinfo *next)
{
    struct addrinfo    *found = calloc(1, sizeof *found);
    struct sockaddr_in *at    = calloc(1, sizeof *at);

    if (found == NULL || at == NULL)
        abort();
    *at    = (struct sockaddr_in){ .sin_family      = AF_INET,
                                   .sin_port        = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    *found = (struct addrinfo){ .ai_family  = AF_INET,
                                .ai_addr    = (struct sockaddr *)at,
                                .ai_addrlen = sizeof *at,
                                .ai_next    = next };
    return found;
}

static int look_up(const char *host, const char *port, const struct addrinfo *hints,
                   struct addrinfo **ret_found)
{
    (void)host;
    if ((hints->ai_flags & AI_NUMERICHOST) != 0)
        return EAI_NONAME;
    pthread_mutex_lock(&names.mutex);
    if (atoi(port) != names.port) { /* a thread of the test before, which begins only now */
        pthread_mutex_unlock(&names.mutex);
        return EAI_AGAIN;
    }
    names.calls++;
    while (names.holds_back)
        pthread_cond_wait(&names.changed, &names.mutex);
    int error  = names.error;
    *ret_found = NULL;
    for (unsigned i = names.count; error == 0 && i > 0; i--)
        *ret_found = found_place(names.ports[i - 1], *ret_found);
    pthread_mutex_unlock(&names.mutex);
    return error;
}

static void hold_back(bool holds_back)
{
    pthread_mutex_lock(&names.mutex);
    names.holds_back = holds_back;
    pthread_cond_broadcast(&names.changed);
    pthread_mutex_unlock(&names.mutex);
}

/* The name has moved here. */
static void move_to(uint16_t port)
{
    pthread_mutex_lock(&names.mutex);
    names.ports[0] = port;
    names.count    = 1;
    pthread_mutex_unlock(&names.mutex);
}

static int calls(void)
{
    pthread_mutex_lock(&names.mutex);
    int count = names.calls;
    pthread_mutex_unlock(&names.mutex);
    return count;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* A socket of the loopback interface; `backlog` -1: nobody listens. */
static int make_place(int backlog, uint16_t *ret_port)
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    if (backlog >= 0)
        assert_int_equal(listen(fd, backlog), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* A place that swallows what it is sent: its queue is full, and the kernel drops the rest. */
static int make_hole(uint16_t *ret_port, int ret_fill[3])
{
    int fd = make_place(0, ret_port);

    for (int i = 0; i < 3; i++) {
        struct sockaddr_in at = { .sin_family      = AF_INET,
                                  .sin_port        = htons(*ret_port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        ret_fill[i]           = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(ret_fill[i], (struct sockaddr *)&at, sizeof at);
    }
    return fd;
}

static void close_hole(int fd, const int fill[3])
{
    for (int i = 0; i < 3; i++)
        (void)close(fill[i]);
    (void)close(fd);
}

/* ---- the client ------------------------------------------------------------------------------ */

static bwl_operation operation;

static void open_named(const char *options)
{
    pthread_mutex_lock(&names.mutex); /* the thread of a lookup that was forgotten may be there */
    names.port       = (uint16_t)(names.port + 1);
    names.calls      = 0;
    names.error      = 0;
    names.count      = 0;
    names.holds_back = false;
    pthread_mutex_unlock(&names.mutex);
    close_client();
    open_client(options);
    store->host     = strdup("redis.test");
    store->port     = names.port;
    store->resolver = (bwl_resolver){ look_up, free_found };
    (void)snprintf(store->where, sizeof store->where, "redis.test:6379");
}

static bwl_lock *ask(void)
{
    bwl_lock *lock = lock_named("n");

    bwl_lock_acquire(lock, &operation, 0);
    return lock;
}

static void drive_until_ended(void)
{
    while (operation.ended == BWL_PENDING)
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
}

static void drive_until(bwl_redis_phase phase)
{
    while (store->phase != phase)
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
}

static void assert_why(const bwl_lock *lock, const char *part)
{
    if (strstr(lock->why.text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, lock->why.text);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void test_redis_connect_name_is_looked_up_for_every_connection(void **state)
{
    uint16_t port;

    (void)state;
    open_named("lease=30s&timeout=5s");
    int place      = make_place(8, &names.ports[0]);
    port           = names.ports[0];
    names.count    = 1;
    bwl_lock *lock = ask();
    for (int round = 1; round < 4; round++) {
        drive_until(BWL_REDIS_GREETING);
        assert_int_equal(calls(), round);
        server = accept4(place, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        assert_true(server >= 0);
        says(HELLO INFO);
        turn();
        assert_int_equal(store->phase, BWL_REDIS_READY);
        says(round == 1 ? "+OK\r\n" : ":1\r\n");
        turn();
        assert_true(bwl_hold_is_held(&lock->hold));
        assert_int_equal(store->dialer.addresses_count, 1);
        hang_up();
        assert_int_equal(port, names.ports[0]);
        while (store->phase == BWL_REDIS_READY)
            assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
    }
    (void)close(place);
}

static void test_redis_connect_name_that_is_not_known_is_unreachable(void **state)
{
    (void)state;
    open_named("lease=30s&timeout=5s");
    names.error    = EAI_NONAME;
    bwl_lock *lock = ask();
    drive_until_ended();
    assert_int_equal(operation.ended, BWL_UNREACHABLE);
    assert_why(lock, "redis.test:6379: the host \"redis.test\" is not known");
    assert_null(store->dialer.resolve);
}

/* There is no way to stop a lookup: the next attempt waits for the same one. */
static void test_redis_connect_late_lookup_is_kept_for_the_next_attempt(void **state)
{
    uint16_t port;

    (void)state;
    open_named("lease=30s&timeout=40ms");
    hold_back(true);
    bwl_lock *lock = ask();
    drive_until_ended();
    assert_int_equal(operation.ended, BWL_UNREACHABLE);
    assert_why(lock, "the host was not found within 40 ms");
    (void)ask();
    drive_until_ended();
    assert_int_equal(operation.ended, BWL_UNREACHABLE);
    while (calls() == 0) /* its thread may be late */
        pass(1);
    assert_int_equal(calls(), 1);
    int place = make_place(8, &port);
    move_to(port);
    client->settings.answer_ms = 30000; /* what this machine is late with is no new attempt */
    (void)ask();
    hold_back(false);
    drive_until(BWL_REDIS_GREETING);
    assert_int_equal(calls(), 1);
    (void)close(place);
}

/* The answer to a lookup of long ago may be wrong by now. */
static void test_redis_connect_old_lookup_is_dropped(void **state)
{
    uint16_t port;

    (void)state;
    open_named("lease=30s&timeout=40ms");
    hold_back(true);
    (void)ask();
    drive_until_ended();
    hold_back(false);
    while (bwl_resolve_take(store->dialer.resolve, store->dialer.addresses, NULL) == 0)
        pass(1);
    client->settings.answer_ms = 30000;
    store->dialer.resolve_began_at -= 60000;
    int place = make_place(8, &port);
    move_to(port);
    (void)ask();
    drive_until(BWL_REDIS_GREETING);
    assert_int_equal(calls(), 2);
    (void)close(place);
}

/* Of the host that was there before: its answer is no address of the one that is there now. */
static void test_redis_connect_lookup_of_another_host_is_dropped(void **state)
{
    uint16_t port;

    (void)state;
    open_named("lease=30s&timeout=40ms");
    hold_back(true);
    (void)ask();
    drive_until_ended();
    while (calls() == 0)
        pass(1);
    assert_int_equal(bwl_redis_set_host(store, "other.test", names.port), BWL_OK);
    int place = make_place(8, &port);
    move_to(port);
    client->settings.answer_ms = 30000; /* what this machine is late with is no new attempt */
    (void)ask();
    hold_back(false);
    drive_until(BWL_REDIS_GREETING);
    assert_int_equal(calls(), 2);
    (void)close(place);
}

static void test_redis_connect_client_may_be_closed_during_a_lookup(void **state)
{
    (void)state;
    open_named("lease=30s&timeout=5s");
    hold_back(true);
    (void)ask();
    turn();
    assert_int_equal(store->phase, BWL_REDIS_RESOLVING);
    close_client();
    hold_back(false); /* its thread finds nobody, and ends */
    pass(20);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void test_redis_connect_address_that_swallows_leaves_time_for_the_next(void **state)
{
    int fill[2][3];

    (void)state;
    open_named("lease=30s&timeout=30s");
    int holes[2] = { make_hole(&names.ports[0], fill[0]), make_hole(&names.ports[1], fill[1]) };
    int place    = make_place(8, &names.ports[2]);
    names.count  = 3;
    (void)ask();
    while (store->phase != BWL_REDIS_GREETING && operation.ended == BWL_PENDING) {
        bwl_ms slot = store->phase_ends_at - store->phase_began_at;
        if (store->phase == BWL_REDIS_CONNECTING)
            assert_in_range(slot, 1, 30000 / (3 - store->dialer.address));
        if (store->phase == BWL_REDIS_CONNECTING && store->dialer.address < 2)
            client->latest = store->phase_ends_at;
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
    }
    assert_int_equal(store->phase, BWL_REDIS_GREETING);
    assert_int_equal(store->dialer.address, 2);
    assert_int_equal(store->opened, 3);
    for (int i = 0; i < 2; i++)
        close_hole(holes[i], fill[i]);
    (void)close(place);
}

static void test_redis_connect_addresses_end_within_the_time_of_one(void **state)
{
    int fill[3];

    (void)state;
    open_named("lease=30s&timeout=30s");
    int hole       = make_hole(&names.ports[0], fill);
    names.count    = 3;
    names.ports[1] = names.ports[0];
    names.ports[2] = names.ports[0];
    bwl_lock *lock = ask();
    drive_until(BWL_REDIS_CONNECTING);
    bwl_ms by = store->dialer.until;
    while (operation.ended == BWL_PENDING) {
        assert_true(store->phase_ends_at <= by);
        client->latest = store->phase_ends_at;
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
    }
    assert_int_equal(store->opened, 3);
    assert_int_equal(operation.ended, BWL_UNREACHABLE);
    assert_why(lock, "no answer within ");
    close_hole(hole, fill);
}

static void test_redis_connect_eight_addresses_are_tried(void **state)
{
    int places[PLACES_MAX];

    (void)state;
    open_named("lease=30s&timeout=5s");
    for (unsigned i = 0; i < PLACES_MAX; i++)
        places[i] = make_place(-1, &names.ports[i]);
    names.count    = PLACES_MAX;
    bwl_lock *lock = ask();
    drive_until_ended();
    assert_int_equal(operation.ended, BWL_UNREACHABLE);
    assert_why(lock, "Connection refused");
    assert_int_equal(store->opened, 8);
    for (unsigned i = 0; i < PLACES_MAX; i++)
        (void)close(places[i]);
}

/* ---- silence --------------------------------------------------------------------------------- */

/* A stopped server is silent too: nothing suggests TLS. */
static void test_redis_connect_silence_in_the_greeting_is_no_hint_of_tls(void **state)
{
    (void)state;
    open_named("lease=30s&timeout=30s");
    int place      = make_place(8, &names.ports[0]);
    names.count    = 1;
    bwl_lock *lock = ask();
    drive_until(BWL_REDIS_GREETING);
    client->settings.answer_ms = 40;
    store->phase_ends_at       = bwl_client_now(client) + 40;
    bwl_redis_set_timer(store);
    drive_until_ended();
    assert_string_equal(lock->why.text, "redis.test:6379: no answer within 40 ms");
    (void)close(place);
}

/* The server's side of a connection that is in its greeting. */
static bwl_lock *be_greeted(int *ret_place)
{
    open_named("lease=30s&timeout=5s");
    *ret_place     = make_place(8, &names.ports[0]);
    names.count    = 1;
    bwl_lock *lock = ask();
    drive_until(BWL_REDIS_GREETING);
    server = accept4(*ret_place, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return lock;
}

static void test_redis_connect_close_in_the_greeting_may_be_tls(void **state)
{
    int       place;
    bwl_lock *lock = be_greeted(&place);

    (void)state;
    hang_up();
    drive_until_ended();
    assert_int_equal(operation.ended, BWL_UNREACHABLE);
    assert_why(lock, ": if it speaks TLS, write rediss://");
    (void)close(place);
}

static void test_redis_connect_other_protocols_are_refused(void **state)
{
    static const char *const first[] = { "HTTP/1.1 400 Bad Request\r\n", "SSH-2.0-OpenSSH\r\n",
                                         "220 mail ESMTP\r\n", "\x4a\x01\x02" };

    for (size_t i = 0; i < COUNT_OF(first); i++) {
        int       place;
        bwl_lock *lock = be_greeted(&place);
        assert_int_equal(send(server, first[i], strlen(first[i]), MSG_NOSIGNAL), strlen(first[i]));
        drive_until_ended();
        assert_int_equal(operation.ended, BWL_STORE_REFUSED);
        assert_string_equal(lock->why.text,
                            "redis.test:6379: what answers there is not a Redis server");
        (void)close(place);
        (void)play_is_over(state);
        (void)play(state);
    }
}

static void test_redis_connect_alert_in_the_greeting_is_tls(void **state)
{
    (void)state;
    open_named("lease=30s&timeout=5s");
    int place      = make_place(8, &names.ports[0]);
    names.count    = 1;
    bwl_lock *lock = ask();
    drive_until(BWL_REDIS_GREETING);
    server = accept4(place, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_int_equal(send(server, "\x15\x03\x01\x00\x02\x02\x46", 7, MSG_NOSIGNAL), 7);
    turn();
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_why(lock, "redis.test:6379: this is a port for TLS: write rediss://");
    (void)close(place);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_connect_name_is_looked_up_for_every_connection),
        CASE(test_redis_connect_name_that_is_not_known_is_unreachable),
        CASE(test_redis_connect_late_lookup_is_kept_for_the_next_attempt),
        CASE(test_redis_connect_old_lookup_is_dropped),
        CASE(test_redis_connect_lookup_of_another_host_is_dropped),
        CASE(test_redis_connect_client_may_be_closed_during_a_lookup),
        CASE(test_redis_connect_address_that_swallows_leaves_time_for_the_next),
        CASE(test_redis_connect_addresses_end_within_the_time_of_one),
        CASE(test_redis_connect_eight_addresses_are_tried),
        CASE(test_redis_connect_silence_in_the_greeting_is_no_hint_of_tls),
        CASE(test_redis_connect_close_in_the_greeting_may_be_tls),
        CASE(test_redis_connect_other_protocols_are_refused),
        CASE(test_redis_connect_alert_in_the_greeting_is_tls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
