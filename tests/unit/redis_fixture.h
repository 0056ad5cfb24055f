/*
 * redis_fixture.h -- a client of the Redis engine, and a server that is played by the test, line by
 * line, in the same thread: a unix socket in a directory of its own.
 *
 * The client does something only when the test turns it.  What it has sent is compared byte for
 * byte with commands written as lines of words; "@NAME" is the sum of a script, "#NAME" its text.
 * A spy stands before the protocol and writes down what each lock was told of its questions.  The
 * client is closed after the test: an operation that may still be under way then must not be on its
 * stack.
 */
#ifndef REDIS_FIXTURE_H
#define REDIS_FIXTURE_H

#include "engine/redis/session/session.h"
#include "engine/redis/wire/scripts.h"
#include "runtime/engines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

#define NOTHING        "%s", "" /* to expect */

#define HELLO_OF(version, id)                                                           \
    "%4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n+" version "\r\n$5\r\nproto" \
    "\r\n:3\r\n$2\r\nid\r\n:" id "\r\n"
#define HELLO HELLO_OF("7.0.15", "7")

/* The answer to INFO, of one process or another: a run_id is forty of the same digit. */
#define INFO_BY(digit) "=63\r\ntxt:# Server\r\nrun_id:" DIGITS(digit) DIGITS(digit) "\r\n\r\n"
#define DIGITS(d)      d d d d d d d d d d d d d d d d d d d d
#define INFO           INFO_BY("a")

enum { HEARD_MAX = 8192, READ_MAX = 65536 };

/* What a lock was told of a question. */
typedef struct heard {
    const void    *who; /* the memory of its protocol */
    bwl_event_kind kind;
    bwl_answer     answer;
    uint32_t       tag;
} heard;

static bwl_client      *client;
static bwl_redis_store *store;
static bwl_fault        fault;
static bwl_engine       engine; /* that of unix:, with the spy                             */
static int              listener;
static int              server; /* the server's end of the connection; -1                  */
static char             directory[64];
static char             socket_path[80];
static heard            told[HEARD_MAX];
static unsigned         told_count;

/* ---- the spy --------------------------------------------------------------------------------- */

static inline void spy_event(void *state, const bwl_claim *claim, const bwl_event *ev,
                             bwl_effects *fx)
{
    if (ev->kind != BWL_ALARM) {
        assert_true(told_count < HEARD_MAX);
        told[told_count++] = (heard){ state, ev->kind, ev->answer, ev->tag };
    }
    bwl_token.event(state, claim, ev, fx);
}

static bwl_protocol spy;

/* How often this lock was told this; answer 0 for DOWN. */
static inline unsigned told_to(const bwl_lock *lock, bwl_event_kind kind, bwl_answer answer)
{
    unsigned count = 0;

    for (unsigned i = 0; i < told_count; i++)
        count +=
            told[i].who == lock->hold.memory && told[i].kind == kind && told[i].answer == answer;
    return count;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static inline void listen_again(void)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    memcpy(to.sun_path, socket_path, strlen(socket_path) + 1);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(listen(listener, 8), 0);
}

static inline void vanish(void)
{
    close(listener);
    listener = -1;
    assert_int_equal(unlink(socket_path), 0);
}

static inline void open_client(const char *options)
{
    static const bwl_settings nothing;
    char                      url[200];

    (void)snprintf(url, sizeof url, "unix://%s?%s", socket_path, options);
    assert_int_equal(bwl_client_open(&client, &nothing, false, url, &fault), BWL_OK);
    engine          = *client->engine;
    spy             = bwl_token;
    spy.event       = spy_event;
    engine.protocol = &spy;
    client->engine  = &engine;
    store           = client->store;
    bwl_client_lock(client);
}

static inline void close_client(void)
{
    bwl_client_unlock(client);
    bwl_client_close(client);
    client = NULL;
}

static inline int play(void **state)
{
    (void)state;
    told_count = 0;
    server     = -1;
    (void)snprintf(directory, sizeof directory, "/tmp/bowline-redis-XXXXXX");
    assert_non_null(mkdtemp(directory));
    (void)snprintf(socket_path, sizeof socket_path, "%s/s", directory);
    listen_again();
    open_client("lease=30s&timeout=5s");
    return 0;
}

