/*
 * story.c -- see story.h.
 */
#include "story.h"

#include "fake_net.h"
#include "resp_text.h"
#include "robot.h"
#include "caller_story.h"
#include "compare_story.h"

#include <stdlib.h>

enum { LINE_MAX_SIZE = 2048, STORY_MAX = 65536, LOCKS_MAX = 1100, CASES_MAX = 100 };

typedef struct story_lock {
    char               name[32];
    bowline_operation *op;
    bowline_hold      *hold;
    bool               acquires, yields, queries, releases;
    int                last_status;
    uint64_t           id; /* id of the holder that was read last */
} story_lock;

typedef struct story_case {
    char        name[128];
    const char *text;
    size_t      size;
} story_case;

static story_case      cases[CASES_MAX];
static size_t          cases_count;
static char            written[STORY_MAX];
static size_t          written_size;
static const char     *next_line;
static bowline_client *client;
static story_lock      locks[LOCKS_MAX];
static unsigned        locks_count;
static bwl_ms          remaining_ms; /* time that still has to pass */
static bwl_ms          shown;        /* time of the last noted line, since the beginning */
static bool            blocks, closes, ended, is_whole, is_quiet;
static bool            waits_on; /* the last line is a blocking receive */

/* ---- notes ----------------------------------------------------------------------------------- */

static void put(const char *line)
{
    written_size +=
        (size_t)snprintf(written + written_size, STORY_MAX - written_size, "%s\n", line);
    assert_true(written_size < STORY_MAX);
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    static char text[RESP_TEXT_MAX];
    static char line[RESP_TEXT_MAX + 3];
    static char masked[RESP_TEXT_MAX];
    va_list     arguments;
    bwl_ms      now = fake.now_ns / 1000000 - 1000000;

    if (ended || is_quiet)
        return;
    if (now != shown) {
        (void)snprintf(line, sizeof line, "  at %lld", (long long)now);
        put(line);
    }
    shown    = now;
    waits_on = false;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    resp_text_mask(masked, text);
    (void)snprintf(line, sizeof line, "  %s", masked);
    put(line);
}

/* Fails the test if the story is wrong. */
static void need(bool holds, const char *what)
{
    if (holds)
        return;
    print_error("%s", written);
    fail_msg("%s", what);
}

void story_dialled(const fake_server *server)
{
    note("%s is dialled", server->name);
}

void story_closed(const fake_connection *connection)
{
    note("%s is closed%s", connection->server->name, connection->shut ? " after a shutdown" : "");
}

void story_receives(const fake_connection *connection, bool waits)
{
    if (waits && !waits_on)
        note("the client blocks on %s", connection->server->name);
    else if (!waits && !closes)
        note("the client polls %s", connection->server->name);
    waits_on = waits_on || waits;
}

