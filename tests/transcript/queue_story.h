/*
 * queue_story.h -- items of locks with a queue, besides those of transcript.h.
 *
 *      JOIN as A, grant 2000     JOIN as B by 5, grant 4000     HEARTBEAT as A
 *      -> held N | granted N | mine N | busy | gone | full | more  (N: the fence; mine: ticket 5)
 *      -> queued R, HOLDER, at T     (behind R others, by ticket 5; T: ms of the server's clock;
 *                                     HOLDER: N left | endless; foreign)
 *      grants N at T                 (a push, sent when the server's clock showed T)
 */
#pragma once

#include "tests/lib/testing.h"

#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

#include <stdio.h>
#include <stdlib.h>

enum { STORY_TICKET = 5 };

/* Writes the request; `token` is its letter. */
static inline void queue_send_text(char *to, size_t room, const bwl_send *send, char token,
                                   const char *lease)
{
    static const char *const words[]    = { "TAKE", "JOIN",   "HEARTBEAT",     "EXTEND", "RELEASE",
                                            "REST", "CANCEL", "DISPATCH_NEXT", "REQUEUE" };
    const char              *command    = words[send->command - REDIS_QUEUE_TAKE];
    char                     ticket[32] = "";

    bool is_queued = send->command == REDIS_QUEUE_JOIN || send->command == REDIS_QUEUE_HEARTBEAT ||
                     send->command == REDIS_QUEUE_REQUEUE;
    if (send->command != REDIS_QUEUE_EXTEND) /* where it is CONFIRMS */
        assert_int_equal(send->args[REDIS_ARG_TTL_MS] > 0, is_queued);
    if (send->command == REDIS_QUEUE_JOIN && send->args[REDIS_ARG_TICKET] != 0)
        (void)snprintf(ticket, sizeof ticket, " by %lld", (long long)send->args[REDIS_ARG_TICKET]);
    if (send->command == REDIS_QUEUE_REST)
        (void)snprintf(ticket, sizeof ticket, ", %lld", (long long)send->args[REDIS_ARG_REST_MS]);
    if (send->command == REDIS_QUEUE_JOIN || send->command == REDIS_QUEUE_REQUEUE)
        (void)snprintf(to, room, "%s as %c%s, grant %lld", command, token, ticket,
                       (long long)send->args[REDIS_ARG_TTL_MS]);
    else
        (void)snprintf(to, room, "%s as %c%s", command, token,
                       send->command == REDIS_QUEUE_REST ? ticket
                       : send->command == REDIS_QUEUE_TAKE || send->command == REDIS_QUEUE_EXTEND
                           ? lease
                           : "");
}

/* "N at T" or ", at T": the server's time, never 0. */
static inline int64_t story_server_us(const char *text)
{
    const char *at = strstr(text, "at ");

    return at == NULL ? 0 : (1000000 + strtoll(at + 3, NULL, 10)) * 1000;
}

static inline void read_queued(const char *text, bwl_queue_status *ret_place)
{
    char *rest = NULL;

    ret_place->ticket    = STORY_TICKET;
    ret_place->rank      = strtoull(text, &rest, 10);
    ret_place->is_ours   = strstr(text, "foreign") == NULL;
    ret_place->ends      = strstr(text, " left") != NULL;
    ret_place->server_us = story_server_us(text);
    if (ret_place->ends)
        ret_place->left_ms = strtoll(rest + 2, NULL, 10);
}

/* True if the text is a reply of the queue's scripts. */
static inline bool read_queue_answer(const char *text, bwl_event *ev, bwl_queue_status *ret_place)
{
    static const struct {
        const char           *command;
        bwl_answer            answer;
        bwl_queue_status_kind kind;
    } rows[] = {
        { "held ", BWL_YES, BWL_QUEUE_STATUS_HELD },
        { "granted ", BWL_YES, BWL_QUEUE_STATUS_PROVISIONAL },
        { "mine ", BWL_YES, BWL_QUEUE_STATUS_MINE },
        { "busy", BWL_NO, BWL_QUEUE_STATUS_BUSY },
        { "gone", BWL_NO, BWL_QUEUE_STATUS_GONE },
        { "full", BWL_NO, BWL_QUEUE_STATUS_FULL },
        { "more", BWL_YES, BWL_QUEUE_STATUS_MORE },
        { "queued ", BWL_NO, BWL_QUEUE_STATUS_QUEUED },
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length = strlen(rows[i].command);
        if (strncmp(text, rows[i].command, length) != 0)
            continue;
        ev->answer       = rows[i].answer;
        *ret_place       = (bwl_queue_status){ .kind = rows[i].kind };
        ret_place->rests = strstr(text, "resting") != NULL;
        if (rows[i].kind == BWL_QUEUE_STATUS_QUEUED)
            read_queued(text + length, ret_place);
        else
            ev->number = strtoull(text + length, NULL, 10);
        if (rows[i].kind == BWL_QUEUE_STATUS_MINE)
            ret_place->ticket = STORY_TICKET;
        ev->details = ret_place;
        return true;
    }
    return false;
}
