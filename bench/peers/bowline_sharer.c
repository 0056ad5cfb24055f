/*
 * bowline_sharer.c -- a party that shares locks with bowline: the contract of README.md, "Shared
 * locks".
 *
 *     bowline-sharer URL
 *
 * A party is this process; what it calls itself is repeated in its answers.
 */
#include <bowline/bowline.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE_MAX_BYTES = 512, WORDS_MAX = 16, GRANTS_MAX = 8, NAMES_MAX = 8, URL_MAX = 512 };

/* What one command has acquired. */
typedef struct grant {
    bowline_hold *holds[NAMES_MAX];
    size_t        count;
} grant;

/* Clients of a lock that is renewed, of one that is not, and of one with protocol token. */
static bowline_client *renewing, *lapsing, *plain;

static grant         grants[GRANTS_MAX]; /* the latest one last */
static size_t        grants_count;
static bowline_error error;

/* ---- commands -------------------------------------------------------------------------------- */

static int64_t number_of(const char *word)
{
    return strtoll(word, NULL, 10);
}

/* Mode: read, write, free (an ordinary lock), or K/N permits. */
static int acquire(grant *ret_grant, bowline_client *client, const char *mode,
                   const char *const names[], size_t count, int64_t wait_ms, int64_t lease_ms)
{
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    const char             *slash   = strchr(mode, '/');

    options.wait_ms  = wait_ms < 0 ? BOWLINE_FOREVER : wait_ms;
    options.lease_ms = (uint32_t)lease_ms;
    options.mode     = slash != NULL               ? BOWLINE_PERMITS
                       : strcmp(mode, "read") == 0 ? BOWLINE_SHARED
                                                   : BOWLINE_EXCLUSIVE;
    if (slash != NULL) {
        options.permits = (uint32_t)number_of(mode);
        options.limit   = (uint32_t)number_of(slash + 1);
    }
    ret_grant->count = count;
    return count == 1
               ? bowline_acquire(&ret_grant->holds[0], client, names[0], &options, &error)
               : bowline_acquire_all(ret_grant->holds, client, names, count, &options, &error);
}

static int give_back(grant *g)
{
    return g->count == 1 ? bowline_release(g->holds[0], &error)
                         : bowline_release_all(g->holds, g->count, &error);
}

static const char *answer_of(int status, const char *good)
{
    static char text[LINE_MAX_BYTES];

    if (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT)
        return "busy";
    if (status == BOWLINE_OK)
        return good;
    (void)snprintf(text, sizeof text, "error %s", error.text);
    return text;
}

static const char *take(const char *mode, const char *const names[], size_t count, int64_t wait_ms,
                        int64_t lease_ms)
{
    bowline_client *client = lease_ms > 0 ? lapsing : renewing;
    int             status;

    if (grants_count == GRANTS_MAX || count > NAMES_MAX)
        return "error too many";
    status = acquire(&grants[grants_count], client, mode, names, count, wait_ms, lease_ms);
    grants_count += status == BOWLINE_OK;
    return answer_of(status, "held");
}

static const char *release(void)
{
    if (grants_count == 0)
        return "error nothing is held";
    return answer_of(give_back(&grants[--grants_count]), "released");
}

/* The latest grant. */
static const char *change(int (*mode)(bowline_hold *, bowline_error *))
{
    if (grants_count == 0)
        return "error nothing is held";
    return answer_of(mode(grants[grants_count - 1].holds[0], &error), "held");
}

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Mode all: eight names; plain: by protocol token. */
static const char *pairs(const char *mode, const char *name, int64_t pairs_count)
{
    static char text[LINE_MAX_BYTES];
    char        names[NAMES_MAX][LINE_MAX_BYTES];
    const char *all[NAMES_MAX];
    bool        is_plain = strcmp(mode, "plain") == 0;
    size_t      count    = strcmp(mode, "all") == 0 ? NAMES_MAX : 1;
    int64_t     began    = now_ns();

    for (size_t i = 0; i < NAMES_MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s%zu", name, i);
        all[i] = names[i];
    }
    for (int64_t i = 0; i < pairs_count; i++) {
        grant g;
        int   status = acquire(&g, is_plain ? plain : renewing, mode, all, count, -1, 0);
        if (status == BOWLINE_OK)
            status = give_back(&g);
        if (status != BOWLINE_OK)
            return answer_of(status, "");
    }
    (void)snprintf(text, sizeof text, "pairs %" PRId64, now_ns() - began);
    return text;
}

static const char *answer(char *words[], size_t count)
{
    static char        text[LINE_MAX_BYTES];
    const char *const *names = (const char *const *)words;

    if (count == 5 && strcmp(words[0], "take") == 0)
        return take(words[1], &names[2], 1, number_of(words[3]), number_of(words[4]));
    if (count > 1 && strcmp(words[0], "all") == 0)
        return take("free", &names[1], count - 1, -1, 0);
    if (count == 1 && strcmp(words[0], "release") == 0)
        return release();
    if (count == 2 && strcmp(words[0], "downgrade") == 0)
        return change(bowline_downgrade);
    if (count == 2 && strcmp(words[0], "upgrade") == 0)
        return change(bowline_upgrade);
    if (count == 4 && strcmp(words[0], "pairs") == 0)
        return pairs(words[1], words[2], number_of(words[3]));
    (void)snprintf(text, sizeof text, "error bowline has no %s", words[0]);
    return text;
}

/* ---- the program ----------------------------------------------------------------------------- */

static bowline_client *must_open(const char *url, const char *more)
{
    bowline_client *client;
    char            whole[URL_MAX];

    (void)snprintf(whole, sizeof whole, "%s%c%s", url, strchr(url, '?') == NULL ? '?' : '&', more);
    if (bowline_open(&client, BOWLINE_OPTIONS(.url = whole), &error) < 0) {
        (void)fprintf(stderr, "bowline-sharer: %s\n", error.text);
        exit(1);
    }
    return client;
}

int main(int argc, char **argv)
{
    char line[LINE_MAX_BYTES];

    if (argc != 2) {
        (void)fprintf(stderr, "usage: bowline-sharer URL\n");
        return 2;
    }
    renewing = must_open(argv[1], "renew=on");
    lapsing  = must_open(argv[1], "renew=off");
    plain    = must_open(argv[1], "protocol=token");
    while (fgets(line, sizeof line, stdin) != NULL) {
        char  *words[WORDS_MAX] = { 0 };
        char  *rest             = line;
        char  *party            = strtok_r(rest, " \n", &rest);
        size_t count            = 0;
        while (count < WORDS_MAX && (words[count] = strtok_r(rest, " \n", &rest)) != NULL)
            count++;
        (void)printf("%s %s\n", party, count > 0 ? answer(words, count) : "error empty line");
        (void)fflush(stdout);
    }
    bowline_close(plain);
    bowline_close(lapsing);
    bowline_close(renewing);
    return 0;
}
