/*
 * queue_pushes.h -- connections to a server that listen to inboxes, and what is pushed to them.
 */
#ifndef TEST_QUEUE_PUSHES_H
#define TEST_QUEUE_PUSHES_H

#include "lab/model/queue.h"
#include "engine/redis/wire/queue.h"
#include "tests/lib/wire.h"

#include <stdio.h>

static wire    wires[BWL_MODEL_CONNECTIONS];
static bool    has_shards;                        /* the server                                   */
static uint8_t channel_of[BWL_MODEL_CONNECTIONS]; /* where each listens; 0: nowhere */

/* What came to whom, since the last question. */
static unsigned       pushes;
static unsigned       pushed_to;
static bwl_queue_push push;

static void write_inbox(char ret_channel[BWL_QUEUE_CHANNEL_SIZE + 1], unsigned client,
                        unsigned push_channel)
{
    ret_channel[0] = '\0';
    if (push_channel != 0)
        (void)snprintf(ret_channel, BWL_QUEUE_CHANNEL_SIZE + 1, BWL_QUEUE_CHANNEL "%010u.%011u",
                       client, push_channel);
}

static void note_push(unsigned connection, bwl_resp_cursor frame)
{
    bwl_queue_push read;
    char           text[BWL_QUEUE_CHANNEL_SIZE + 1];

    write_inbox(text, connection % BWL_MODEL_CLIENTS, channel_of[connection]);
    read = bwl_queue_read_push(text, frame.bytes, frame.size);
    if (read.kind != BWL_PUSH_GRANT)
        return; /* what SUBSCRIBE says */
    pushes++;
    pushed_to = connection;
    push      = read;
}

/* The next frame that is no push; what is pushed before it is noted. */
static bwl_resp_cursor next_answer(unsigned connection)
{
    bwl_resp_cursor frame = wire_next(&wires[connection]);

    while (frame.bytes[0] == '>') {
        note_push(connection, frame);
        frame = wire_next(&wires[connection]);
    }
    return frame;
}

/* An answer after a push on the same connection shows that there is no more.  All are asked before
 * the first is waited for; who listens nowhere can hear nothing. */
static void gather_pushes(unsigned but)
{
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++)
        if (i != but && channel_of[i] != 0) {
            wire_say(&wires[i], "PING");
            wire_flush(&wires[i]);
        }
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++)
        if (i != but && channel_of[i] != 0)
            (void)next_answer(i);
}

/* Whoever listens there already is left alone. */
static void listen_on_server(unsigned connection, uint8_t push_channel)
{
    char text[BWL_QUEUE_CHANNEL_SIZE + 1];
    char command[BWL_QUEUE_CHANNEL_SIZE + 16];

    if (channel_of[connection] == push_channel)
        return;
    wire_say(&wires[connection], has_shards ? "SUNSUBSCRIBE" : "UNSUBSCRIBE");
    write_inbox(text, connection % BWL_MODEL_CLIENTS, push_channel);
    (void)snprintf(command, sizeof command, "%s %s", has_shards ? "SSUBSCRIBE" : "SUBSCRIBE", text);
    if (push_channel != 0)
        wire_say(&wires[connection], command);
    wire_say(&wires[connection], "PING");
    wire_flush(&wires[connection]);
    (void)next_answer(connection);
    channel_of[connection] = push_channel;
}

#endif
