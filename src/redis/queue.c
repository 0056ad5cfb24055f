/*
 * queue.c -- see queue.h.
 *
 *  TAKE      EVALSHA script 4 L Q B F value lease say
 *  JOIN      EVALSHA script 4 L Q B F value lease say member ticket max
 *                :n HELD   [CLAIMED, n, ticket]   [BUSY, left, ours]   [FULL, waiting]
 *                [QUEUED, ticket, rank, left, ours, time]
 *  BEAT      EVALSHA script 4 L Q B F value say member [member ...]
 *                [MINE, n, left]   [CLAIMED, n, ticket]   [QUEUED, ...]   [GONE]
 *  RELEASE   EVALSHA script 4 L Q B F value say                :1 YES  :2 YES MORE  :0 NO
 *  CANCEL    EVALSHA script 4 L Q B F value say member ...     the same
 *  POKE      EVALSHA script 4 L Q B F say                      the same, never :0
 *  EXTEND    EVALSHA script 1 L value lease                    :1 YES  :0 NO
 */
#include "redis/queue.h"
#include "core/text.h"
#include "redis/scripts.h"

#include <stdio.h>
#include <string.h>

enum {
    SCRIPT_ROOM    = 3072,
    ARGUMENTS_ROOM = 1024,
    KEYS           = 4,
    VERSION_MAX    = 999,
    MEMBER_ROOM    = BWL_QUEUE_VALUE_SIZE + BWL_QUEUE_NONCE_MAX + BWL_QUEUE_INBOX_SIZE + 24,
};

static const bwl_script_id scripts[BWL_QUEUE_SCRIPTS] = {
    BWL_SCRIPT_QUEUE_TAKE,     BWL_SCRIPT_QUEUE_JOIN,   BWL_SCRIPT_QUEUE_BEAT,
    BWL_SCRIPT_QUEUE_RELEASE,  BWL_SCRIPT_QUEUE_CANCEL, BWL_SCRIPT_QUEUE_POKE,
    BWL_SCRIPT_EXTEND_IF_MINE,
};

bool bwl_queue_is(bwl_redis_word word)
{
    return word >= REDIS_QUEUE_TAKE && word <= REDIS_QUEUE_POKE;
}

size_t bwl_queue_room(size_t key_size)
{
    return SCRIPT_ROOM + ARGUMENTS_ROOM + 3 * (key_size + 32);
}

/* ---- keys and values ------------------------------------------------------------------------- */

/* What a cluster takes for the place of a key: between the first brace and the next one behind it,
 * if there is something. */
static bool has_hash_tag(const char *key, size_t size)
{
    const char *open = memchr(key, '{', size);

    if (open == NULL)
        return false;
    const char *close = memchr(open, '}', size - (size_t)(open - key));
    return close != NULL && close > open + 1;
}

static void write_key_beside(bwl_resp_writer *writer, const bwl_redis_question *q, bool is_tagged,
                             const char *suffix)
{
    char   key[BWL_QUEUE_KEY_MAX];
    size_t size = 0;

    assert(q->key_size + 2 + strlen(suffix) <= sizeof key);
    if (!is_tagged)
        key[size++] = '{';
    memcpy(key + size, q->key, q->key_size);
    size += q->key_size;
    if (!is_tagged)
        key[size++] = '}';
    memcpy(key + size, suffix, strlen(suffix));
    bwl_resp_write_bulk(writer, key, size + strlen(suffix));
}

static void write_keys(bwl_resp_writer *writer, const bwl_redis_question *q)
{
    bool is_tagged = has_hash_tag(q->key, q->key_size);

    bwl_resp_write_integer(writer, KEYS);
    bwl_resp_write_bulk(writer, q->key, q->key_size);
    write_key_beside(writer, q, is_tagged, ":bwl.q");
    write_key_beside(writer, q, is_tagged, ":bwl.b");
    bwl_resp_write_text(writer, BWL_QUEUE_FENCES_KEY);
}

