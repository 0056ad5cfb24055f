/*
 * stage.h -- the state of a replay: the world, the real server, its connections, and the comparison
 * with the model.
 */
#pragma once

#include "lab/replay/real_server.h"
#include "lab/report/record.h"

#define BWL_STAGE_KEY "bowline:{lab}"

typedef struct bwl_stage {
    const bwl_record *record;
    bwl_world         w; /* its clients get the answers of the real server */
    bwl_real_server   server;
    bwl_line          watcher; /* reads the key, and sets it for faults */
    bwl_line          lines[BWL_CLIENTS_MAX];
    bwl_line          late[BWL_CLIENTS_MAX][BWL_MESSAGES_MAX]; /* for the clients' late messages */
    unsigned          scale;
    bwl_ms            began; /* in real time */
    bwl_ms            started;
    unsigned          answers; /* compared so far */
    bwl_text          fault[3];
} bwl_stage;

bwl_ms bwl_real_ms(void);

/* Records the failure.  Always false. */
bool bwl_stage_fails(bwl_stage *s, const char *what, bwl_text why);

/* Begins a line of the log, or writes a whole one. */
void bwl_stage_tells(const bwl_stage *s, unsigned step, unsigned client, const char *what);
void bwl_stage_tells_of_server(const bwl_stage *s, unsigned step, const char *what);

/* Sends a command of the lab itself. */
bool bwl_stage_asks(bwl_stage *s, const char *command, bwl_text *ret_said);

/* Compares the real key with the model's.  Later answers compare its TTL. */
bool bwl_stage_compares_key(bwl_stage *s);

/* Sets the real key to the model's, with a line in the log. */
bool bwl_stage_puts_key(bwl_stage *s);
bool bwl_stage_puts_by_hand(bwl_stage *s, unsigned step, const char *what);

/* Opens the connection if it is closed. */
bool bwl_stage_opens(bwl_stage *s, bwl_line *line);

bool bwl_stage_puts(bwl_stage *s, bwl_line *line, const bwl_message *message,
                    bwl_redis_reply *ret_reply, bwl_text *ret_said);

/* True if both answers have the same effect on a machine.  `served` is the model's. */
bool bwl_stage_is_same(const bwl_stage *s, const bwl_message *served, const bwl_redis_reply *real);
uint64_t bwl_stage_number(const bwl_stage *s, const bwl_message *served);
