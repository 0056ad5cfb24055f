/*
 * await.c -- waiting for an answer in the connection itself.
 *
 * A thread that has asked, and has nothing to do before the answer, can read where it will come.
 * To be told first that there is something to be read is one system call more, of three for a
 * question.  It cannot be woken up there, so it stays for a moment only: whoever is not answered by
 * then waits for events, as do those who have to see to something else that soon.
 */
#include "engine/redis/session/session.h"

#include <errno.h>

/* The one that will speak next, if that is known; NULL. */
static bwl_redis_store *only_asked(bwl_host *client)
{
    bwl_redis_store *store = client->store;

    while (store != NULL && store->questions_count == 0)
        store = store->next;
    return store != NULL && store->questions_count == client->pending ? store : NULL;
}

/* Not for the first answer of a connection: whoever asks once should not prepare for more. */
static bool is_worth_it(bwl_host *client, const bwl_redis_store *store, bwl_ms until)
{
    bwl_ms next = bwl_sooner(until, bwl_host_next_timer(client));

    return store->phase == BWL_REDIS_READY && store->has_answered && store->questions_count > 0 &&
           next >= bwl_later(client->latest, BWL_STREAM_AWAIT_MS);
}

bool bwl_redis_await(bwl_host *client, bwl_ms until)
{
    bwl_redis_store *store = only_asked(client);
    char             bytes[BWL_STREAM_AWAIT_ROOM];
    bwl_fault        fault = { 0 };

    if (store == NULL || !is_worth_it(client, store, until))
        return false;
    int fd = bwl_stream_await_begin(&store->conn.stream);
    if (fd < 0)
        return false;
    bwl_spin_wait wait = bwl_spin_plan(&store->spin, client->latest);
    bwl_host_unlock(client);
    ssize_t got   = bwl_spin_receive(&wait, fd, bytes, sizeof bytes);
    int     error = errno;
    bwl_host_lock(client);
    store->heard_at = bwl_host_now(client);
    bwl_spin_learn(&store->spin, &wait, got >= 0, client->latest);
    if (!bwl_stream_await_end(&store->conn.stream))
        return true;
    if (got < 0 && (error == EAGAIN || error == EWOULDBLOCK || error == EINTR))
        return false;
    errno      = error;
    int status = bwl_stream_take(&store->conn.stream, bytes, got, &fault);
    bwl_redis_heard(store, status, &fault);
    bwl_redis_set_timer(store);
    return true;
}
