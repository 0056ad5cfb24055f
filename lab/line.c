/*
 * line.c -- see line.h.
 */
#include "lab/line.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_WITHIN_MS = 10000, COMMAND_MAX = 4096, REPLY_MAX = 4096, WORDS_MAX = 8 };

typedef struct reply {
    char   bytes[REPLY_MAX];
    size_t size;
} reply;

bool bwl_line_open(bwl_line *ret_line, const char *socket_path, bwl_text *reterr)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    ret_line->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(socket_path) >= sizeof to.sun_path)
        errno = ENAMETOOLONG;
    else
        memcpy(to.sun_path, socket_path, strlen(socket_path) + 1);
    if (ret_line->fd >= 0 && to.sun_path[0] != '\0' &&
        connect(ret_line->fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return true;
    *reterr = bwl_say("%s: %s", socket_path, strerror(errno));
    bwl_line_close(ret_line);
    return false;
}

void bwl_line_close(bwl_line *line)
{
    if (line->fd >= 0)
        (void)close(line->fd); /* whatever it says, the descriptor is gone */
    line->fd = -1;
}

/* ---- there and back -------------------------------------------------------------------------- */

static bool send_all(const bwl_line *line, const char *bytes, size_t size, bwl_text *reterr)
{
    while (size > 0) {
        ssize_t sent = send(line->fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            *reterr = bwl_say("the server does not take what is sent: %s", strerror(errno));
            return false;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive(const bwl_line *line, reply *ret_reply, bwl_text *reterr)
{
    bwl_resp_scan scan = { 0 };

    ret_reply->size = 0;
    while (scan.status == BWL_RESP_MORE && ret_reply->size < REPLY_MAX) {
        struct pollfd ready  = { .fd = line->fd, .events = POLLIN };
        ssize_t       got    = -1;
        int           polled = poll(&ready, 1, ANSWER_WITHIN_MS);
        if (polled < 0 && errno == EINTR)
            continue;
        if (polled > 0)
            got =
                recv(line->fd, ret_reply->bytes + ret_reply->size, REPLY_MAX - ret_reply->size, 0);
        if (got <= 0) {
            *reterr = bwl_say("the server does not answer");
            return false;
        }
        ret_reply->size += (size_t)got;
        (void)bwl_resp_scan_bytes(&scan, ret_reply->bytes, ret_reply->size); /* in scan.status */
    }
    if (scan.status == BWL_RESP_OK && scan.size == ret_reply->size)
        return true;
    *reterr = bwl_say("the server's answer is not one");
    return false;
}

static bool ask(const bwl_line *line, const bwl_resp_writer *command, reply *ret_reply,
                bwl_text *reterr)
{
    assert(!command->overflowed);
    return send_all(line, command->bytes, command->size, reterr) &&
           receive(line, ret_reply, reterr);
}

/* The first line of it, as it came. */
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

/* ---- words ----------------------------------------------------------------------------------- */

bool bwl_line_ask(const bwl_line *line, const bwl_redis_question *question, bwl_answer *ret_answer,
                  bwl_text *ret_said, bwl_text *reterr)
{
    bwl_redis_question q       = *question;
    bwl_redis_verdict  verdict = BWL_REDIS_NOSCRIPT;
    char               room[COMMAND_MAX];
    reply              r;

    q.by_text = false;
    while (verdict == BWL_REDIS_NOSCRIPT) {
        bwl_resp_writer writer = { .bytes = room, .capacity = sizeof room };
        bwl_redis_write(&writer, &q);
        if (!ask(line, &writer, &r, reterr))
            return false;
        verdict = bwl_redis_read(q.word, r.bytes, r.size, ret_answer);
        if (q.by_text && verdict == BWL_REDIS_NOSCRIPT)
            break;
        q.by_text = true;
    }
    *ret_said = shown(&r);
    if (verdict == BWL_REDIS_ANSWER)
        return true;
    *reterr = bwl_say("the server answers %s, which is no answer to that", ret_said->of);
    return false;
}

bool bwl_line_say(const bwl_line *line, const char *command, bwl_text *ret_said, bwl_text *reterr)
{
    char            room[COMMAND_MAX];
    bwl_resp_writer writer = { .bytes = room, .capacity = sizeof room };
    bwl_text        copy   = bwl_say("%s", command);
    const char     *words[WORDS_MAX];
    uint32_t        count = 0;
    char           *rest  = copy.of;
    reply           r;

    for (char *word; count < WORDS_MAX && (word = strtok_r(rest, " ", &rest)) != NULL;)
        words[count++] = word;
    bwl_resp_write_array(&writer, count);
    for (uint32_t i = 0; i < count; i++)
        bwl_resp_write_text(&writer, words[i]);
    if (!ask(line, &writer, &r, reterr))
        return false;
    *ret_said = shown(&r);
    return true;
}
