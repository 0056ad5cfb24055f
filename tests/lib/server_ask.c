/*
 * server_ask.c -- commands to a test's server, and its replies as text.  See server.h.
 */
#include "tests/lib/server.h"
#include "tests/lib/server_inside.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_MAX = 16384 };

/* Cuts a copy of `text` into words.  Quotes keep spaces inside a word. */
int server_split(char *words[SERVER_WORDS_MAX], char *text)
{
    int count = 0;

    while (*text != '\0' && count < SERVER_WORDS_MAX - 1) {
        char end = ' ';
        while (*text == ' ')
            text++;
        if (*text == '\'') {
            end = '\'';
            text++;
        }
        if (*text == '\0' && end == ' ')
            break;
        words[count++] = text;
        text += strcspn(text, (char[]){ end, '\0' });
        if (*text != '\0')
            *text++ = '\0';
    }
    words[count] = NULL;
    return count;
}

int server_connect(const char *path)
{
    struct sockaddr_un to       = { .sun_family = AF_UNIX };
    int                fd       = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval     patience = { .tv_sec = SERVER_PATIENCE_MS / 1000 };

    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        (void)close(fd);
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

static void add(char *text, const char *more, size_t size)
{
    size_t used = strlen(text);

    for (size_t i = 0; i < size && used + 5 < ANSWER_MAX; i++) {
        unsigned char c = (unsigned char)more[i];
        if (c >= 0x20 && c < 0x7f)
            text[used++] = (char)c;
        else
            used += (size_t)snprintf(text + used, 5, "\\x%02X", c);
    }
    text[used] = '\0';
}

/* Reads one reply of RESP2 with its items; false when the connection ends. */
static bool read_reply(FILE *in, char *text, unsigned depth)
{
    char line[1024];

    if (depth > 8 || fgets(line, sizeof line, in) == NULL)
        return false;
    line[strcspn(line, "\r\n")] = '\0';
    long number                 = strtol(line + 1, NULL, 10);
    if ((line[0] == '$' || line[0] == '*') && number < 0) {
        add(text, "(nil)", 5);
    } else if (line[0] == '$') {
        for (long i = 0; i < number; i++) {
            char c = (char)getc(in);
            add(text, &c, 1);
        }
        return getc(in) == '\r' && getc(in) == '\n';
    } else if (line[0] == '*') {
        for (long i = 0; i < number; i++) {
            if (i > 0)
                add(text, " ", 1);
            if (!read_reply(in, text, depth + 1))
                return false;
        }
    } else {
        add(text, line[0] == '-' ? line : line + 1, strlen(line[0] == '-' ? line : line + 1));
    }
    return true;
}

static bool send_command(int fd, char *command)
{
    char  *words[SERVER_WORDS_MAX];
    char   bytes[4096];
    int    count = server_split(words, command);
    size_t size  = (size_t)snprintf(bytes, sizeof bytes, "*%d\r\n", count);

    for (int i = 0; i < count; i++) {
        size += (size_t)snprintf(bytes + size, sizeof bytes - size, "$%zu\r\n%s\r\n",
                                 strlen(words[i]), words[i]);
        assert_true(size < sizeof bytes);
    }
    return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Connects, and logs in if there is a login; -1: the server accepts no connection. */
static int log_in(server *s)
{
    char login[sizeof s->login];
    char answer[64];
    int  fd = server_connect(s->socket);

    if (fd < 0 || s->login[0] == '\0')
        return fd;
    memcpy(login, s->login, sizeof login);
    if (!send_command(fd, login) || recv(fd, answer, sizeof answer, 0) <= 0) {
        (void)close(fd);
        return -1;
    }
    assert_int_equal(answer[0], '+');
    return fd;
}

int server_say(server *s, const char *format, ...)
{
    char    command[2048];
    va_list arguments;
    int     fd = log_in(s);

    if (fd < 0)
        server_fails(s, "takes no connection");
    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_true(send_command(fd, command));
    return fd;
}

/* The reply to a command; NULL: none came. */
static const char *answer_to(server *s, char *command)
{
    static char     answers[9][ANSWER_MAX];
    static unsigned next;
    char           *text = answers[next++ % 9];
    FILE           *in;
    int             fd = log_in(s);

    if (fd < 0)
        return NULL;
    in = fdopen(fd, "r");
    assert_non_null(in);
    text[0]   = '\0';
    bool said = send_command(fd, command) && read_reply(in, text, 0);
    (void)fclose(in);
    return said ? text : NULL;
}

const char *server_ask(server *s, const char *format, ...)
{
    char    command[2048];
    char    copy[2048];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    memcpy(copy, command, sizeof copy);
    const char *answer = answer_to(s, copy);
    if (answer == NULL) {
        print_error("no answer to %s\n", command);
        server_fails(s, "does not answer");
    }
    return answer;
}

const char *server_may_say(server *s, const char *format, ...)
{
    char    command[2048];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return answer_to(s, command);
}

bool server_comes_to(server *s, const char *part, const char *question)
{
    for (int64_t end = clock_ms() + SERVER_PATIENCE_MS; clock_ms() < end; sleep_ms(2))
        if (strstr(server_ask(s, "%s", question), part) != NULL)
            return true;
    return false;
}

void server_hang_up(server *s)
{
    (void)server_ask(s, "CLIENT KILL TYPE normal SKIPME yes");
    (void)server_ask(s, "CLIENT KILL TYPE pubsub");
}

/* Besides locks there are the counter of fences, and client info. */
static const char *keys_of_locks(server *s)
{
    return server_ask(s, "EVAL 'local kept = \"\" "
                         "for database = 0, 15 do redis.call(\"SELECT\", database) "
                         "for _, key in ipairs(redis.call(\"KEYS\", \"*\")) do "
                         "if key ~= \"bowline:f\" and not key:find(\"^bowline:who:\") then "
                         "kept = kept .. \" \" .. key end end end return kept' 0");
}

bool server_becomes_empty(server *s)
{
    for (int64_t end = clock_ms() + SERVER_PATIENCE_MS; clock_ms() < end; sleep_ms(2))
        if (keys_of_locks(s)[0] == '\0')
            return true;
    print_error("remaining:%s\n", keys_of_locks(s));
    (void)server_ask(s, "FLUSHALL");
    return false;
}

/* While it loads, a server before 7.0 replies after each two megabytes. */
const char *server_fill_to_load_slowly(server *s)
{
    bool is_new = server_is_new();

    assert_string_equal(server_ask(s, "CONFIG SET rdbcompression no"), "OK");
    (void)server_ask(s,
                     "EVAL 'for i = 1, 100 do "
                     "redis.call(\"SET\", \"k\" .. i, string.rep(\"x\", ARGV[1])) end' 0 %d",
                     is_new ? 500 : 400000);
    return is_new ? "--key-load-delay 20000 --loading-process-events-interval-bytes 1024"
                  : "--key-load-delay 20000";
}

const char *server_heard(int fd)
{
    static char   text[500];
    struct pollfd something = { .fd = fd, .events = POLLIN };

    assert_int_equal(poll(&something, 1, 10000), 1);
    ssize_t size              = read(fd, text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    return text;
}
