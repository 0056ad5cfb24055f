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

enum { LINE_MAX_BYTES = 512, WORDS_MAX = 16, HOLDS_MAX = 8, URL_MAX = 512 };

/* Clients of a lock that is renewed, of one that is not, and of one with protocol token. */
static bowline_client *renewing, *lapsing, *plain;

static bowline_hold *holds[HOLDS_MAX]; /* the latest one last */
static size_t        holds_count;
static bowline_error error;

/* ---- commands -------------------------------------------------------------------------------- */

static int64_t number_of(const char *word)
{
    return strtoll(word, NULL, 10);
}

/* Mode: read, write, free (an ordinary lock), or K/N permits. */
static int acquire(bowline_hold **ret_hold, bowline_client *client, const char *mode,
                   const char *name, int64_t wait_ms, int64_t lease_ms)
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
    return bowline_acquire(ret_hold, client, name, &options, &error);
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

static const char *take(char *words[])
{
    bowline_client *client = number_of(words[4]) > 0 ? lapsing : renewing;
    int             status;

    if (holds_count == HOLDS_MAX)
        return "error too many holds";
    status = acquire(&holds[holds_count], client, words[1], words[2], number_of(words[3]),
                     number_of(words[4]));
    holds_count += status == BOWLINE_OK;
    return answer_of(status, "held");
}

static const char *release(void)
{
    if (holds_count == 0)
        return "error nothing is held";
    return answer_of(bowline_release(holds[--holds_count], &error), "released");
}

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *pairs(char *words[])
{
    static char     text[LINE_MAX_BYTES];
    bool            is_plain = strcmp(words[1], "plain") == 0;
    bowline_client *client   = is_plain ? plain : renewing;
    const char     *mode     = is_plain ? "write" : words[1];
    int64_t         count    = number_of(words[3]);
    int64_t         began    = now_ns();

    for (int64_t i = 0; i < count; i++) {
        bowline_hold *hold;
        int           status = acquire(&hold, client, mode, words[2], -1, 0);
        if (status == BOWLINE_OK)
            status = bowline_release(hold, &error);
        if (status != BOWLINE_OK)
            return answer_of(status, "");
    }
    (void)snprintf(text, sizeof text, "pairs %" PRId64, now_ns() - began);
    return text;
}

static const char *answer(char *words[], size_t count)
{
    static char text[LINE_MAX_BYTES];

    if (count == 5 && strcmp(words[0], "take") == 0)
        return take(words);
    if (count == 1 && strcmp(words[0], "release") == 0)
        return release();
    if (count == 4 && strcmp(words[0], "pairs") == 0 && strcmp(words[1], "all") != 0)
        return pairs(words);
    (void)snprintf(text, sizeof text, "error bowline has no %s",
                   strcmp(words[0], "all") == 0 ? "lock of several names" : words[0]);
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
