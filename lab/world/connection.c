/*
 * connection.c -- see connection.h.
 */
#include "lab/world/connection.h"
#include "lab/world/client.h"
#include "lab/world/waiting.h"

static bwl_letter take(bwl_letter *letters, uint8_t *count, unsigned i)
{
    bwl_letter letter = letters[i];

    assert(i < *count);
    for (unsigned j = i + 1; j < *count; j++)
        letters[j - 1] = letters[j];
    letters[--*count] = (bwl_letter){ 0 };
    return letter;
}

/* A release failed.  If it was the last there was time for, or the server refused it, nobody can be
 * blamed for the key from now on. */
static void excuse(bwl_world *w, unsigned client, const bwl_letter *letter)
{
    bool was_last   = w->clients[client].now >= w->clients[client].due_by;
    bool is_refused = letter->kind == BWL_LETTER_ANSWER && letter->answer == BWL_REFUSED;
    bool gives_back = bwl_redis_word_releases(letter->word) ||
                      letter->word == REDIS_QUEUE_RELEASE || letter->word == REDIS_QUEUE_CANCEL;

    if (bwl_wait_is_kept(w) && gives_back && (was_last || is_refused))
        bwl_wait_excuse(w, client);
    if (gives_back && letter->token == bwl_model_owner(&w->redis) && (was_last || is_refused))
        w->key_excused = true;
}

/* Answers carry no tag on the wire: the n-th answer belongs to the n-th question that somebody
 * still waits for.  On a connection that is closed when waiting ends, that is the one that was
 * asked. */
void bwl_connection_deliver(bwl_world *w, unsigned client, uint8_t chance)
{
    bwl_lab_client *c      = &w->clients[client];
    bwl_letter      answer = take(c->letters, &c->letters_count, 0);

    assert(c->answered > 0);
    c->answered--;
    for (unsigned i = 0; answer.is_settled && i < c->letters_count; i++) {
        bwl_letter *other = &c->letters[i];
        if (other->is_settled)
            continue;
        other->is_settled = true;
        answer.is_settled = false;
        answer.tag        = other->tag;
        answer.round      = other->round;
    }
    if (answer.is_settled || bwl_wait_asks_again(w, client, &answer))
        return;
    if (answer.kind == BWL_LETTER_PUSH) {
        bwl_sim_client_pushed(w, client, &answer, chance);
        return;
    }
    if (answer.kind == BWL_LETTER_CUT_OFF || answer.answer > BWL_NO)
        excuse(w, client, &answer);
    bwl_sim_client_told(w, client, &answer, chance);
}

static void make_late(bwl_lab_client *c, const bwl_letter *letter, unsigned connection)
{
    assert(c->late_count < BWL_LETTERS_MAX);
    c->late[c->late_count]              = *letter;
    c->late[c->late_count++].connection = (uint8_t)connection;
}

/* Gives the broken connections the numbers 0, 1, 2 ...; returns how many there are. */
static unsigned number_connections(bwl_lab_client *c)
{
    unsigned last  = BWL_ANY;
    unsigned count = 0;

    for (unsigned i = 0; i < c->late_count; i++) {
        if (c->late[i].connection != last)
            count++;
        last                  = c->late[i].connection;
        c->late[i].connection = (uint8_t)(count - 1);
    }
    return count;
}

bwl_letter bwl_connection_take_late(bwl_world *w, unsigned client, unsigned i)
{
    bwl_lab_client *c      = &w->clients[client];
    bwl_letter      letter = take(c->late, &c->late_count, i);

    (void)number_connections(c); /* how many there are does not matter here */
    return letter;
}

/* What the earlier of two broken connections watched is not remembered: what stands on that never
 * arrives, which may always happen to a late letter. */
static void lose_watched(bwl_lab_client *c, unsigned count)
{
    for (unsigned i = count; i-- > 0;)
        if (c->late[i].word == REDIS_DELETE_WATCHED || c->late[i].word == REDIS_UNWATCH)
            (void)take(c->late, &c->late_count, i);
}

