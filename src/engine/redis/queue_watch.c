/*
 * queue_watch.c -- see queue_watch.h.
 */
#include "engine/redis/queue_watch.h"
#include "engine/redis/wire/queue.h"

#include <string.h>

enum { ROOM = 256 }; /* for the commands, without the keys */

/* The frames of the reply. */
typedef enum watch_frame { CACHING = 0, EXISTS, GET, FRAMES } watch_frame;

typedef struct keys {
    char   lock[BWL_KEY_MAX];
    char   queue[BWL_KEY_BESIDE_MAX];
    size_t lock_size;
    size_t queue_size;
} keys;

static void write_keys(const bwl_session *session, const bwl_engine_lock *lock, keys *ret_keys)
{
    ret_keys->lock_size = bwl_redis_key(ret_keys->lock, session->config, lock);
    ret_keys->queue_size =
        bwl_queue_waiters_key(ret_keys->queue, ret_keys->lock, ret_keys->lock_size);
}

static bool write_watch(bwl_session *session, bwl_request *request)
{
    keys            k;
    bwl_resp_writer writer;

    write_keys(session, request->lock, &k);
    if (!bwl_resp_stream_reserve(&session->link.conn, ROOM + 2 * k.lock_size + k.queue_size,
                                 &writer))
        return false;
    if (!session->server.tracks_keys) {
        bwl_resp_write(&writer, "CLIENT TRACKING ON OPTIN");
        request->flight.replies_to_skip = 1; /* if it failed, so does the next command */
    }
    bwl_resp_write(&writer, "CLIENT CACHING YES");
    bwl_resp_write(&writer, "EXISTS %.*s %.*s", (int)k.lock_size, k.lock, (int)k.queue_size,
                   k.queue);
    bwl_resp_write(&writer, "GET %.*s", (int)k.lock_size, k.lock);
    session->server.tracks_keys = true;
    request->flight.offset      = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static unsigned frames_of(const bwl_request *request)
{
    (void)request;
    return FRAMES;
}

static bool is_value(const bwl_request *request)
{
    return request->flight.frames == GET;
}

static bool is_ours(const bwl_session *session, const bwl_engine_lock *lock,
                    const bwl_resp_value *value)
{
    char own[BWL_QUEUE_VALUE_SIZE + 1];

    bwl_queue_value_write(own, session->push.id, lock->hold.request.token);
    return value->type == '$' && bwl_resp_text_is(value, own);
}

/* YES to all: the lock is ours, and nobody waits. */
static bwl_redis_verdict read_watch(bwl_session *session, bwl_request *request, const char *bytes,
                                    size_t size, bwl_request_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, bytes != NULL ? size : 0);
    bwl_resp_value  value;
    bool            is_yes = false;

    if (bytes != NULL && bwl_resp_next_bare(&cursor, &value))
        switch ((watch_frame)request->flight.frames) {
        case CACHING: is_yes = value.type == '+'; break;
        case EXISTS: is_yes = value.type == ':' && value.integer == 1; break;
        case GET:
        case FRAMES: is_yes = is_ours(session, request->lock, &value); break;
        }
    ret_reply->event.answer = is_yes ? BWL_YES : BWL_NO;
    return BWL_REDIS_ANSWER;
}

static void complete_watch(bwl_session *session, const bwl_request *request,
                           const bwl_event *result)
{
    if (result->kind != BWL_REPLY || result->answer != BWL_YES ||
        !bwl_router_is_home(session, request->lock))
        bwl_redis_unwatch(request->lock);
}

static const bwl_request_kind watch = {
    .frames   = frames_of,
    .is_value = is_value,
    .write    = write_watch,
    .read     = read_watch,
    .complete = complete_watch,
};

void bwl_redis_watch(bwl_engine_lock *lock)
{
    bwl_session *session = bwl_redis_route(lock, 0);
    bwl_request  request = { .kind = &watch, .lock = lock };

    bwl_redis_lock_of(lock)->is_watched = true;
    if (session == NULL || !bwl_session_submit(session, &request))
        bwl_redis_unwatch(lock);
}

void bwl_redis_unwatch(bwl_engine_lock *lock)
{
    if (!bwl_redis_lock_of(lock)->is_watched)
        return;
    bwl_redis_lock_of(lock)->is_watched = false;
    bwl_host_wanted(lock);
}

static bool is_key(const bwl_bytes *key, const char *bytes, size_t size)
{
    return key->size == size && memcmp(key->at, bytes, size) == 0;
}

static void notify(bwl_session *session, bwl_engine_lock *lock, const void *arg)
{
    const bwl_bytes *key = arg;
    keys             k;

    if (!bwl_redis_lock_of(lock)->is_watched)
        return;
    write_keys(session, lock, &k);
    if (key == NULL || is_key(key, k.lock, k.lock_size) || is_key(key, k.queue, k.queue_size))
        bwl_redis_unwatch(lock);
}

void bwl_redis_on_queue_changed(bwl_session *session, const bwl_bytes *key)
{
    bwl_redis_for_each_lock(session, key, notify);
}
