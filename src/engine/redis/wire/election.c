/*
 * election.c -- see election.h, and the scripts queue_announce.lua and queue_observe.lua.
 */
#include "engine/redis/wire/election.h"
#include "core/text.h"
#include "engine/redis/wire/scripts.h"

#include <stdio.h>
#include <string.h>

enum { OBSERVE_ITEMS = 7 };

typedef struct beside {
    char   text[BWL_KEY_BESIDE_MAX];
    size_t size;
} beside;

static beside name_beside(bwl_bytes key, const char *before, const char *after)
{
    const char *tag;
    bool        is_tagged = bwl_key_hash_tag(&tag, key.at, key.size) != key.size;
    beside      name;

    name.size = bwl_key_beside(name.text, key.at, key.size, is_tagged, before, after);
    return name;
}

static void write_name(bwl_resp_writer *writer, bwl_bytes key, const char *before,
                       const char *after)
{
    beside name = name_beside(key, before, after);

    bwl_resp_write_bulk(writer, name.text, name.size);
}

void bwl_announce_write(bwl_resp_writer *writer, const bwl_announce_args *args)
{
    char said[BWL_QUEUE_VALUE_SIZE + 24 + BWL_ANNOUNCEMENT_MAX] = "";

    if (args->text != NULL)
        (void)snprintf(said, sizeof said, "%s %llu %s", args->value,
                       (unsigned long long)args->fence, args->text);
    bwl_redis_write_script(writer, &bwl_scripts[BWL_SCRIPT_QUEUE_ANNOUNCE], args->use_eval, 2, 6);
    bwl_resp_write_bulk(writer, args->key.at, args->key.size);
    write_name(writer, args->key, "", BWL_QUEUE_ANNOUNCEMENT);
    bwl_resp_write_text(writer, args->value);
    bwl_resp_write_text(writer, args->uses_sharded_pubsub ? "SPUBLISH" : "PUBLISH");
    write_name(writer, args->key, BWL_ELECTION_CHANNEL, "");
    bwl_resp_write_text(writer, said);
}

bwl_redis_verdict bwl_announce_read(const char *bytes, size_t size, bwl_answer *ret_answer,
                                    bowline_loss *ret_loss)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (bwl_redis_is_error(bytes, size))
        return bwl_redis_read_error(bytes, size, ret_answer);
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':' || value.integer < -1 ||
        value.integer > 1)
        return BWL_REDIS_STRANGE;
    *ret_answer = value.integer == 1 ? BWL_YES : BWL_NO;
    *ret_loss   = value.integer == 0 ? BOWLINE_LOSS_GONE : BOWLINE_LOSS_TAKEN;
    return BWL_REDIS_ANSWER;
}

/* ---- observing ------------------------------------------------------------------------------- */

void bwl_observe_write_subscribe(bwl_resp_writer *writer, bwl_bytes key, bool by_shard)
{
    bwl_resp_write_array(writer, 2);
    bwl_resp_write_text(writer, by_shard ? "SSUBSCRIBE" : "SUBSCRIBE");
    write_name(writer, key, BWL_ELECTION_CHANNEL, "");
}

void bwl_observe_write(bwl_resp_writer *writer, bwl_bytes key, const char *tag, bool use_eval)
{
    bwl_redis_write_script(writer, &bwl_scripts[BWL_SCRIPT_QUEUE_OBSERVE], use_eval, 2, 3);
    bwl_resp_write_bulk(writer, key.at, key.size);
    write_name(writer, key, "", BWL_QUEUE_ANNOUNCEMENT);
    bwl_resp_write_text(writer, bwl_queue_who_key(tag, "").text);
}

/* The fence, a blank and the text, which another program may have written. */
static bool read_said(const bwl_resp_value *said, bwl_observe_reply *ret_reply)
{
    const char *blank  = said->size > 0 ? memchr(said->text, ' ', said->size) : NULL;
    size_t      digits = blank != NULL ? (size_t)(blank - said->text) : 0;

    if (digits == 0 || !bwl_number_parse(&ret_reply->fence, said->text, digits, UINT64_MAX))
        return false;
    bwl_printable_copy(ret_reply->text, sizeof ret_reply->text, blank + 1, said->size - digits - 1);
    return true;
}

bwl_redis_verdict bwl_observe_read(const char *bytes, size_t size, bwl_answer *ret_answer,
                                   bwl_observe_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  array, leads, left, said;

    if (bwl_redis_is_error(bytes, size))
        return bwl_redis_read_error(bytes, size, ret_answer);
    *ret_reply = (bwl_observe_reply){ .leads = false };
    if (!bwl_resp_next_bare(&cursor, &array) || array.type != '*' || array.count != OBSERVE_ITEMS ||
        !bwl_resp_next_bare(&cursor, &leads) || leads.type != ':' ||
        !bwl_resp_next_bare(&cursor, &left) || left.type != ':' ||
        !bwl_resp_next_bare(&cursor, &said) || said.type != '$' ||
        !bwl_redis_read_client_info(&cursor, &ret_reply->client))
        return BWL_REDIS_STRANGE;
    ret_reply->client.left_ms = left.integer;
    ret_reply->leads          = leads.integer == 1 && read_said(&said, ret_reply);
    *ret_answer               = BWL_YES;
    return BWL_REDIS_ANSWER;
}

bwl_observe_push bwl_observe_read_push(const char *bytes, size_t size, bwl_bytes *ret_channel)
{
    static const char prefix[] = BWL_ELECTION_CHANNEL;
    bwl_resp_cursor   cursor   = bwl_resp_begin(bytes, size);
    bwl_resp_value    value, kind, channel;

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '>' || value.count != 3 ||
        !bwl_resp_next_bare(&cursor, &kind) || !bwl_resp_next_bare(&cursor, &channel) ||
        channel.text == NULL || channel.size < sizeof prefix ||
        memcmp(channel.text, prefix, sizeof prefix - 1) != 0)
        return BWL_OBSERVE_OTHER;
    *ret_channel = (bwl_bytes){ channel.text, channel.size };
    if (bwl_resp_text_is(&kind, "ssubscribe") || bwl_resp_text_is(&kind, "subscribe"))
        return BWL_OBSERVE_SUBSCRIBED;
    return bwl_resp_text_is(&kind, "sunsubscribe") ? BWL_OBSERVE_UNSUBSCRIBED : BWL_OBSERVE_CHANGED;
}

bool bwl_observe_is_channel_of(bwl_bytes channel, bwl_bytes key)
{
    beside name = name_beside(key, BWL_ELECTION_CHANNEL, "");

    return name.size == channel.size && memcmp(name.text, channel.at, name.size) == 0;
}
