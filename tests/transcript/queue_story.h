/*
 * queue_story.h -- items of locks with a queue, besides those of transcript.h.
 *
 *      JOIN as A, claim 2000     JOIN as B by 5, claim 4000     BEAT as A
 *      -> held N | claimed N | mine N | busy | gone | full | more  (N: the fence; mine: ticket 5)
 *      -> queued R, HOLDER, at T     (behind R others, by ticket 5; T: ms of the server's clock;
 *                                     HOLDER: N left | endless; a stranger's)
 *      gives N at T                  (a push, sent when the server's clock showed T)
 */
#ifndef QUEUE_STORY_H
#define QUEUE_STORY_H

#include "tests/lib/testing.h"

#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

#include <stdio.h>
#include <stdlib.h>

enum { STORY_TICKET = 5 };

/* Writes the request; `token` is its letter, `lease_ms` the lock request's. */
static inline void queue_ask_text(char *to, size_t room, const bwl_ask *ask, char token,
                                  bwl_ms lease_ms)
{
    static const char *const words[]    = { "TAKE",    "JOIN",   "BEAT", "EXTEND",
                                            "RELEASE", "CANCEL", "POKE", "REQUEUE" };
    const char              *word       = words[ask->word - REDIS_QUEUE_TAKE];
    char                     ticket[32] = "";

    bool in_line = ask->word == REDIS_QUEUE_JOIN || ask->word == REDIS_QUEUE_BEAT ||
                   ask->word == REDIS_QUEUE_REQUEUE;
    assert_int_equal(ask->claim_ms > 0, in_line);
    if (ask->stamp != 0)
        (void)snprintf(ticket, sizeof ticket, " by %lld", (long long)ask->stamp);
    if (ask->word == REDIS_QUEUE_JOIN || ask->word == REDIS_QUEUE_REQUEUE)
        (void)snprintf(to, room, "%s as %c%s, claim %lld", word, token, ticket,
                       (long long)ask->claim_ms);
    else if (ask->word == REDIS_QUEUE_TAKE || ask->word == REDIS_QUEUE_EXTEND)
        (void)snprintf(to, room, "%s as %c for %lld", word, token, (long long)lease_ms);
    else
        (void)snprintf(to, room, "%s as %c", word, token);
}

/* "N at T" or ", at T": the server's time, never 0. */
static inline int64_t story_server_us(const char *text)
{
    const char *at = strstr(text, "at ");

    return at == NULL ? 0 : (1000000 + strtoll(at + 3, NULL, 10)) * 1000;
}

static inline void read_queued(const char *text, bwl_place *ret_place)
{
    char *rest = NULL;

    ret_place->ticket    = STORY_TICKET;
    ret_place->rank      = strtoull(text, &rest, 10);
    ret_place->is_ours   = strstr(text, "a stranger's") == NULL;
    ret_place->ends      = strstr(text, " left") != NULL;
    ret_place->server_us = story_server_us(text);
    if (ret_place->ends)
        ret_place->left_ms = strtoll(rest + 2, NULL, 10);
}

/* True if the text is a reply of the queue's scripts. */
static inline bool read_queue_answer(const char *text, bwl_event *ev, bwl_place *ret_place)
{
    static const struct {
        const char   *word;
        bwl_answer    answer;
        bwl_queue_how how;
    } rows[] = {
        { "held ", BWL_YES, BWL_HOW_HELD }, { "claimed ", BWL_YES, BWL_HOW_CLAIMED },
        { "mine ", BWL_YES, BWL_HOW_MINE }, { "busy", BWL_NO, BWL_HOW_BUSY },
        { "gone", BWL_NO, BWL_HOW_GONE },   { "full", BWL_NO, BWL_HOW_FULL },
        { "more", BWL_YES, BWL_HOW_MORE },  { "queued ", BWL_NO, BWL_HOW_QUEUED },
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length = strlen(rows[i].word);
        if (strncmp(text, rows[i].word, length) != 0)
            continue;
        ev->answer = rows[i].answer;
        *ret_place = (bwl_place){ .how = rows[i].how };
        if (rows[i].how == BWL_HOW_QUEUED)
            read_queued(text + length, ret_place);
        else
            ev->number = strtoull(text + length, NULL, 10);
        if (rows[i].how == BWL_HOW_MINE)
            ret_place->ticket = STORY_TICKET;
        ev->place = ret_place;
        return true;
    }
    return false;
}

#endif
