/*
 * section.h -- the words of protocol/store/section.h as commands, and replies as answers.  Pure.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_SECTION_H
#define BWL_ENGINE_REDIS_WIRE_SECTION_H

#include "engine/redis/wire/words.h"
#include "protocol/store/section.h"

/* The room that the commands take, at most. */
size_t bwl_section_room(const bwl_section_question *question);

void bwl_section_write(bwl_resp_writer *writer, const bwl_section_question *question);

/* How many frames answer it. */
unsigned bwl_section_frames(bwl_section_word word);

/* May the nth frame (from 0) be a value of any length? */
bool bwl_section_shows_value(bwl_section_word word, unsigned nth);

typedef struct bwl_section_reply {
    bwl_answer  answer;
    bool        is_long;    /* ALIEN: the value is longer than a frame can hold                 */
    const char *value;      /* READ, of the frame that shows it; NULL: there is no key        */
    size_t      value_size; /* borrowed from the frame                                          */
    const char *error;      /* LATER, REFUSED, ALIEN: the error, as a frame; NULL: none          */
    size_t      error_size;
} bwl_section_reply;

/* What a whole frame, the nth that answers the word, says to it.  `bytes` is NULL for a value that
 * was too long.  YES of a frame that is not the last: as it should be.  ANSWER or STRANGE. */
bwl_redis_verdict bwl_section_read(bwl_section_word word, unsigned nth, const char *bytes,
                                   size_t size, bwl_section_reply *ret_reply);

#endif
