/*
 * many_law.c -- what must never happen in a world with several servers.
 */
#include "lab/world/many.h"
#include "lab/base/token_number.h"

static uint16_t token_of(const bwl_many_world *w, unsigned client)
{
    return bwl_token_read(w->clients[client].hold.claim.token);
}

bool bwl_many_believes(const bwl_many_world *w, unsigned client)
{
    const bwl_many_client *c = &w->clients[client];

    return c->is_running && bwl_hold_left(&c->hold, w->now) > 0;
}

unsigned bwl_many_votes(const bwl_many_world *w, uint16_t token)
{
    unsigned votes = 0;

    for (unsigned k = 0; k < w->scenario->servers; k++)
        if (w->servers[k].owner == token)
            votes++;
    return votes;
}

/* Does a majority have the key for as long as the client believes? */
static bool is_honest(const bwl_many_world *w, unsigned client)
{
    bwl_ms   left_ms = bwl_hold_left(&w->clients[client].hold, w->now);
    unsigned votes   = 0;

    for (unsigned k = 0; k < w->scenario->servers; k++) {
        const bwl_many_server *server = &w->servers[k];
        if (server->owner == token_of(w, client) &&
            server->ends_in >= left_ms * w->scenario->server_pace)
            votes++;
    }
    return votes > w->scenario->servers / 2;
}

static bool has_forgotten(const bwl_many_world *w)
{
    return w->left[BWL_MANY_RESTART] != w->scenario->budget[BWL_MANY_RESTART] ||
           w->left[BWL_MANY_JUMP] != w->scenario->budget[BWL_MANY_JUMP];
}

/* Is somebody there who will remove this key, or has it? */
static bool is_wanted(const bwl_many_world *w, unsigned k)
{
    uint16_t             token  = w->servers[k].owner;
    unsigned             client = bwl_token_client(token);
    const bwl_many_line *line   = &w->lines[client][k];

    if (w->clients[client].is_running && token_of(w, client) == token &&
        w->clients[client].hold.state != BWL_HOLD_WAITING)
        return true;
    for (unsigned i = line->answered; i < line->count; i++)
        if (line->letters[i].word == REDIS_DELETE_IF_MINE && line->letters[i].token == token)
            return true;
    return false;
}

static bool is_undone(const bwl_many_world *w)
{
    if (w->was_lossy)
        return true;
    for (unsigned k = 0; k < w->scenario->servers; k++)
        if (w->servers[k].owner != 0 && !w->servers[k].was_faulty && !is_wanted(w, k))
            return false;
    return true;
}

static bool is_stuck(const bwl_many_world *w, unsigned client)
{
    if (!w->clients[client].is_running || w->clients[client].wake_at != BWL_NEVER)
        return false;
    for (unsigned k = 0; k < w->scenario->servers; k++)
        if (w->lines[client][k].count > 0)
            return false;
    return true;
}

unsigned bwl_many_broken(const bwl_many_world *w)
{
    unsigned broken   = w->broken;
    unsigned believes = 0;
    unsigned works    = 0;
    bool     was_slow = false;

    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_many_client *c = &w->clients[i];
        if (bwl_many_believes(w, i)) {
            believes++;
            if (!has_forgotten(w) && !is_honest(w, i))
                broken |= BWL_MANY_LAW_HONEST;
        }
        works += c->is_working;
        was_slow = was_slow || c->was_slow;
        if (is_stuck(w, i))
            broken |= BWL_MANY_LAW_NOT_STUCK;
    }
    if (believes > 1)
        broken |= BWL_MANY_LAW_ONE_HOLDER;
    if (works > 1)
        broken |= BWL_MANY_LAW_NO_OVERLAP;
    if (works > 1 && !was_slow && !bwl_many_is_urgent(w))
        broken |= BWL_MANY_LAW_ONE_WORKER;
    if (!is_undone(w))
        broken |= BWL_MANY_LAW_UNDONE;
    return broken;
}

const char *bwl_many_law_sentence(unsigned laws)
{
    static const char *const sentences[] = {
#define X(name, sentence) sentence,
        BWL_MANY_LAWS(X)
#undef X
    };

    for (unsigned i = 0; i < BWL_MANY_LAWS_COUNT; i++)
        if ((laws & 1u << i) != 0)
            return sentences[i];
    return "none";
}
