/*
 * update_section.h -- one word about a key that is the caller's, asked through a lock that was
 * prepared and never sought, on a client in which nobody else is (pool.h).
 *
 * It lives as long as the client: whoever waits for the answer may leave before it comes.  What
 * `question` borrows must be there until the word has ended.
 */
#ifndef BWL_ENGINE_REDIS_UPDATE_SECTION_H
#define BWL_ENGINE_REDIS_UPDATE_SECTION_H

#include "engine/redis/wire/section.h"

typedef struct bwl_section {
    bwl_section_question question;

    /* How it came out. */
    bwl_event_kind kind;      /* REPLY or DOWN */
    bwl_answer     answer;    /* REPLY */
    bool           is_there;  /* READ, YES: the key is                                           */
    bool           is_long;   /* READ, ALIEN: a string, but longer than can be read               */
    bool           no_memory; /* LATER, UNSENT: on our side                                      */
    char          *seen;      /* READ, YES: the value, and a NUL behind it; see forget           */
    size_t         seen_size;
    size_t         seen_room;

    uint64_t opened; /* the engine's: on which connection READ was answered                     */
} bwl_section;

#endif
