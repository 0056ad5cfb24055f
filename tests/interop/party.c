/*
 * party.c -- the party of bowline: the library, controlled by lines on stdin.
 *
 *     interop_party QUERY HOST PORT KEY LEASE_MS WITNESS WHO
 *
 * QUERY is the query of the URL, which selects the protocol or profile; KEY is the name of the
 * lock.  With several ports, as in 7001,7002,7003, the lock is on the majority of these servers:
 * redlock://.  The interface of all parties is in arena.py:
 *
 *     acquire WAIT_MS    held | busy | error TEXT
 *     release            released | lost | error TEXT
 *     extend LEASE_MS    extended | lost | error TEXT
 *     fence              the fence of the hold; 0: none
 *     contend COUNT      one line of JSON
 */
#include <bowline/bowline.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 128, URL_MAX_BYTES = 1024, PATIENCE_MS = 60000, GIVE_UP_MAX = 3 };

typedef struct party {
    bowline_client *client;
    bowline_hold   *hold;
    const char     *key;
    const char     *who;
    int             witness;
    long            rest_us; /* after a release */
    char            error_text[BOWLINE_ERROR_TEXT_MAX];
} party;

typedef struct tally {
    unsigned acquired;
    unsigned overlaps;
    unsigned lost;
    unsigned gave_up;
    unsigned errors;
} tally;

static void sleep_up_to_us(long most_us)
{
    struct timespec pause = { .tv_nsec = (random() % most_us) * 1000 };

    (void)nanosleep(&pause, NULL);
}

static const char *acquire(party *p, int64_t wait_ms)
{
    bowline_error error = { 0 };
    int           status =
        bowline_acquire(&p->hold, p->client, p->key, BOWLINE_ACQUIRE(.wait_ms = wait_ms), &error);

    if (status == BOWLINE_OK)
        return "held";
    if (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT)
        return "busy";
    (void)snprintf(p->error_text, sizeof p->error_text, "%s", error.text);
    return "error";
}

static const char *reply_of(party *p, int status, const bowline_error *error, const char *good)
{
    if (status == BOWLINE_OK)
        return good;
    if (status == BOWLINE_LOST)
        return "lost";
    (void)snprintf(p->error_text, sizeof p->error_text, "%s", error->text);
    return "error";
}

static const char *release(party *p)
{
    bowline_error error  = { 0 };
    int           status = bowline_release(p->hold, &error);

    p->hold = NULL;
    return reply_of(p, status, &error, "released");
}

static const char *extend(party *p, int64_t lease_ms)
{
    bowline_error error  = { 0 };
    int           status = bowline_extend(p->hold, (uint32_t)lease_ms, &error);

    return reply_of(p, status, &error, "extended");
}

/* Appends one line in one write: the lines are in the order of the events. */
static void record(const party *p, const char *what)
{
    char line[LINE_MAX_BYTES];
    int  length = snprintf(line, sizeof line, "%s %s\n", what, p->who);

    if (write(p->witness, line, (size_t)length) != length)
        abort();
}

/* True if no other party was inside. */
static bool work(const party *p)
{
    bool is_alone = flock(p->witness, LOCK_EX | LOCK_NB) == 0;

    record(p, "in");
    sleep_up_to_us(4000);
    record(p, "out");
    if (is_alone)
        (void)flock(p->witness, LOCK_UN);
    return is_alone;
}

static void contend(party *p, unsigned count)
{
    tally t = { 0 };

    p->error_text[0] = '\0';
    while (t.acquired < count && t.gave_up + t.errors < GIVE_UP_MAX) {
        const char *reply = acquire(p, PATIENCE_MS);

        if (strcmp(reply, "held") != 0) {
            t.gave_up += strcmp(reply, "busy") == 0;
            t.errors += strcmp(reply, "error") == 0;
            continue;
        }
        t.acquired++;
        t.overlaps += !work(p);
        reply = release(p);
        t.lost += strcmp(reply, "lost") == 0;
        t.errors += strcmp(reply, "error") == 0;
        sleep_up_to_us(p->rest_us);
    }
    for (char *c = p->error_text; *c; c++)
        *c = *c == '"' || *c == '\\' ? '\'' : *c;
    printf("{\"who\": \"%s\", \"acquired\": %u, \"overlaps\": %u, \"lost\": %u, \"gave_up\": %u, "
           "\"errors\": %u, \"stolen\": 0, \"note\": \"%s\"}\n",
           p->who, t.acquired, t.overlaps, t.lost, t.gave_up, t.errors, p->error_text);
}

static void execute(party *p, const char *line)
{
    const char *reply   = NULL;
    int64_t     wait_ms = 0;
    unsigned    count   = 0;

    if (sscanf(line, "contend %u", &count) == 1) {
        contend(p, count);
        return;
    }
    if (strcmp(line, "fence\n") == 0) {
        printf("%" PRIu64 "\n", bowline_hold_fence(p->hold));
        return;
    }
    if (sscanf(line, "acquire %" SCNd64, &wait_ms) == 1)
        reply = acquire(p, wait_ms);
    else if (sscanf(line, "extend %" SCNd64, &wait_ms) == 1)
        reply = extend(p, wait_ms);
    else if (strcmp(line, "release\n") == 0)
        reply = release(p);
    else
        exit(2);
    if (strcmp(reply, "error") == 0)
        printf("error %s\n", p->error_text);
    else
        puts(reply);
}

static void write_url(char ret_url[URL_MAX_BYTES], const char *host, const char *ports,
                      const char *query)
{
    const char *end = ports + strcspn(ports, ",");
    int         size;

    if (*end == '\0') {
        (void)snprintf(ret_url, URL_MAX_BYTES, "redis://%s:%s?%s", host, ports, query);
        return;
    }
    size = snprintf(ret_url, URL_MAX_BYTES, "redlock://");
    for (; *ports != '\0'; ports = end + (*end == ',')) {
        end = ports + strcspn(ports, ",");
        size += snprintf(ret_url + size, URL_MAX_BYTES - (size_t)size, "%s:%.*s%s", host,
                         (int)(end - ports), ports, *end == ',' ? "," : "");
    }
    (void)snprintf(ret_url + size, URL_MAX_BYTES - (size_t)size, "?restart-wait=off&%s", query);
}

int main(int argc, char **argv)
{
    party         p     = { 0 };
    bowline_error error = { 0 };
    char          url[URL_MAX_BYTES], line[LINE_MAX_BYTES];

    if (argc != 8) {
        (void)fputs("usage: interop_party QUERY HOST PORT KEY LEASE_MS WITNESS WHO\n", stderr);
        return 2;
    }
    p.key     = argv[4];
    p.who     = argv[7];
    p.witness = open(argv[6], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (p.witness < 0) {
        (void)fprintf(stderr, "interop_party: %s: %s\n", argv[6], strerror(errno));
        return 1;
    }
    p.rest_us = 1000 * strtol(getenv("REST_MS") ? getenv("REST_MS") : "4", NULL, 10);
    srandom((unsigned)getpid());
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    write_url(url, argv[2], argv[3], argv[1]);
    if (bowline_open(&p.client,
                     BOWLINE_OPTIONS(.url = url, .lease_ms = (uint32_t)strtoul(argv[5], NULL, 10)),
                     &error) < 0) {
        printf("error %s\n", error.text);
        return 1;
    }
    puts("ready");
    while (fgets(line, sizeof line, stdin))
        execute(&p, line);
    bowline_close(p.client);
    return 0;
}