void bwl_queue_value_write(char ret_value[BWL_QUEUE_VALUE_SIZE + 1], const char *session,
                           const char *token)
{
    assert(strlen(session) == BWL_QUEUE_BITS_SIZE);
    assert(strlen(token) == BWL_QUEUE_BITS_SIZE);
    memcpy(ret_value, "b1:", 3);
    memcpy(ret_value + 3, session, BWL_QUEUE_BITS_SIZE);
    memcpy(ret_value + 3 + BWL_QUEUE_BITS_SIZE, token, BWL_QUEUE_BITS_SIZE + 1);
}

bool bwl_queue_is_value(const char *text)
{
    return strncmp(text, "b1:", 3) == 0;
}

unsigned bwl_queue_version(const char *text)
{
    const char *colon = strchr(text, ':');
    uint64_t    number;

    if (text[0] != 'b' || colon == NULL ||
        !bwl_number_parse(&number, text + 1, (size_t)(colon - text - 1), VERSION_MAX))
        return 0;
    return (unsigned)number;
}

static void write_value(bwl_resp_writer *writer, const bwl_redis_question *q)
{
    char value[BWL_QUEUE_VALUE_SIZE + 1];

    bwl_queue_value_write(value, q->self->session, q->token);
    bwl_resp_write_bulk(writer, value, BWL_QUEUE_VALUE_SIZE);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void write_script(bwl_resp_writer *writer, bwl_script_id id, bool by_text)
{
    bwl_resp_write_text(writer, by_text ? "EVAL" : "EVALSHA");
    bwl_resp_write_text(writer, by_text ? bwl_scripts[id].text : bwl_scripts[id].sha1);
}

static void write_begin(bwl_resp_writer *writer, const bwl_redis_question *q, bwl_script_id id,
                        uint32_t arguments)
{
    bwl_resp_write_array(writer, 3 + KEYS + arguments);
    write_script(writer, id, q->by_text);
    write_keys(writer, q);
}

static void write_say(bwl_resp_writer *writer, const bwl_redis_question *q)
{
    bwl_resp_write_text(writer, q->self->says_by_shard ? "SPUBLISH" : "PUBLISH");
}

static void write_member(bwl_resp_writer *writer, const bwl_redis_question *q, const char *inbox)
{
    char                  value[BWL_QUEUE_VALUE_SIZE + 1];
    char                  member[MEMBER_ROOM];
    const bwl_queue_self *self = q->self;

    bwl_queue_value_write(value, self->session, q->token);
    (void)snprintf(member, sizeof member, "%s %u.%016llx %s %lld", value, (unsigned)self->slot,
                   (unsigned long long)self->generation, inbox, (long long)self->claim_ms);
    bwl_resp_write_text(writer, member);
}

/* Is it none of those before it? */
static bool is_another(const bwl_queue_self *self, unsigned nth)
{
    if (self->inboxes[nth][0] == '\0')
        return false;
    for (unsigned i = 0; i < nth; i++)
        if (strcmp(self->inboxes[i], self->inboxes[nth]) == 0)
            return false;
    return true;
}

static uint32_t members_count(const bwl_queue_self *self)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < BWL_QUEUE_INBOXES; i++)
        count += is_another(self, i);
    return count;
}

static void write_members(bwl_resp_writer *writer, const bwl_redis_question *q)
{
    for (unsigned i = 0; i < BWL_QUEUE_INBOXES; i++)
        if (is_another(q->self, i))
            write_member(writer, q, q->self->inboxes[i]);
}

static void write_acquire(bwl_resp_writer *writer, const bwl_redis_question *q)
{
    bool joins = q->word == REDIS_QUEUE_JOIN;

    write_begin(writer, q, joins ? BWL_SCRIPT_QUEUE_JOIN : BWL_SCRIPT_QUEUE_TAKE, joins ? 6 : 3);
    write_value(writer, q);
    bwl_resp_write_integer(writer, q->lease_ms);
    write_say(writer, q);
    if (joins) {
        write_member(writer, q, q->self->inboxes[0]);
        bwl_resp_write_integer(writer, q->stamp);
        bwl_resp_write_integer(writer, q->self->queue_max);
    }
}

