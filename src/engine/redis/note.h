/*
 * note.h -- with a queue: a note for the holder of a lock, by whom it was broken.  See
 * force_release.c.
 *
 *      breaker:  note, RELEASE      holder:  EXTEND --> no, then asks for the note
 */
#ifndef BWL_ENGINE_REDIS_NOTE_H
#define BWL_ENGINE_REDIS_NOTE_H

#include "engine/redis/session/session.h"

/* "ann@web-2": this process, for a note to others. */
void bwl_redis_name_user(char ret_who[2 * BWL_HOLDER_TEXT_MAX]);

/* Leaves a note for the holder, in front of a question that breaks what was seen.  False: there is
 * no room. */
bool bwl_redis_write_broken(bwl_redis_store *store, const bwl_redis_open_question *question);

/* The hold by this token is not ours any more: asks for the note. */
void bwl_redis_ask_breaker(bwl_redis_store *store, bwl_engine_lock *lock, const char *token);
bool bwl_redis_write_ask_breaker(bwl_redis_store *store, const bwl_redis_open_question *question,
                                 bwl_resp_writer *ret_writer);

/* The answer: it becomes the reason that the lock gives. */
void bwl_redis_read_breaker(const bwl_redis_open_question *question, const char *bytes,
                            size_t size);

#endif
