/*
 * model_words.h -- the words of src/store/redis.h, carried out by the model server.
 *
 * Each is the command or the script that src/redis makes of it.
 */
#ifndef BWL_LAB_MODEL_WORDS_H
#define BWL_LAB_MODEL_WORDS_H

#include "lab/model_redis.h"
#include "store/redis.h"

typedef struct bwl_model_question {
    bwl_redis_word word;
    uint8_t        connection;
    uint16_t       token; /* a number: see token_number.h                                         */
    bwl_ms         lease_ms;
} bwl_model_question;

/* Carries a question out.  `twists`: flags of bwl_twist. */
bwl_answer bwl_model_redis_serve(bwl_model_redis *r, const bwl_model_question *q, unsigned twists);

#endif
