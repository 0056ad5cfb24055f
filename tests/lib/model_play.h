/*
 * model_play.h -- runs the model server and a real one side by side: both get the same commands,
 * and every reply is compared.
 *
 * The real server's clock stops until play_clock moves it.  Commands of one connection are buffered
 * and sent at once; call play_complete before commands of another.
 */
#ifndef TEST_MODEL_PLAY_H
#define TEST_MODEL_PLAY_H

#include "lab/model/redis.h"

/* Falsifies the model after each command; `before` is its state before the command. */
typedef void model_mutation(bwl_model_redis *r, const bwl_model_redis *before, unsigned connection,
                            const bwl_model_command *cmd, bwl_model_frame *reply);

enum { PLAY_CONNECTIONS = 3 };

extern bwl_model_redis play_model;

void play_open(void);
void play_close(void);

/* A new sequence: no keys, no watches, the clock at its start. */
void play_begin(void);
void play_command(unsigned connection, const bwl_model_command *cmd);
void play_complete(unsigned connection);

void play_clock(int64_t by_ms);
void play_evict(unsigned key);
void play_cut(unsigned connection);
void play_save(void);
void play_restart(bool is_empty); /* otherwise from the saved data */

/* The result since play_begin. */
bool        play_differs(void);
const char *play_story(void);

/* After a difference: new connections. */
void play_again(void);

/* NULL: none. */
void play_with(model_mutation *mutation);

#endif
