#include "lab/replay/real_server.h"
#include "lab/base/lang.h"
#include "lab/base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_WITHIN_MS = 10000, COMMAND_MAX = 4096, WORDS_MAX = 8, STEP_MAX = 65536 };

/* One frame of a reply. */
typedef struct reply {
    char   bytes[BWL_LINE_ROOM];
    size_t size;
} reply;

bool bwl_real_connection_open(bwl_real_connection *ret_connection, const char *socket_path,
                              bwl_text *reterr)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    ret_connection->size = 0;
    ret_connection->fd   = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(socket_path) >= sizeof to.sun_path)
        errno = ENAMETOOLONG;
    else
        memcpy(to.sun_path, socket_path, strlen(socket_path) + 1);
    if (ret_connection->fd >= 0 && to.sun_path[0] != '\0' &&
        connect(ret_connection->fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return true;
    *reterr = bwl_say("%s: %s", socket_path, bwl_tr(strerror(errno)));
    bwl_real_connection_close(ret_connection);
    return false;
}

void bwl_real_connection_close(bwl_real_connection *connection)
{
    if (connection->fd >= 0)
        (void)close(connection->fd); /* an error closes the descriptor too */
    connection->fd = -1;
}

static bool send_all(const bwl_real_connection *connection, const char *bytes, size_t size,
                     bwl_text *reterr)
{
    while (size > 0) {
        ssize_t sent = send(connection->fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            *reterr = bwl_say("the server does not take what is sent: %s", bwl_tr(strerror(errno)));
            return false;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive_more(bwl_real_connection *connection)
{
    struct pollfd ready = { .fd = connection->fd, .events = POLLIN };
    ssize_t       got;
    int           polled;

    do
        polled = poll(&ready, 1, ANSWER_WITHIN_MS);
    while (polled < 0 && errno == EINTR);
    if (polled <= 0 || connection->size == sizeof connection->bytes)
        return false;
    got = recv(connection->fd, connection->bytes + connection->size,
               sizeof connection->bytes - connection->size, 0);
    if (got > 0)
        connection->size += (size_t)got;
    return got > 0;
}

static bool receive(bwl_real_connection *connection, reply *ret_reply, bwl_text *reterr)
{
    bwl_resp_scan scan = { 0 };

    while (bwl_resp_scan_bytes(&scan, connection->bytes, connection->size) == BWL_RESP_MORE)
        if (!receive_more(connection)) {
            *reterr = bwl_say("the server does not answer");
            return false;
        }
    if (scan.status != BWL_RESP_OK) {
        *reterr = bwl_say("the server's answer is not one");
        return false;
    }
    memcpy(ret_reply->bytes, connection->bytes, scan.size);
    ret_reply->size = scan.size;
    connection->size -= scan.size;
    memmove(connection->bytes, connection->bytes + scan.size, connection->size);
    return true;
}

static bool ask(bwl_real_connection *connection, const bwl_resp_writer *command, reply *ret_reply,
                bwl_text *reterr)
{
    assert(!command->overflowed);
    return send_all(connection, command->bytes, command->size, reterr) &&
           receive(connection, ret_reply, reterr);
}

/* The first line of the reply, unchanged. */
static bwl_text shown(const reply *r)
{
    bwl_resp_cursor cursor = bwl_resp_begin(r->bytes, r->size);
    bwl_resp_value  value  = { 0 };

    (void)bwl_resp_next_bare(&cursor, &value); /* a whole frame has a first value */
    if (value.type == '_')
        return bwl_say("(nil)");
    if (value.type == ':')
        return bwl_say("%" PRId64, value.integer);
    if (value.text == NULL)
        return bwl_say("%u items", value.count);
    return bwl_shown(
        bwl_say("%s%.*s", value.type == '-' ? "-" : "", (int)value.size, value.text).of);
}

/* Reads the other frames: the answer is that of the last one, or of the first unexpected one. */
static bwl_redis_verdict read_all(bwl_real_connection *connection, const bwl_redis_command_args *q,
                                  reply *r, bwl_redis_reply *ret_reply, bwl_text *reterr)
{
    bwl_redis_verdict verdict = bwl_redis_read(q, 0, r->bytes, r->size, ret_reply);
    unsigned          frames  = bwl_redis_frames(q->command);

    if (verdict == BWL_REDIS_NOSCRIPT)
        return verdict;
    for (unsigned nth = 1; nth < frames; nth++) {
        bwl_redis_reply   next = { 0 };
        bwl_redis_verdict of;
        if (!receive(connection, r, reterr))
            return BWL_REDIS_STRANGE;
        of = bwl_redis_read(q, nth, r->bytes, r->size, &next);
        if (verdict == BWL_REDIS_ANSWER && ret_reply->answer == BWL_YES) {
            verdict    = of;
            *ret_reply = next;
        }
    }
    return verdict;
}

bool bwl_real_connection_ask(bwl_real_connection          *connection,
                             const bwl_redis_command_args *question, bwl_redis_reply *ret_reply,
                             bwl_text *ret_said, bwl_text *reterr)
{
    bwl_redis_command_args q       = *question;
    bwl_redis_verdict      verdict = BWL_REDIS_NOSCRIPT;
    char                   room[COMMAND_MAX];
    reply                  r;

    *reterr    = bwl_say("%s", "");
    *ret_reply = (bwl_redis_reply){ 0 };
    for (unsigned i = 0; i < 2 && verdict == BWL_REDIS_NOSCRIPT; i++) {
        bwl_resp_writer writer = { .bytes = room, .capacity = sizeof room };
        q.use_eval             = i == 1;
        bwl_redis_write(&writer, &q);
        if (!ask(connection, &writer, &r, reterr))
            return false;
        verdict = read_all(connection, &q, &r, ret_reply, reterr);
    }
    *ret_said = shown(&r);
    if (verdict == BWL_REDIS_ANSWER)
        return true;
    if (reterr->of[0] == '\0')
        *reterr = bwl_say("the server answers %s, which is no answer to that", ret_said->of);
    return false;
}

bool bwl_real_connection_step(bwl_real_connection *connection, const bwl_step_args *args,
                              bwl_redis_reply *ret_reply, bwl_text *ret_said, bwl_text *reterr)
{
    char             *room    = bwl_room_for(STEP_MAX, 1);
    bwl_resp_writer   writer  = { .bytes = room, .capacity = STEP_MAX };
    bwl_redis_verdict verdict = BWL_REDIS_ANSWER;
    reply             r;

    *reterr = bwl_say("%s", "");
    bwl_step_write(&writer, args);
    bool is_good = ask(connection, &writer, &r, reterr);
    free(room);
    for (unsigned nth = 0; is_good && nth < bwl_step_frames(args->op); nth++) {
        is_good = nth == 0 || receive(connection, &r, reterr);
        if (is_good && verdict == BWL_REDIS_ANSWER)
            verdict = bwl_step_read(args->op, args->token, nth, r.bytes, r.size, ret_reply);
    }
    if (!is_good)
        return false;
    *ret_said = shown(&r);
    if (verdict != BWL_REDIS_ANSWER)
        *reterr = bwl_say("the server answers %s, which is no answer to that", ret_said->of);
    return verdict == BWL_REDIS_ANSWER;
}

static bool say_words(bwl_real_connection *connection, const char *command, const char *extra,
                      size_t extra_size, reply *ret_reply, bwl_text *reterr)
{
    char            room[COMMAND_MAX];
    bwl_resp_writer writer = { .bytes = room, .capacity = sizeof room };
    bwl_text        copy   = bwl_say("%s", command);
    const char     *words[WORDS_MAX];
    uint32_t        count = 0;
    char           *rest  = copy.of;

    for (char *word; count < WORDS_MAX && (word = strtok_r(rest, " ", &rest)) != NULL;)
        words[count++] = word;
    bwl_resp_write_array(&writer, count + (extra_size > 0));
    for (uint32_t i = 0; i < count; i++)
        bwl_resp_write_text(&writer, words[i]);
    if (extra_size > 0)
        bwl_resp_write_bulk(&writer, extra, extra_size);
    return ask(connection, &writer, ret_reply, reterr);
}

bool bwl_real_connection_say(bwl_real_connection *connection, const char *command,
                             const char *extra, size_t extra_size, bwl_text *ret_said,
                             bwl_text *reterr)
{
    reply r;

    if (!say_words(connection, command, extra, extra_size, &r, reterr))
        return false;
    *ret_said = shown(&r);
    return true;
}

/* The first field of a hash; of a sorted set the first member except the mark. */
static bool say_first(bwl_real_connection *connection, const char *key, reply *ret_reply,
                      bwl_resp_value *ret_value, bwl_text *reterr)
{
    bwl_resp_cursor cursor;
    uint32_t        count;

    if (!say_words(connection, bwl_say("HKEYS %s", key).of, NULL, 0, ret_reply, reterr))
        return false;
    if (bwl_redis_error_is(ret_reply->bytes, ret_reply->size, "WRONGTYPE") &&
        !say_words(connection, bwl_say("ZRANGE %s 0 -1", key).of, NULL, 0, ret_reply, reterr))
        return false;
    cursor = bwl_resp_begin(ret_reply->bytes, ret_reply->size);
    (void)bwl_resp_next_bare(&cursor, ret_value); /* a whole frame has a first value */
    count = ret_value->type == '*' ? ret_value->count : 0;
    while (count-- > 0 && bwl_resp_next_bare(&cursor, ret_value) &&
           bwl_resp_text_is(ret_value, "__write__"))
        continue;
    return true;
}

bool bwl_real_connection_get(bwl_real_connection *connection, const char *key, char *ret_bytes,
                             size_t capacity, size_t *ret_size, bwl_text *reterr)
{
    reply           r;
    bwl_resp_cursor cursor;
    bwl_resp_value  value = { 0 };

    if (!say_words(connection, bwl_say("GET %s", key).of, NULL, 0, &r, reterr))
        return false;
    cursor = bwl_resp_begin(r.bytes, r.size);
    (void)bwl_resp_next_bare(&cursor, &value); /* a whole frame has a first value */
    if (bwl_redis_error_is(r.bytes, r.size, "WRONGTYPE") &&
        !say_first(connection, key, &r, &value, reterr))
        return false;
    *ret_size = SIZE_MAX;
    if (value.type == '_')
        return true;
    if (value.type != '$' || value.size > capacity) {
        *reterr = bwl_say("the key is no text, or a long one");
        return false;
    }
    memcpy(ret_bytes, value.text, value.size);
    *ret_size = value.size;
    return true;
}

enum { COMES_UP_WITHIN_MS = 10000, LOOK_EVERY_MS = 10, NOT_STARTED = 127 };

static bool fail(bwl_text reterr[3], bwl_text why, const char *type)
{
    return bwl_refuse(reterr, bwl_say("no redis-server could be started"), why, type);
}

/* In the child: only async-signal-safe functions. */
_Noreturn static void become_server(const bwl_real_server *s, pid_t parent)
{
    const char *const words[] = {
        s->program.of,  "--port", "0",     "--unixsocket",  s->socket.of,  "--save", "",
        "--appendonly", "no",     "--dir", s->directory.of, "--daemonize", "no",     "--logfile",
        s->log.of,      NULL,
    };
    int nowhere = open("/dev/null", O_RDWR);

    (void)dup2(nowhere, STDIN_FILENO); /* if it fails, the server has our terminal: harmless */
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent died before the prctl */
        _exit(NOT_STARTED);
    (void)execvp(s->program.of, (char *const *)words);
    _exit(NOT_STARTED);
}

static bool launch(bwl_real_server *s, bwl_text reterr[3])
{
    pid_t    parent = getpid();
    int      status = 0;
    bwl_text why;

    s->pid = fork();
    if (s->pid == 0)
        become_server(s, parent);
    if (s->pid < 0) {
        s->pid = 0;
        return fail(reterr, bwl_say("%s", strerror(errno)), "");
    }
    for (int waited = 0; waited < COMES_UP_WITHIN_MS; waited += LOOK_EVERY_MS) {
        bwl_real_connection connection;
        if (bwl_real_connection_open(&connection, s->socket.of, &why)) {
            bwl_real_connection_close(&connection);
            return true;
        }
        if (waitpid(s->pid, &status, WNOHANG) != s->pid) {
            (void)poll(NULL, 0, LOOK_EVERY_MS); /* an early wake-up only checks earlier */
            continue;
        }
        s->pid = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED)
            return fail(reterr, bwl_say("%s is not found, or not executable", s->program.of),
                        "type: apt-get install redis-server, or --server FILE");
        return fail(reterr, bwl_say("%s ended at once", s->program.of), "");
    }
    return fail(reterr, bwl_say("%s does not answer", s->program.of), "");
}

static void end(bwl_real_server *s)
{
    int status;

    if (s->pid == 0)
        return;
    (void)kill(s->pid, SIGKILL); /* it may have ended already */
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    s->pid = 0;
}

bool bwl_real_server_start(bwl_real_server *ret_server, const char *program, bwl_text reterr[3])
{
    const char     *temporary = getenv("TMPDIR");
    bwl_real_server s         = { .pid = 0 };

    *ret_server = s;
    s.program   = bwl_say("%s", program != NULL ? program : "redis-server");
    s.directory = bwl_say("%s/bowline-lab.XXXXXX", temporary != NULL ? temporary : "/tmp");
    if (strlen(s.directory.of) > 100)
        s.directory = bwl_say("/tmp/bowline-lab.XXXXXX"); /* socket paths have at most 107 bytes */
    if (mkdtemp(s.directory.of) == NULL)
        return fail(reterr, bwl_say("%s: %s", s.directory.of, bwl_tr(strerror(errno))), "");
    s.socket    = bwl_say("%s/redis", s.directory.of);
    s.log       = bwl_say("%s/log", s.directory.of);
    *ret_server = s;
    if (launch(ret_server, reterr))
        return true;
    bwl_real_server_stop(ret_server);
    return false;
}

bool bwl_real_server_restart(bwl_real_server *server, bwl_text reterr[3])
{
    end(server);
    (void)unlink(server->socket.of); /* the new server creates another */
    return launch(server, reterr);
}

void bwl_real_server_stop(bwl_real_server *server)
{
    end(server);
    if (server->directory.of[0] == '\0')
        return;
    (void)unlink(server->socket.of); /* missing files are fine */
    (void)unlink(server->log.of);
    (void)rmdir(server->directory.of);
    server->directory.of[0] = '\0';
}
