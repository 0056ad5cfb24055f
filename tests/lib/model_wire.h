/*
 * model_wire.h -- the model server's commands and replies as a real server writes them.
 *
 * Keys are k0, k1 ..., members m0 ..., channels c0 ...; a value that is a text is t00000 ...
 */
#ifndef TEST_MODEL_WIRE_H
#define TEST_MODEL_WIRE_H

#include "lab/model/redis.h"
#include "engine/redis/wire/resp.h"

/* A reply of the model that the real server must match. */
typedef struct model_expectation {
    bwl_model_command cmd; /* of a push: the command that caused it */
    bwl_model_frame   reply;
} model_expectation;

void model_write(bwl_resp_writer *out, const bwl_model_command *cmd);

/* Whether the frame matches the model's. */
bool model_is_reply(bwl_resp_cursor cursor, const model_expectation *e);
bool model_is_push(bwl_resp_cursor cursor, const model_expectation *e);

#endif
