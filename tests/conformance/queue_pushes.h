/*
 * queue_pushes.h -- connections that subscribe to push channels of a server, and their pushes.
 */
#pragma once

#include "lab/model/queue.h"
#include "engine/redis/wire/queue.h"
#include "tests/lib/wire.h"

#include <stdio.h>

static wire    wires[BWL_MODEL_CONNECTIONS];
static bool    has_shards;                        /* the server                                   */
static uint8_t channel_of[BWL_MODEL_CONNECTIONS]; /* the push channel of each connection; 0: none */

/* The pushes and their receivers, since the last request. */
enum { PUSHES_MAX = BWL_MODEL_GRANTS_MAX };
static unsigned       pushes;
static unsigned       pushed_to[PUSHES_MAX];
static bwl_queue_push pushed[PUSHES_MAX];

static void write_push_channel(char ret_channel[BWL_QUEUE_CHANNEL_SIZE + 1], unsigned client,
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

    write_push_channel(text, connection % BWL_MODEL_CLIENTS, channel_of[connection]);
    read = bwl_queue_read_push(text, frame.bytes, frame.size);
    if (read.kind != BWL_PUSH_GRANT)
        return; /* reply to SUBSCRIBE */
    assert_true(pushes < PUSHES_MAX);
    pushed_to[pushes] = connection;
    pushed[pushes++]  = read;
}

/* Returns the next frame that is no push; records the pushes before it. */
static bwl_resp_cursor next_answer(unsigned connection)
{
    bwl_resp_cursor frame = wire_next(&wires[connection]);

    while (frame.bytes[0] == '>') {
        note_push(connection, frame);
        frame = wire_next(&wires[connection]);
    }
    return frame;
}

/* A reply after a push on the same connection shows that there is no other push.  All requests are
 * sent before the first reply is read; a connection without a subscription receives none. */
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

/* Does nothing if the connection has this subscription already. */
static void subscribe_on_server(unsigned connection, uint8_t push_channel)
{
    char text[BWL_QUEUE_CHANNEL_SIZE + 1];
    char command[BWL_QUEUE_CHANNEL_SIZE + 16];

    if (channel_of[connection] == push_channel)
        return;
    wire_say(&wires[connection], has_shards ? "SUNSUBSCRIBE" : "UNSUBSCRIBE");
    write_push_channel(text, connection % BWL_MODEL_CLIENTS, push_channel);
    (void)snprintf(command, sizeof command, "%s %s", has_shards ? "SSUBSCRIBE" : "SUBSCRIBE", text);
    if (push_channel != 0)
        wire_say(&wires[connection], command);
    wire_say(&wires[connection], "PING");
    wire_flush(&wires[connection]);
    (void)next_answer(connection);
    channel_of[connection] = push_channel;
}
