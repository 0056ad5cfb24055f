/*
 * log.h -- messages for the on_log function of the caller.
 *
 * Any thread of the library adds messages.  They are kept until a thread of the caller is inside a
 * call and drains them, so the caller's function never runs in a thread of the library, and never
 * while a mutex of the library is held.  When BWL_LOG_MAX messages are kept, the oldest is dropped,
 * and the next drain reports how many.
 */
#pragma once

#include <stddef.h>

enum { BWL_LOG_MAX = 64, BWL_LOG_INFO = 1, BWL_LOG_WARNING = 2, BWL_LOG_ERROR = 3 };

typedef struct bwl_log bwl_log;

/* NULL: no memory.  Free with bwl_log_free. */
bwl_log *bwl_log_new(void (*call)(int level, const char *text, void *data), void *data);
void     bwl_log_free(bwl_log *log); /* also NULL */

/* Adds a message, cut if it is too long, with *** for the password of a URL.  NULL: no effect.  Any
 * thread, with or without other mutexes. */
__attribute__((format(printf, 3, 4))) void bwl_log_add(bwl_log *log, int level, const char *format,
                                                       ...);

/* Calls the function with each message, the oldest first, one call at a time: returns at once if
 * another thread, or a caller up the stack, is draining.  NULL: no effect.  Without any mutex. */
void bwl_log_drain(bwl_log *log);
