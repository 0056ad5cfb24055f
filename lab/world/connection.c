/*
 * connection.c -- the messages between a client and a server: delivery, loss, late arrival.
 *
 * As in the real engine, a connection is closed when the engine stops waiting for an answer, and
 * every request in flight on it gets DOWN.
 */
#include "lab/world/inside.h"
#include "lab/model/steps.h"
#include "protocol/quorum.h"

static bwl_message take(bwl_message *messages, uint8_t *count, unsigned i)
{
    bwl_message message = messages[i];

    assert(i < *count);
    for (unsigned j = i + 1; j < *count; j++)
        messages[j - 1] = messages[j];
    messages[--*count] = (bwl_message){ 0 };
    return message;
}

/* A release failed.  If no time is left for another one, or the server refused it, the remaining
 * key is not a fault of the client. */
static void excuse(bwl_world *w, unsigned client, bwl_server *server, const bwl_message *message)
{
    bool was_last   = w->clients[client].clock.now >= w->clients[client].caller.due_by;
    bool is_refused = message->kind == BWL_MESSAGE_ANSWER && message->answer == BWL_REFUSED;
    bool gives_back =
        bwl_redis_command_releases(message->command) || message->command == REDIS_QUEUE_RELEASE ||
        message->command == REDIS_QUEUE_REST || message->command == REDIS_QUEUE_CANCEL;

    if (bwl_wait_is_kept(w) && gives_back && (was_last || is_refused))
        w->waiting.waiters[client].orphans++;
    if (gives_back && message->token == bwl_model_owner(&server->redis) && (was_last || is_refused))
        server->key_excused = true;
}

/* Answers carry no tag on the wire: the n-th answer belongs to the n-th command with a waiter.  The
 * engine closes a connection when it stops waiting, so this is the right command. */
void bwl_connection_deliver(bwl_world *w, unsigned client, unsigned k, uint8_t chance)
{
    bwl_server *server = &w->servers[k];
    bwl_link   *link   = &server->links[client];
    bwl_message answer = take(link->messages, &link->count, 0);

    assert(link->answered > 0);
    link->answered--;
    for (unsigned i = 0; answer.has_result && i < link->count; i++) {
        bwl_message *other = &link->messages[i];
        if (other->has_result)
            continue;
        other->has_result = true;
        answer.has_result = false;
        answer.tag        = other->tag;
        answer.round      = other->round;
    }
    if (answer.has_result || bwl_wait_asks_again(w, client, &answer))
        return;
    if (answer.kind == BWL_MESSAGE_PUSH) {
        bwl_sim_client_pushed(w, client, &answer, chance);
        return;
    }
    if (answer.kind == BWL_MESSAGE_CUT_OFF || answer.answer > BWL_NO)
        excuse(w, client, server, &answer);
    bwl_sim_client_delivered(w, client, k, &answer, chance);
}

/* With several servers, each link keeps a few late messages; the rest is lost. */
static bool has_room(const bwl_world *w, const bwl_link *link)
{
    enum { LATE_OF_SEVERAL = 3 };

    return w->scenario->servers == 1 || link->late_count < LATE_OF_SEVERAL;
}

static void make_late(bwl_link *link, const bwl_message *message, unsigned connection)
{
    assert(link->late_count < BWL_MESSAGES_MAX);
    link->late[link->late_count]              = *message;
    link->late[link->late_count++].connection = (uint8_t)connection;
}

/* Numbers the broken connections from 0 and returns their count. */
static unsigned number_connections(bwl_link *link)
{
    unsigned last  = BWL_ANY;
    unsigned count = 0;

    for (unsigned i = 0; i < link->late_count; i++) {
        if (link->late[i].connection != last)
            count++;
        last                     = link->late[i].connection;
        link->late[i].connection = (uint8_t)(count - 1);
    }
    return count;
}

bwl_message bwl_connection_take_late(bwl_link *link, unsigned i)
{
    bwl_message message = take(link->late, &link->late_count, i);

    (void)number_connections(link); /* the count is not needed */
    return message;
}

static bool ends_watch(const bwl_world *w, const bwl_message *message)
{
    if (message->command == REDIS_STEP)
        return bwl_model_step_ends_watch(w->scenario->options.program, message->step);
    return message->command == REDIS_DELETE_WATCHED || message->command == REDIS_UNWATCH;
}

/* The server keeps a broken connection while messages may still arrive on it.  A connection without
 * messages does not replace an earlier one that has some. */
