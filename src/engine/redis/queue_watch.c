/*
 * queue_watch.c -- see queue_watch.h.
 */
#include "engine/redis/queue_watch.h"
#include "engine/redis/wire/queue.h"

#include <string.h>

enum { ROOM = 192 }; /* for the commands, without the key */

static size_t write_queue_key(const bwl_session *session, const bwl_engine_lock *lock,
                              char ret_key[BWL_KEY_BESIDE_MAX])
{
    char   key[BWL_KEY_MAX];
    size_t size = bwl_redis_key(key, session->config, lock);

    return bwl_queue_waiters_key(ret_key, key, size);
}

static bool write_watch(bwl_session *session, bwl_request *request)
{
    char            key[BWL_KEY_BESIDE_MAX];
    size_t          size = write_queue_key(session, request->lock, key);
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, ROOM + size, &writer))
        return false;
    if (!session->server.tracks_keys) {
        bwl_resp_write(&writer, "CLIENT TRACKING ON OPTIN");
        request->flight.replies_to_skip = 1; /* if it failed, so does the next command */
    }
    bwl_resp_write(&writer, "CLIENT CACHING YES");
    bwl_resp_write(&writer, "ZCARD %.*s", (int)size, key);
    session->server.tracks_keys = true;
    request->flight.offset      = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static unsigned frames_of(const bwl_request *request)
{
    (void)request;
    return 2;
}

/* YES: nobody waits. */
static bwl_redis_verdict read_watch(bwl_session *session, bwl_request *request, const char *bytes,
                                    size_t size, bwl_request_reply *ret_reply)
{
    bool            is_last = request->flight.frames == 1;
    bwl_resp_cursor cursor  = bwl_resp_begin(bytes, bytes != NULL ? size : 0);
    bwl_resp_value  value;

    (void)session;
    bool is_yes = bytes != NULL && bwl_resp_next_bare(&cursor, &value) &&
                  (is_last ? value.type == ':' && value.integer == 0 : value.type == '+');
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

static void notify(bwl_session *session, bwl_engine_lock *lock, const void *arg)
{
    const bwl_resp_value *key = arg;
    char                  bytes[BWL_KEY_BESIDE_MAX];

    if (bwl_redis_lock_of(lock)->is_watched &&
        (key == NULL || (write_queue_key(session, lock, bytes) == key->size &&
                         memcmp(bytes, key->text, key->size) == 0)))
        bwl_redis_unwatch(lock);
}

void bwl_redis_on_queue_changed(bwl_session *session, const bwl_resp_value *key)
{
    bwl_redis_for_each_lock(session, key, notify);
}
