/*
 * model_redis.h -- a Redis server with one key, as far as src/store/redis.h speaks of it.
 *
 * A token is a number here, and 0 is no token: all that the words ask of a value is whether it is
 * the same.  Time is what is left until the key vanishes, in hundredths of a millisecond of the
 * server's own clock, so that a clock which is one per cent fast or slow is still a whole number.
 */
#ifndef BWL_LAB_MODEL_REDIS_H
#define BWL_LAB_MODEL_REDIS_H

#include "core/rules.h"
#include "store/redis.h"

enum { BWL_MODEL_PER_MS = 100 };

typedef struct bwl_model_redis {
    uint16_t owner;    /* whose token the key has; 0: there is no key                            */
    bool     lasts;    /* it never vanishes by itself                                            */
    bool     is_alien; /* the value is none that any rules write                                 */
    uint8_t  watched;  /* 1u << client: has a section, and the key was not touched since          */
    int64_t  left;     /* hundredths of a millisecond until it vanishes                          */
    int64_t  stamp;    /* in the value; 0: none                                                  */
    int64_t  clock;    /* hundredths of a millisecond since 1970, by the server's own clock       */
} bwl_model_redis;

typedef struct bwl_model_question {
    bwl_redis_word   word;
    uint8_t          client; /* on whose connection: WATCH is a state of that                    */
    uint16_t         token;
    bwl_ms           lease_ms;
    int64_t          stamp;
    const bwl_rules *rules; /* NULL: none */
} bwl_model_question;

typedef struct bwl_model_reply {
    bwl_answer answer;
    bool       is_mine;
    uint64_t   number;
    uint64_t   print;
} bwl_model_reply;

/* Carries a question out.  `twists`: flags of bwl_twist. */
bwl_model_reply bwl_model_redis_reply(bwl_model_redis *r, const bwl_model_question *q,
                                      unsigned twists);
bwl_answer bwl_model_redis_serve(bwl_model_redis *r, const bwl_model_question *q, unsigned twists);

/* The server's clock goes on (or is set back, if negative). */
void bwl_model_redis_pass(bwl_model_redis *r, int64_t hundredths);

#endif