static void write_extend(bwl_resp_writer *writer, const bwl_redis_question *q)
{
    bwl_resp_write_array(writer, 6);
    write_script(writer, BWL_SCRIPT_EXTEND_IF_MINE, q->by_text);
    bwl_resp_write_text(writer, "1");
    bwl_resp_write_bulk(writer, q->key, q->key_size);
    write_value(writer, q);
    bwl_resp_write_integer(writer, q->lease_ms);
}

static void write_with_members(bwl_resp_writer *writer, const bwl_redis_question *q,
                               bwl_script_id id)
{
    write_begin(writer, q, id, 2 + members_count(q->self));
    write_value(writer, q);
    write_say(writer, q);
    write_members(writer, q);
}

void bwl_queue_write(bwl_resp_writer *writer, const bwl_redis_question *question)
{
    assert(bwl_queue_is(question->word));
    assert(question->self != NULL);
    if (question->word == REDIS_QUEUE_TAKE || question->word == REDIS_QUEUE_JOIN) {
        write_acquire(writer, question);
    } else if (question->word == REDIS_QUEUE_EXTEND) {
        write_extend(writer, question);
    } else if (question->word == REDIS_QUEUE_BEAT) {
        write_with_members(writer, question, BWL_SCRIPT_QUEUE_BEAT);
    } else if (question->word == REDIS_QUEUE_CANCEL) {
        write_with_members(writer, question, BWL_SCRIPT_QUEUE_CANCEL);
    } else if (question->word == REDIS_QUEUE_RELEASE) {
        write_begin(writer, question, BWL_SCRIPT_QUEUE_RELEASE, 2);
        write_value(writer, question);
        write_say(writer, question);
    } else {
        write_begin(writer, question, BWL_SCRIPT_QUEUE_POKE, 1);
        write_say(writer, question);
    }
}

/* ---- greeting -------------------------------------------------------------------------------- */

void bwl_queue_write_inbox(bwl_resp_writer *writer, bool by_shard, const char *inbox)
{
    bwl_resp_write_array(writer, 2);
    bwl_resp_write_text(writer, by_shard ? "SSUBSCRIBE" : "SUBSCRIBE");
    bwl_resp_write_text(writer, inbox);
    bwl_resp_write_array(writer, 3);
    bwl_resp_write_text(writer, by_shard ? "SPUBLISH" : "PUBLISH");
    bwl_resp_write_text(writer, inbox);
    bwl_resp_write_text(writer, "H");
}

void bwl_queue_write_scripts(bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, 2 + BWL_QUEUE_SCRIPTS);
    bwl_resp_write_text(writer, "SCRIPT");
    bwl_resp_write_text(writer, "EXISTS");
    for (unsigned i = 0; i < BWL_QUEUE_SCRIPTS; i++)
        bwl_resp_write_text(writer, bwl_scripts[scripts[i]].sha1);
}

static void write_who_key(bwl_resp_writer *writer, const char *session)
{
    char key[sizeof BWL_QUEUE_WHO + BWL_QUEUE_BITS_SIZE];

    assert(strlen(session) == BWL_QUEUE_BITS_SIZE);
    memcpy(key, BWL_QUEUE_WHO, sizeof BWL_QUEUE_WHO - 1);
    memcpy(key + sizeof BWL_QUEUE_WHO - 1, session, BWL_QUEUE_BITS_SIZE + 1);
    bwl_resp_write_text(writer, key);
}

void bwl_queue_write_floor(bwl_resp_writer *writer, const bwl_queue_card *card)
{
    bwl_resp_write_array(writer, 14);
    write_script(writer, BWL_SCRIPT_QUEUE_FLOOR, true);
    bwl_resp_write_text(writer, "2");
    bwl_resp_write_text(writer, BWL_QUEUE_FENCES_KEY);
    write_who_key(writer, card->session);
    bwl_resp_write_integer(writer, card->kept_ms);
    bwl_resp_write_text(writer, "uid");
    bwl_resp_write_integer(writer, card->uid);
    bwl_resp_write_text(writer, "pid");
    bwl_resp_write_integer(writer, card->pid);
    bwl_resp_write_text(writer, "host");
    bwl_resp_write_text(writer, card->host);
    bwl_resp_write_text(writer, "program");
    bwl_resp_write_text(writer, card->program);
}