/* The server remembers a connection that broke as long as something may still come on it.  One on
 * which nothing was under way does not take the place of an earlier one on which something is. */
static void break_at_server(bwl_world *w, unsigned client, unsigned late_before)
{
    bwl_lab_client *c           = &w->clients[client];
    bool            has_letters = c->late_count > late_before;

    w->informed &= (uint8_t) ~(1u << client);
    if (bwl_wait_is_kept(w)) {
        bwl_wait_broke_at_server(w, client, has_letters);
        return;
    }
    if (has_letters)
        lose_watched(c, late_before);
    unsigned late = c->late_count;
    if (has_letters || late == 0)
        bwl_model_redis_break(&w->redis, client);
    else
        bwl_model_redis_drop(&w->redis, client);
    if (late == 0)
        bwl_model_redis_drop(&w->redis, client + BWL_MODEL_CLIENTS);
}

void bwl_connection_break(bwl_world *w, unsigned client, unsigned unsent)
{
    bwl_lab_client *c          = &w->clients[client];
    unsigned        late       = c->late_count;
    bool            resends    = (w->scenario->twists & BWL_TWIST_RESENDS) != 0;
    unsigned        connection = number_connections(c);

    if (bwl_wait_is_kept(w))
        bwl_wait_drop_pushes(w, client);
    for (unsigned i = 0; i < c->letters_count; i++) {
        bwl_letter *letter    = &c->letters[i];
        bool        is_unsent = i + unsent >= c->letters_count;
        bool        is_news   = letter->kind == BWL_LETTER_ANSWER && letter->answer == BWL_UNSENT;

        if (letter->kind == BWL_LETTER_CUT_OFF || is_news)
            continue;
        if (letter->kind == BWL_LETTER_QUESTION && !is_unsent)
            make_late(c, letter, connection);
        letter->kind   = (uint8_t)(is_unsent ? BWL_LETTER_ANSWER : BWL_LETTER_CUT_OFF);
        letter->answer = is_unsent ? BWL_UNSENT : 0;
        letter->stamp  = resends ? letter->stamp : 0;
        letter->place  = 0;
        if (resends) {
            letter->kind   = BWL_LETTER_QUESTION;
            letter->answer = 0;
        }
    }
    c->answered = resends ? 0 : c->letters_count;
    break_at_server(w, client, late);
    if (bwl_wait_is_kept(w))
        bwl_wait_broke(w, client);
}

void bwl_connection_stop_waiting(bwl_world *w, unsigned client)
{
    bwl_lab_client *c    = &w->clients[client];
    bwl_letter      told = { 0 };

    for (unsigned i = 0; i < c->letters_count && told.kind == 0; i++)
        if (!c->letters[i].is_settled) {
            c->letters[i].is_settled = true;
            told                     = c->letters[i];
        }
    assert(told.kind != 0);
    told.kind = BWL_LETTER_CUT_OFF;
    excuse(w, client, &told);
    bwl_sim_client_told(w, client, &told, 0);
}

void bwl_connection_abandon(bwl_world *w, unsigned client)
{
    bwl_lab_client *c          = &w->clients[client];
    unsigned        late       = c->late_count;
    unsigned        connection = number_connections(c);

    for (unsigned i = 0; i < c->letters_count; i++)
        if (c->letters[i].kind == BWL_LETTER_QUESTION)
            make_late(c, &c->letters[i], connection);
    for (unsigned i = 0; i < BWL_LETTERS_MAX; i++)
        c->letters[i] = (bwl_letter){ 0 };
    c->letters_count = 0;
    c->answered      = 0;
    c->is_running    = false;
    break_at_server(w, client, late);
    if (bwl_wait_is_kept(w))
        bwl_wait_broke(w, client);
}

void bwl_connection_server_gone(bwl_world *w, unsigned client)
{
    bwl_connection_break(w, client, 0);
    for (unsigned i = 0; i < BWL_LETTERS_MAX; i++)
        w->clients[client].late[i] = (bwl_letter){ 0 };
    w->clients[client].late_count = 0;
}