void story_handed_over(fake_connection *connection)
{
    static char command[RESP_TEXT_MAX];
    static char expanded[RESP_TEXT_MAX];
    size_t      used;

    while ((used = resp_text_decode(command, connection->out, connection->out_size)) > 0) {
        memmove(connection->out, connection->out + used, connection->out_size - used);
        connection->out_size -= used;
        resp_text_expand(expanded, command);
        if (!robot_answers(connection, expanded))
            note("%s receives %s", connection->server->name, command);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

static story_lock *lock_of(const char *name)
{
    for (unsigned i = 0; i < locks_count; i++)
        if (strcmp(locks[i].name, name) == 0)
            return &locks[i];
    assert_true(locks_count < LOCKS_MAX);
    story_lock *lock = &locks[locks_count++];
    (void)snprintf(lock->name, sizeof lock->name, "%s", name);
    return lock;
}

static void note_end(const char *name, int status, const bowline_error *error)
{
    if (status < 0)
        note("%s: %s, %s", name, bowline_status_name(status), error->text);
    else
        note("%s: OK", name);
}

static void note_holder(story_lock *lock, const bowline_holder *holder)
{
    lock->id = holder->id;
    if (!holder->held)
        note("%s: nobody%s%s", lock->name, holder->note[0] != '\0' ? ", " : "", holder->note);
    else
        note("%s: %s for %lld ms, fence %llu%s%s%s%s", lock->name,
             holder->foreign ? "a foreign holder" : "held", (long long)holder->left_ms,
             (unsigned long long)holder->fence, holder->program[0] != '\0' ? ", program " : "",
             holder->program, holder->note[0] != '\0' ? ", " : "", holder->note);
}

static void finish(story_lock *lock)
{
    bowline_error      error  = { 0 };
    bowline_holder     holder = { .size = sizeof holder };
    bowline_operation *op     = lock->op;
    int                status;

    lock->op = NULL;
    if (lock->queries) {
        status = bowline_who_finish(&holder, op, &error);
        if (status == BOWLINE_OK)
            note_holder(lock, &holder);
        else
            note_end(lock->name, status, &error);
        return;
    }
    status = lock->acquires ? bowline_acquire_finish(&lock->hold, op, &error)
                            : bowline_finish(op, &error);
    if (status == BOWLINE_OK && (lock->acquires || lock->yields))
        note("%s: held, fence %llu", lock->name,
             (unsigned long long)bowline_hold_fence(lock->hold));
    else
        note_end(lock->name, status, &error);
    lock->last_status = BOWLINE_OK;
    if (lock->yields && status != BOWLINE_OK) {
        (void)bowline_release(lock->hold, NULL);
        lock->hold = NULL;
    }
}

static void note_changes(void)
{
    note_leader();
    for (unsigned i = 0; i < locks_count; i++) {
        story_lock *lock = &locks[i];
        if (lock->op != NULL && bowline_operation_done(lock->op))
            finish(lock);
        if (lock->hold == NULL || lock->op != NULL)
            continue;
        bowline_error error  = { 0 };
        int           status = bowline_hold_check(lock->hold, &error);
        if (status != lock->last_status && status != BOWLINE_OK)
            note("%s %s: %s", lock->name, status == BOWLINE_LOST ? "is lost" : "has an error",
                 error.text);
        else if (status != lock->last_status)
            note("%s has no error", lock->name);
        lock->last_status = status;
    }
}

static void pump(void)
{
    uint64_t before;

    if (client == NULL || blocks)
        return;
    note_changes();
    do {
        bwl_ms pauses = remaining_ms;
        before        = fake.events;
        (void)bowline_dispatch(client, remaining_ms, NULL);
        note_changes();
        if (remaining_ms == pauses && remaining_ms > 0 && before == fake.events)
            fake_pass(remaining_ms), remaining_ms = 0;
    } while (remaining_ms > 0 || before != fake.events || fake_has_event() ||
             bowline_timeout_ms(client) == 0);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* "what ARGUMENT": returns the argument; NULL: it is another line. */
static const char *after(const char *line, const char *what)
{
    size_t size = strlen(what);

    return strncmp(line, what, size) == 0 ? line + size : NULL;
}

static void opens(const char *url)
{
    bowline_error   error   = { 0 };
    bowline_options options = { .size    = sizeof options,
                                .url     = url,
                                .flags   = BOWLINE_NO_THREAD | BOWLINE_NO_SPIN,
                                .program = "story" };
    int             status  = bowline_open(&client, &options, &error);

    if (status != BOWLINE_OK)
        note_end("open", status, &error);
}

static void acquires(const char *what, bool tries)
{
    char          name[32] = "";
    bowline_error error    = { 0 };
    const char   *waiting  = strstr(what, " waiting ");
    const char   *lease    = strstr(what, " lease ");
    int64_t       wait_ms  = BOWLINE_NO_WAIT;

    assert_int_equal(sscanf(what, "%31s", name), 1);
    if (waiting != NULL)
        wait_ms = strtoll(waiting + 9, NULL, 10);
    else if (strstr(what, " for ever") != NULL)
        wait_ms = BOWLINE_FOREVER;
    else if (strstr(what, " as the URL says") != NULL)
        wait_ms = BOWLINE_DEFAULT;
    story_lock *lock = lock_of(name);
    assert_null(lock->op);
    name[strcspn(name, "#")]        = '\0';
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    options.wait_ms                 = wait_ms;
    options.lease_ms                = lease != NULL ? (uint32_t)strtoul(lease + 7, NULL, 10) : 0;
    options.mode = strstr(what, " shared") != NULL ? BOWLINE_SHARED : BOWLINE_EXCLUSIVE;
    blocks       = tries;
    int status   = tries ? bowline_acquire(&lock->hold, client, name, &options, &error)
                         : bowline_acquire_start(&lock->op, client, name, &options, &error);
    if (status != BOWLINE_OK || tries)
        note_end(lock->name, status, &error);
    lock->acquires = true;
    lock->yields = lock->queries = false;
}

/* Calls on a held lock. */
static void does_with_hold(const char *what)
{
    char          name[32] = "";
    const char   *number   = strrchr(what, ' ');
    bowline_error error    = { 0 };
    int           status   = BOWLINE_OK;

    assert_int_equal(sscanf(what, "%*s %31s", name), 1);
    story_lock *lock = lock_of(name);
    need(lock->hold != NULL, "the lock is not held");
    lock->acquires = lock->queries = lock->yields = false;
    if (after(what, "releases ") != NULL) {
        status     = bowline_release_start(&lock->op, lock->hold, &error);
        lock->hold = NULL;
    } else if (after(what, "releases_nowait ") != NULL) {
        blocks     = true;
        status     = bowline_release_nowait(lock->hold, &error);
        lock->hold = NULL;
    } else if (after(what, "extends ") != NULL) {
        status = bowline_extend_start(&lock->op, lock->hold, (uint32_t)strtoul(number, NULL, 10),
                                      &error);
    } else if (after(what, "announces ") != NULL || after(what, "withdraws ") != NULL) {
        const char *text = strstr(what, " as ");
        status =
            bowline_announce_start(&lock->op, lock->hold, text != NULL ? text + 4 : NULL, &error);
    } else if (after(what, "yields ") != NULL) {
        status = bowline_yield_start(&lock->op, lock->hold, strtoll(number, NULL, 10), &error);
        lock->yields = true;
    } else {
        fail_msg("the caller cannot do \"%s\"", what);
    }
    if (status != BOWLINE_OK)
        note_end(name, status, &error);
}

static void queries_holder(const char *name)
{
    story_lock   *lock  = lock_of(name);
    bowline_error error = { 0 };

    int status = bowline_who_start(&lock->op, client, name, &error);
    if (status != BOWLINE_OK)
        note_end(name, status, &error);
    lock->queries = true;
}

static void close_client(void)
{
    closes = true;
    bowline_close(client);
    closes      = false;
    client      = NULL;
    locks_count = 0;
    forget_leader();
    memset(locks, 0, sizeof locks);
}

static void caller_does(const char *what)
{
    const char   *rest;
    bowline_error error = { 0 };

    if ((rest = after(what, "opens ")) != NULL) {
        opens(rest);
    } else if ((rest = after(what, "acquires ")) != NULL) {
        acquires(rest, false);
    } else if ((rest = after(what, "acquires_all ")) != NULL) {
        blocks = true;
        acquires_all(client, rest);
    } else if ((rest = after(what, "tries ")) != NULL) {
        acquires(rest, true);
    } else if ((rest = after(what, "queries the holder of ")) != NULL) {
        queries_holder(rest);
    } else if ((rest = after(what, "observes ")) != NULL) {
        observes(client, rest);
    } else if (strcmp(what, "stops observing") == 0) {
        bowline_cancel(observing);
    } else if ((rest = after(what, "cancels ")) != NULL) {
        bowline_cancel(lock_of(rest)->op);
    } else if ((rest = after(what, "checks the acquire of ")) != NULL) {
        note_end(rest, bowline_operation_check(lock_of(rest)->op, &error), &error);
    } else if ((rest = after(what, "reads the time left of ")) != NULL) {
        note("%s: %lld ms left", rest, (long long)bowline_hold_left_ms(lock_of(rest)->hold));
    } else if ((rest = after(what, "flushes releases")) != NULL) {
        note_end("releases", bowline_flush_releases(client, 0, &error), &error);
    } else if (strcmp(what, "reads the warning") == 0) {
        note("%s",
             bowline_client_warning(client) != NULL ? bowline_client_warning(client) : "none");
    } else if ((rest = after(what, "breaks ")) != NULL) {
        blocks = true;
        note_end(rest, bowline_break(client, rest, lock_of(rest)->id, &error), &error);
    } else if ((rest = after(what, "updates ")) != NULL) {
        blocks = true;
        updates(client, rest);
    } else if (strcmp(what, "closes") == 0) {
        blocks = true;
        close_client();
    } else {
        does_with_hold(what);
    }
    blocks = false;
}

static void server_sends(fake_server *server, const char *reply)
{
    static char      text[RESP_TEXT_MAX];
    static char      bytes[RESP_TEXT_MAX];
    fake_connection *connection = fake_connection_to(server);

    need(connection != NULL, "a server without a connection cannot send");
    resp_text_expand(text, reply);
    fake_send(connection, bytes, resp_text_encode(bytes, text));
}

static void set(char *text, size_t room, const char *value)
{
    (void)snprintf(text, room, "%s", value);
}

/* Sets a property of a server. */
static void server_is(fake_server *server, const char *what)
{
    const char *rest;

    if (strcmp(what, "accepts") == 0)
        server->manner = FAKE_ACCEPTS;
    else if (strcmp(what, "refuses") == 0)
        server->manner = FAKE_REFUSES;
    else if (strcmp(what, "drops packets") == 0)
        server->manner = FAKE_DROPS_PACKETS;
    else if (strcmp(what, "answers no handshake") == 0)
        server->no_handshake = true;
    else if (strcmp(what, "answers handshakes") == 0)
        server->no_handshake = false;
    else if (strcmp(what, "is a node") == 0) {
        set(server->mode, sizeof server->mode, "cluster");
        set(server->slots, sizeof server->slots, "*0");
    } else if (strcmp(what, "is replica") == 0)
        set(server->role, sizeof server->role, "replica");
    else if (strcmp(what, "has no scripts") == 0)
        server->is_scripts = false;
    else if ((rest = after(what, "is version ")) != NULL)
        set(server->version, sizeof server->version, rest);
    else if ((rest = after(what, "is mode ")) != NULL)
        set(server->mode, sizeof server->mode, rest);
    else if ((rest = after(what, "has run_id ")) != NULL)
        set(server->run_id, sizeof server->run_id, rest);
    else if ((rest = after(what, "has info ")) != NULL)
        set(server->info, sizeof server->info, rest);
    else if ((rest = after(what, "has slots ")) != NULL)
        set(server->slots, sizeof server->slots, rest);
    else if ((rest = after(what, "has primary ")) != NULL)
        set(server->named, sizeof server->named, rest);
    else if ((rest = after(what, "has state ")) != NULL)
        set(server->state, sizeof server->state, rest);
    else if ((rest = after(what, "has epoch ")) != NULL)
        server->epoch = (unsigned)strtoul(rest, NULL, 10);
    else if ((rest = after(what, "takes ")) != NULL)
        server->takes = strcmp(rest, "all") == 0 ? SIZE_MAX : strtoul(rest, NULL, 10);
    else
        fail_msg("no server can do \"%s\"", what);
}

/* Returns false if the client need not be dispatched yet. */
static bool server_does(fake_server *server, const char *what)
{
    const char *rest;

    if ((rest = after(what, "sends ")) != NULL) {
        server_sends(server, rest);
    } else if ((rest = after(what, "buffers ")) != NULL) {
        server_sends(server, rest);
        return false;
    } else if (strcmp(what, "closes") == 0 || strcmp(what, "resets") == 0) {
        need(fake_connection_to(server) != NULL, "the server has no connection");
        fake_connection_to(server)->ended  = *what == 'c';
        fake_connection_to(server)->broken = *what == 'r';
    } else if (strcmp(what, "breaks at a write") == 0) {
        need(fake_connection_to(server) != NULL, "the server has no connection");
        fake_connection_to(server)->breaks_late = true;
        return false;
    } else if (strcmp(what, "restarts") == 0) {
        fake_connection *connection = fake_connection_to(server);
        if (connection != NULL)
            connection->ended = true;
        server->run_id[0]++;
        server->connections = 0;
        server->is_scripts  = false;
    } else {
        server_is(server, what);
    }
    return true;
}

static void happens(const char *line);

/* "5 LINE; LINE": five times, with the first %d as 0, 1, ... */
static void repeat(const char *what)
{
    char        line[LINE_MAX_SIZE];
    char       *rest  = NULL;
    long        count = strtol(what, &rest, 10);
    const char *mark  = strstr(rest, "%d");
    int         size  = mark != NULL ? (int)(mark - rest) : (int)strlen(rest);

    for (int i = 0; i < count; i++) {
        if (mark != NULL)
            (void)snprintf(line, sizeof line, "%.*s%d%s", size - 1, rest + 1, i, mark + 2);
        else
            (void)snprintf(line, sizeof line, "%s", rest + 1);
        for (char *at = line, *end; at != NULL; at = end != NULL ? end + 2 : NULL) {
            end = strstr(at, "; ");
            if (end != NULL)
                *end = '\0';
            happens(at);
        }
    }
}

static void happens(const char *line)
{
    char        name[FAKE_NAME_MAX] = "";
    const char *rest;

    if ((rest = after(line, "caller ")) != NULL) {
        need(!blocks, "an earlier call blocks");
        caller_does(rest);
    } else if ((rest = after(line, "repeat ")) != NULL) {
        repeat(rest);
    } else if ((rest = after(line, "quiet ")) != NULL) {
        is_quiet = strcmp(rest, "on") == 0;
    } else if ((rest = after(line, "time ")) != NULL) {
        remaining_ms = strtoll(rest, NULL, 10);
    } else if ((rest = after(line, "machine stops ")) != NULL) {
        fake_pass(strtoll(rest, NULL, 10));
    } else if ((rest = after(line, "program sleeps ")) != NULL) {
        fake_pass(strtoll(rest, NULL, 10));
        return;
    } else if (strcmp(line, "others refuse") == 0) {
        fake.others_refuse = true;
    } else if (strcmp(line, "memory fails") == 0) {
        fake.no_memory = true;
    } else if ((rest = after(line, "names lead to ")) != NULL) {
        set(fake.leads_to, sizeof fake.leads_to, rest);
    } else if (strcmp(line, "lookups stall") == 0) {
        fake.stalls_lookups = true;
    } else if (strcmp(line, "lookups continue") == 0) {
        fake.stalls_lookups = false;
        fake.is_woken       = true;
    } else {
        rest = strchr(line, ' ');
        assert_non_null(rest);
        (void)snprintf(name, sizeof name, "%.*s", (int)(rest - line), line);
        if (!server_does(fake_server_of(name), rest + 1))
            return;
    }
    pump();
}

static bool play_line(void);

/* The results of these lines are compared in their own case. */
static void play_case_before(const char *name)
{
    const char *resumes = next_line;
    size_t      size    = written_size;
    size_t      i       = 0;

    while (i < cases_count && strcmp(cases[i].name, name) != 0)
        i++;
    need(i < cases_count, "there is no such case");
    next_line = cases[i].text;
    while (play_line())
        continue;
    next_line     = resumes;
    written_size  = size;
    written[size] = '\0';
}

/* Plays the next line at the margin.  Returns false at the end of the case. */
static bool play_line(void)
{
    char line[LINE_MAX_SIZE];

    while (*next_line != '\0' && strncmp(next_line, "== ", 3) != 0) {
        size_t size = line_length(next_line);
        assert_true(size < sizeof line);
        memcpy(line, next_line, size);
        line[size] = '\0';
        if (closes && (line[0] == '\0' || strncmp(line, "caller ", 7) == 0))
            return false;
        next_line += size + (next_line[size] == '\n');
        if (line[0] == ' ')
            continue;
        put(line);
        if (strcmp(line, "# whole") == 0)
            is_whole = true;
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (after(line, "after ") != NULL)
            play_case_before(line + 6);
        else
            happens(line);
        return true;
    }
    return false;
}

/* While a call blocks, plays the next lines; else advances the time as a line says. */
void story_idle(bwl_ms wait_ms)
{
    while (!fake_has_event()) {
        if (remaining_ms > 0 || !blocks) {
            bwl_ms ms = wait_ms < remaining_ms ? wait_ms : remaining_ms;
            fake_pass(ms);
            remaining_ms -= ms;
            return;
        }
        if (!play_line())
            need(false, "a call has not ended");
    }
}

void story_closing(bwl_ms wait_ms)
{
    if (remaining_ms == 0 && play_line())
        return;
    bwl_ms ms = remaining_ms > 0 && remaining_ms < wait_ms ? remaining_ms : wait_ms;
    fake_pass(ms);
    remaining_ms -= remaining_ms > 0 ? ms : 0;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void play(const story_case *played, bool by_byte)
{
    fake_begin(by_byte);
    resp_text_begin();
    written_size = 0;
    written[0]   = '\0';
    remaining_ms = shown = 0;
    ended = blocks = is_whole = is_quiet = waits_on = false;
    next_line                                       = played->text;
    while (play_line())
        continue;
    ended = true;
    close_client();
    fake_end();
}

static void test_case(void **state)
{
    const story_case *played   = *state;
    char             *expected = strndup(played->text, played->size);

    assert_non_null(expected);
    play(played, false);
    compare(expected, written);
    if (!is_whole) {
        play(played, true);
        compare(expected, written);
    }
    free(expected);
}

static char *read_file(const char *path)
{
    static char text[512 * 1024];
    FILE       *file = fopen(path, "r");

    if (file == NULL)
        abort();
    size_t size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    return text;
}

static void rewrite(const char *path, const char *begin)
{
    char  fresh[520];
    FILE *file;

    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    file = fopen(fresh, "w");
    if (file == NULL)
        abort();
    (void)fprintf(file, "%.*s", (int)(strstr(begin, "\n== ") + 1 - begin), begin);
    for (size_t i = 0; i < cases_count; i++) {
        play(&cases[i], false);
        (void)fprintf(file, "== %s\n%s", cases[i].name, written);
        (void)fflush(file);
    }
    (void)fclose(file);
    if (rename(fresh, path) != 0)
        abort();
}

int run_stories(const char *name)
{
    static struct CMUnitTest tests[CASES_MAX];
    char                     path[512];

    (void)snprintf(path, sizeof path, "%s/tests/session/%s.txt", getenv("BOWLINE_SOURCE"), name);
    char *text = read_file(path);
    for (char *at = strstr(text, "\n== "), *end; at != NULL; at = end) {
        story_case *read = &cases[cases_count];
        if (sscanf(++at, "== %127s", read->name) != 1 || cases_count == CASES_MAX)
            abort();
        read->text           = at + line_length(at) + 1;
        end                  = strstr(at, "\n== ");
        read->size           = end != NULL ? (size_t)(end + 1 - read->text) : strlen(read->text);
        tests[cases_count++] = (struct CMUnitTest){ read->name, test_case, NULL, NULL, read };
    }
    if (getenv("BOWLINE_SESSION_WRITE") != NULL) {
        rewrite(path, text);
        return 0;
    }
    return _cmocka_run_group_tests(name, tests, cases_count, NULL, NULL);
}