void bwl_queue_write_leave(bwl_resp_writer *writer, const char *session)
{
    bwl_resp_write_array(writer, 2);
    bwl_resp_write_text(writer, "DEL");
    write_who_key(writer, session);
}

void bwl_queue_write_look(bwl_resp_writer *writer, const char *key, size_t key_size, bool by_text)
{
    bwl_resp_write_array(writer, 4);
    write_script(writer, BWL_SCRIPT_QUEUE_LOOK, by_text);
    bwl_resp_write_text(writer, "1");
    bwl_resp_write_bulk(writer, key, key_size);
}

bool bwl_queue_read_scripts(const char *bytes, size_t size, unsigned *ret_missing)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    unsigned        missing = 0;

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '*' ||
        value.count != BWL_QUEUE_SCRIPTS)
        return false;
    for (unsigned i = 0; i < BWL_QUEUE_SCRIPTS; i++) {
        if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':')
            return false;
        missing |= value.integer == 0 ? 1u << i : 0;
    }
    *ret_missing = missing;
    return true;
}

void bwl_queue_write_load(bwl_resp_writer *writer, unsigned nth)
{
    assert(nth < BWL_QUEUE_SCRIPTS);
    bwl_resp_write_array(writer, 3);
    bwl_resp_write_text(writer, "SCRIPT");
    bwl_resp_write_text(writer, "LOAD");
    bwl_resp_write_text(writer, bwl_scripts[scripts[nth]].text);
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool next_integer(bwl_resp_cursor *cursor, int64_t min, int64_t max, int64_t *ret_integer)
{
    bwl_resp_value value;

    if (!bwl_resp_next_bare(cursor, &value) || value.type != ':' || value.integer < min ||
        value.integer >= max)
        return false;
    *ret_integer = value.integer;
    return true;
}

static bool next_fence(bwl_resp_cursor *cursor, uint64_t *ret_fence)
{
    int64_t count;

    if (!next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &count))
        return false;
    *ret_fence = (uint64_t)count * BWL_QUEUE_TURNS;
    return true;
}

/* As PTTL says it: -2 there is no key, -1 nothing ends it. */
static bool next_left(bwl_resp_cursor *cursor, bwl_place *ret_place)
{
    int64_t left;

    if (!next_integer(cursor, -2, INT64_MAX, &left))
        return false;
    ret_place->ends    = left != -1;
    ret_place->left_ms = left > 0 ? left : 0;
    return true;
}

static bool next_ours(bwl_resp_cursor *cursor, bwl_place *ret_place)
{
    int64_t ours;

    if (!next_integer(cursor, 0, 2, &ours))
        return false;
    ret_place->is_ours = ours == 1;
    return true;
}

static bool next_ticket(bwl_resp_cursor *cursor, bwl_place *ret_place)
{
    int64_t ticket;

    if (!next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &ticket))
        return false;
    ret_place->ticket = (uint64_t)ticket;
    return true;
}

static bool next_queued(bwl_resp_cursor *cursor, bwl_place *ret_place)
{
    int64_t rank;

    if (!next_ticket(cursor, ret_place) || !next_integer(cursor, 0, BWL_QUEUE_COUNT_MAX, &rank) ||
        !next_left(cursor, ret_place) || !next_ours(cursor, ret_place) ||
        !next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &ret_place->server_us))
        return false;
    ret_place->rank = (uint64_t)rank;
    return true;
}

static bool next_waiting(bwl_resp_cursor *cursor, bwl_place *ret_place)
{
    int64_t waiting;

    if (!next_integer(cursor, 1, BWL_QUEUE_COUNT_MAX, &waiting))
        return false;
    ret_place->rank = (uint64_t)waiting;
    return true;
}

