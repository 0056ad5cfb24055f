#include "base/log.h"
#include "core/text.h"
#include "base/fault.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct message {
    int  level;
    char text[BWL_FAULT_TEXT_MAX];
} message;

struct bwl_log {
    void (*call)(int level, const char *text, void *data);
    void           *data;
    pthread_mutex_t mutex; /* guards what follows */
    bool            is_draining;
    size_t          first;
    size_t          count;
    size_t          dropped; /* since the last message that was read */
    message         messages[BWL_LOG_MAX];
};

bwl_log *bwl_log_new(void (*call)(int level, const char *text, void *data), void *data)
{
    bwl_log *log = calloc(1, sizeof *log);

    if (log == NULL)
        return NULL;
    log->call = call;
    log->data = data;
    (void)pthread_mutex_init(&log->mutex, NULL); /* of the default kind: cannot fail */
    return log;
}

void bwl_log_free(bwl_log *log)
{
    if (log == NULL)
        return;
    (void)pthread_mutex_destroy(&log->mutex);
    free(log);
}

void bwl_log_add(bwl_log *log, int level, const char *format, ...)
{
    va_list arguments;

    if (log == NULL)
        return;
    (void)pthread_mutex_lock(&log->mutex);
    if (log->count == BWL_LOG_MAX) {
        log->first = (log->first + 1) % BWL_LOG_MAX;
        log->count--;
        log->dropped++;
    }
    message *last = &log->messages[(log->first + log->count) % BWL_LOG_MAX];
    log->count++;
    last->level = level;
    va_start(arguments, format);
    int size = vsnprintf(last->text, sizeof last->text, format, arguments); /* may be cut */
    va_end(arguments);
    bwl_hide_passwords(last->text, size >= (int)sizeof last->text);
    (void)pthread_mutex_unlock(&log->mutex);
}

/* locked: the next message.  False: there is none. */
static bool take(bwl_log *log, message *ret_message)
{
    if (log->dropped > 0) {
        ret_message->level = BWL_LOG_WARNING;
        (void)snprintf(ret_message->text, sizeof ret_message->text,
                       "%zu messages before this one were dropped", log->dropped);
        log->dropped = 0;
        return true;
    }
    if (log->count == 0)
        return false;
    *ret_message = log->messages[log->first];
    log->first   = (log->first + 1) % BWL_LOG_MAX;
    log->count--;
    return true;
}

void bwl_log_drain(bwl_log *log)
{
    message next;

    if (log == NULL)
        return;
    (void)pthread_mutex_lock(&log->mutex);
    if (!log->is_draining) {
        log->is_draining = true;
        while (take(log, &next)) {
            (void)pthread_mutex_unlock(&log->mutex);
            log->call(next.level, next.text, log->data);
            (void)pthread_mutex_lock(&log->mutex);
        }
        log->is_draining = false;
    }
    (void)pthread_mutex_unlock(&log->mutex);
}