static void break_at_server(bwl_world *w, unsigned client, bwl_server *server, unsigned late_before)
{
    bwl_link *link         = &server->links[client];
    bool      has_messages = link->late_count > late_before;

    server->informed &= (uint8_t) ~(1u << client);
    if (bwl_wait_is_kept(w)) {
        bwl_wait_broke_at_server(w, client, has_messages);
        return;
    }
    /* The model forgets what the earlier of two broken connections watched, so commands that depend
     * on it never arrive.  Any late message may be lost. */
    for (unsigned i = late_before; has_messages && i-- > 0;)
        if (ends_watch(w, &link->late[i]))
            (void)take(link->late, &link->late_count, i);
    if (has_messages || link->late_count == 0)
        bwl_model_redis_break(&server->redis, client);
    else
        bwl_model_redis_drop(&server->redis, client);
    if (link->late_count == 0)
        bwl_model_redis_drop(&server->redis, client + BWL_MODEL_CLIENTS);
}

/* With the mutation RESENDS, the engine writes the lost commands again. */
static void cut_off(bwl_message *message, bool is_not_sent, bool resends)
{
    message->kind         = (uint8_t)(is_not_sent ? BWL_MESSAGE_ANSWER : BWL_MESSAGE_CUT_OFF);
    message->answer       = is_not_sent ? BWL_NOT_SENT : 0;
    message->timestamp    = resends ? message->timestamp : 0;
    message->queue_status = 0;
    if (resends) {
        message->kind   = BWL_MESSAGE_REQUEST;
        message->answer = 0;
    }
}

void bwl_connection_break(bwl_world *w, unsigned client, unsigned k, unsigned unsent)
{
    bwl_server *server     = &w->servers[k];
    bwl_link   *link       = &server->links[client];
    unsigned    late       = link->late_count;
    bool        resends    = (w->scenario->mutations & BWL_MUTATION_RESENDS) != 0;
    unsigned    connection = number_connections(link);

    if (bwl_wait_is_kept(w))
        bwl_wait_drop_pushes(w, client);
    for (unsigned i = 0; i < link->count; i++) {
        bwl_message *message     = &link->messages[i];
        bool         is_not_sent = i + unsent >= link->count;
        bool is_news = message->kind == BWL_MESSAGE_ANSWER && message->answer == BWL_NOT_SENT;

        if (message->kind == BWL_MESSAGE_CUT_OFF || is_news)
            continue;
        if (message->kind == BWL_MESSAGE_REQUEST && !is_not_sent && has_room(w, link))
            make_late(link, message, connection);
        cut_off(message, is_not_sent, resends);
    }
    link->answered = resends ? 0 : link->count;
    break_at_server(w, client, server, late);
    if (bwl_wait_is_kept(w))
        bwl_wait_broke(w, client);
}

void bwl_connection_stop_waiting(bwl_world *w, unsigned client, unsigned k)
{
    bwl_link   *link = &w->servers[k].links[client];
    bwl_message cut  = { 0 };

    for (unsigned i = 0; i < link->count && cut.kind == 0; i++)
        if (!link->messages[i].has_result) {
            link->messages[i].has_result = true;
            cut                          = link->messages[i];
        }
    assert(cut.kind != 0);
    cut.kind = BWL_MESSAGE_CUT_OFF;
    excuse(w, client, &w->servers[k], &cut);
    bwl_sim_client_delivered(w, client, k, &cut, 0);
}

void bwl_connection_abandon(bwl_world *w, unsigned client, unsigned k)
{
    bwl_server *server     = &w->servers[k];
    bwl_link   *link       = &server->links[client];
    unsigned    late       = link->late_count;
    unsigned    connection = number_connections(link);

    for (unsigned i = 0; i < link->count; i++)
        if (link->messages[i].kind == BWL_MESSAGE_REQUEST && has_room(w, link))
            make_late(link, &link->messages[i], connection);
    for (unsigned i = 0; i < BWL_MESSAGES_MAX; i++)
        link->messages[i] = (bwl_message){ 0 };
    link->count    = 0;
    link->answered = 0;
    break_at_server(w, client, server, late);
    if (bwl_wait_is_kept(w))
        bwl_wait_broke(w, client);
}

void bwl_connection_server_gone(bwl_world *w, unsigned client, unsigned k)
{
    bwl_link *link = &w->servers[k].links[client];

    bwl_connection_break(w, client, k, 0);
    for (unsigned i = 0; i < BWL_MESSAGES_MAX; i++)
        link->late[i] = (bwl_message){ 0 };
    link->late_count = 0;
}

/* An answer can change the machine while its round is open, or extends. */
void bwl_connection_drop_ineffective(bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client    *c = &w->clients[i];
        const bwl_redlock_state *r = (const bwl_redlock_state *)(const void *)c->hold.memory;
        bool can_change            = c->is_running && (!r->is_decided || r->verb == BWL_EXTEND);

        for (unsigned k = 0; k < w->scenario->servers; k++) {
            bwl_link *link = &w->servers[k].links[i];
            while (link->answered > 0 && !(can_change && link->messages[0].round == c->round &&
                                           link->messages[0].tag == r->round)) {
                (void)take(link->messages, &link->count, 0);
                link->answered--;
            }
        }
    }
}