/* One of the ways in which TAKE, JOIN and BEAT end. */
static bool read_how(bwl_resp_cursor *cursor, const bwl_resp_value *array,
                     bwl_redis_reply *ret_reply)
{
    bwl_place     *place = &ret_reply->place;
    bwl_resp_value how;
    bool           is_whole = false;

    if (!bwl_resp_next_bare(cursor, &how))
        return false;
    ret_reply->answer = BWL_NO;
    if (array->count == 6 && bwl_resp_text_is(&how, "QUEUED")) {
        place->how = BWL_HOW_QUEUED;
        is_whole   = next_queued(cursor, place);
    } else if (array->count == 3 && bwl_resp_text_is(&how, "BUSY")) {
        place->how = BWL_HOW_BUSY;
        is_whole   = next_left(cursor, place) && next_ours(cursor, place);
    } else if (array->count == 2 && bwl_resp_text_is(&how, "FULL")) {
        place->how = BWL_HOW_FULL;
        is_whole   = next_waiting(cursor, place);
    } else if (array->count == 1 && bwl_resp_text_is(&how, "GONE")) {
        place->how = BWL_HOW_GONE;
        is_whole   = true;
    } else if (array->count == 3 && bwl_resp_text_is(&how, "CLAIMED")) {
        ret_reply->answer = BWL_YES;
        place->how        = BWL_HOW_CLAIMED;
        is_whole          = next_fence(cursor, &ret_reply->number) && next_ticket(cursor, place);
    } else if (array->count == 3 && bwl_resp_text_is(&how, "MINE")) {
        ret_reply->answer = BWL_YES;
        place->how        = BWL_HOW_MINE;
        is_whole          = next_fence(cursor, &ret_reply->number) && next_left(cursor, place);
    }
    return is_whole;
}

/* Is it how this word may end? */
static bool may_end(bwl_redis_word word, bwl_queue_how how)
{
    switch (how) {
    case BWL_HOW_HELD: return word == REDIS_QUEUE_TAKE || word == REDIS_QUEUE_JOIN;
    case BWL_HOW_BUSY: return word == REDIS_QUEUE_TAKE;
    case BWL_HOW_FULL: return word == REDIS_QUEUE_JOIN;
    case BWL_HOW_QUEUED:
    case BWL_HOW_CLAIMED: return word == REDIS_QUEUE_JOIN || word == REDIS_QUEUE_BEAT;
    case BWL_HOW_MINE:
    case BWL_HOW_GONE: return word == REDIS_QUEUE_BEAT;
    case BWL_HOW_MORE: break;
    }
    bwl_unreachable("this is not how one of these ends");
}

static bwl_redis_verdict read_seat(bwl_redis_word word, const char *bytes, size_t size,
                                   bwl_redis_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value))
        return BWL_REDIS_STRANGE;
    if (value.type == ':') {
        if (value.integer < 1 || value.integer >= BWL_QUEUE_COUNT_MAX)
            return BWL_REDIS_STRANGE;
        ret_reply->answer    = BWL_YES;
        ret_reply->number    = (uint64_t)value.integer * BWL_QUEUE_TURNS;
        ret_reply->place.how = BWL_HOW_HELD;
    } else if (value.type != '*' || !read_how(&cursor, &value, ret_reply)) {
        return BWL_REDIS_STRANGE;
    }
    return may_end(word, ret_reply->place.how) ? BWL_REDIS_ANSWER : BWL_REDIS_STRANGE;
}

bwl_redis_verdict bwl_queue_read(const bwl_redis_question *question, const char *bytes, size_t size,
                                 bwl_redis_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_redis_word  word   = question->word;
    int64_t         flag;

    assert(bwl_queue_is(word));
    if (word == REDIS_QUEUE_TAKE || word == REDIS_QUEUE_JOIN || word == REDIS_QUEUE_BEAT)
        return read_seat(word, bytes, size, ret_reply);
    if (!next_integer(&cursor, word == REDIS_QUEUE_POKE ? 1 : 0, word == REDIS_QUEUE_EXTEND ? 2 : 3,
                      &flag))
        return BWL_REDIS_STRANGE;
    ret_reply->answer = flag == 0 ? BWL_NO : BWL_YES;
    if (flag == 2)
        ret_reply->place.how = BWL_HOW_MORE;
    return BWL_REDIS_ANSWER;
}