static inline void hang_up(void)
{
    close(server);
    server = -1;
}

static inline int play_is_over(void **state)
{
    (void)state;
    if (client != NULL)
        close_client();
    if (server >= 0)
        hang_up();
    if (listener >= 0)
        vanish();
    assert_int_equal(rmdir(directory), 0);
    return 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

/* Lets the client do all that is due. */
static inline void turn(void)
{
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client), &fault), BWL_OK);
}

/* Lets time go by, with the client asleep. */
static inline void pass(bwl_ms ms)
{
    (void)nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 },
                    NULL);
}

static inline bwl_lock *lock_named(const char *name)
{
    const bwl_terms terms = {
        .lease_ms    = client->settings.lease_ms,
        .max_hold_ms = BWL_NEVER,
        .answer_ms   = client->settings.answer_ms,
        .renews      = true,
    };
    bwl_lock *lock;

    assert_int_equal(bwl_lock_new(&lock, client, name, &terms, &fault), BWL_OK);
    return lock;
}

/* ---- the server ------------------------------------------------------------------------------ */

static inline void server_accepts(void)
{
    server = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(server >= 0);
}

static inline void says(const char *text)
{
    assert_int_equal(send(server, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static inline void write_word(bwl_resp_writer *writer, const char *word, size_t size)
{
    for (unsigned id = 0; id < BWL_SCRIPTS_COUNT; id++)
        if (strlen(bwl_scripts[id].name) == size - 1 &&
            memcmp(bwl_scripts[id].name, word + 1, size - 1) == 0) {
            bwl_resp_write_text(writer,
                                word[0] == '@' ? bwl_scripts[id].sha1 : bwl_scripts[id].text);
            return;
        }
    bwl_resp_write_bulk(writer, word, size);
}

/* One line of words, as a command. */
static inline void write_line(bwl_resp_writer *writer, const char *line, size_t size)
{
    uint32_t words = 1;
    size_t   at    = 0;

    for (size_t i = 0; i < size; i++)
        words += line[i] == ' ';
    bwl_resp_write_array(writer, words);
    for (size_t i = 0; i <= size; i++)
        if (i == size || line[i] == ' ') {
            write_word(writer, line + at, i - at);
            at = i + 1;
        }
}

/* The server has been sent exactly these commands since it last looked, each line being one. */
__attribute__((format(printf, 1, 2))) static inline void expect(const char *format, ...)
{
    static char     is[READ_MAX];
    static char     wanted[READ_MAX];
    static char     lines[READ_MAX];
    bwl_resp_writer writer = { .bytes = wanted, .capacity = sizeof wanted };
    va_list         arguments;

    va_start(arguments, format);
    (void)vsnprintf(lines, sizeof lines, format, arguments);
    va_end(arguments);
    for (const char *line = lines; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        write_line(&writer, line, size);
        line += size + (line[size] == '\n');
    }
    assert_false(writer.overflowed);
    ssize_t got = recv(server, is, sizeof is, 0);
    if (got < 0)
        got = 0;
    if ((size_t)got != writer.size || memcmp(is, wanted, writer.size) != 0)
        fail_msg("sent:\n%.*s\nwanted:\n%.*s", (int)got, is, (int)writer.size, wanted);
}

/* The connection was closed from the other side, with nothing more sent. */
static inline void expect_closed(void)
{
    char c;

    assert_int_equal(recv(server, &c, 1, 0), 0);
    hang_up();
}

/* From nothing to a connection that may be asked.  One question must have been put. */
static inline void greet(void)
{
    turn();
    server_accepts();
    expect("HELLO 3\nINFO server");
    says(HELLO INFO);
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
}

/* A lock that was asked for and is ours, with the connection ready. */
static inline bwl_lock *held_lock(const char *name, bwl_operation *operation)
{
    bwl_lock *lock = lock_named(name);

    bwl_lock_acquire(lock, operation, 0);
    if (store->phase != BWL_REDIS_READY)
        greet();
    expect("SET bowline:{%s} %s NX PX %d", name, lock->hold.claim.token,
           (int)client->settings.lease_ms);
    says("+OK\r\n");
    turn();
    assert_int_equal(operation->ended, BWL_HELD);
    return lock;
}

#endif
