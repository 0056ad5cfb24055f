/*
 * holder.c -- the holder queries of a lock, and their replies: see commands.h and the scripts
 * *_holder_query.lua and queue_holders.lua.
 */
#include "core/text.h"
#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/scripts.h"

#include <string.h>

void bwl_redis_write_holder_query(bwl_resp_writer *writer, const bwl_script *script, bwl_bytes key,
                                  const char *tag, bool use_eval)
{
    bool     has_tag   = tag[0] != '\0';
    bool     has_queue = script == &bwl_scripts[BWL_SCRIPT_QUEUE_HOLDER_QUERY];
    unsigned keys      = has_queue ? 2 : 1;
    char     queue[BWL_KEY_BESIDE_MAX];

    bwl_redis_write_script(writer, script, use_eval, keys, has_tag ? keys + 1 : keys);
    bwl_resp_write_bulk(writer, key.at, key.size);
    if (has_queue)
        bwl_resp_write_bulk(writer, queue, bwl_key_queue(queue, key.at, key.size));
    if (has_tag)
        bwl_resp_write_text(writer, bwl_queue_who_key(tag, "").text);
}

static bool copy_text(char *ret_text, size_t capacity, const bwl_resp_value *value)
{
    if ((value->type != '$' && value->type != '+') || value->size >= capacity)
        return false;
    memcpy(ret_text, value->text, value->size);
    ret_text[value->size] = '\0';
    return true;
}

/* A decimal number in a text of another client; 0: it is none. */
static uint64_t number_of(const bwl_resp_value *value, uint64_t max)
{
    uint64_t number = 0;

    if (value->text == NULL || !bwl_number_parse(&number, value->text, value->size, max))
        return 0;
    return number;
}

void bwl_redis_write_holders(bwl_resp_writer *writer, bwl_bytes key, const char *tag,
                             const bwl_holders_page *from, bool use_eval)
{
    char queue[BWL_KEY_BESIDE_MAX];

    bwl_redis_write_script(writer, &bwl_scripts[BWL_SCRIPT_QUEUE_HOLDERS], use_eval, 2, 5);
    bwl_resp_write_bulk(writer, key.at, key.size);
    bwl_resp_write_bulk(writer, queue, bwl_key_queue(queue, key.at, key.size));
    bwl_resp_write_text(writer, bwl_queue_who_key(tag, "").text);
    bwl_resp_write_integer(writer, (int64_t)from->score);
    bwl_resp_write_integer(writer, (int64_t)from->skipped);
}

/* Reads as many items as `types` has characters: '$' a text, ':' an integer, '0' one that is not
 * negative. */
static bool read_items(bwl_resp_cursor *cursor, const char *types, bwl_resp_value *ret_values)
{
    for (size_t i = 0; types[i] != '\0'; i++) {
        char type = types[i] == '0' ? ':' : types[i];
        if (!bwl_resp_next_bare(cursor, &ret_values[i]) || ret_values[i].type != type ||
            (types[i] == '0' && ret_values[i].integer < 0))
            return false;
    }
    return true;
}

bool bwl_redis_read_client_info(bwl_resp_cursor *cursor, bwl_holder_reply *ret_holder)
{
    bwl_resp_value values[4];

    if (!read_items(cursor, "$$$$", values))
        return false;
    ret_holder->uid = (int64_t)number_of(&values[0], INT32_MAX);
    ret_holder->pid = (int64_t)number_of(&values[1], INT32_MAX);
    if (!copy_text(ret_holder->host, sizeof ret_holder->host, &values[2]))
        ret_holder->host[0] = '\0';
    if (!copy_text(ret_holder->program, sizeof ret_holder->program, &values[3]))
        ret_holder->program[0] = '\0';
    return true;
}

enum { WITH_CLIENT_INFO = 13 }; /* elements of a reply */

static uint32_t count_of(const bwl_resp_value *value)
{
    return value->integer < UINT32_MAX ? (uint32_t)value->integer : UINT32_MAX;
}

/* How many wait; what the holder has published of the hold; how many share it. */
static bool read_hold(bwl_resp_cursor *cursor, bwl_holder_reply *ret_holder)
{
    bwl_resp_value values[6];

    if (!read_items(cursor, "00$$00", values))
        return false;
    ret_holder->waiting     = count_of(&values[0]);
    ret_holder->sharers     = count_of(&values[4]);
    ret_holder->permits     = count_of(&values[5]);
    ret_holder->since_ms    = values[1].integer;
    ret_holder->fence       = number_of(&values[2], UINT64_MAX);
    ret_holder->command_pid = (int64_t)number_of(&values[3], INT32_MAX);
    return true;
}

static bool read_value(bwl_resp_cursor *cursor, bwl_holder_reply *ret_holder)
{
    bwl_resp_value value;

    if (!bwl_resp_next_bare(cursor, &value) ||
        !copy_text(ret_holder->value, sizeof ret_holder->value, &value))
        return false;
    ret_holder->value_size = value.size;
    return true;
}

/* The kind of the key, its expiry and its value. */
static bool read_key(bwl_resp_cursor *cursor, bwl_holder_reply *ret_holder)
{
    bwl_resp_value kind, left;

    if (!bwl_resp_next_bare(cursor, &kind) ||
        !copy_text(ret_holder->kind, sizeof ret_holder->kind, &kind) ||
        !bwl_resp_next_bare(cursor, &left) || left.type != ':')
        return false;
    ret_holder->left_ms = left.integer;
    return read_value(cursor, ret_holder);
}

bwl_redis_verdict bwl_redis_read_holder_query(const char *bytes, size_t size,
                                              bwl_answer *ret_answer, bwl_holder_reply *ret_holder)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (bwl_redis_is_error(bytes, size))
        return bwl_redis_read_error(bytes, size, ret_answer);
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '*' ||
        (value.count != 3 && value.count != WITH_CLIENT_INFO))
        return BWL_REDIS_STRANGE;
    bool has_client_info = value.count == WITH_CLIENT_INFO;
    if (!read_key(&cursor, ret_holder))
        return BWL_REDIS_STRANGE;
    if (has_client_info &&
        !(bwl_redis_read_client_info(&cursor, ret_holder) && read_hold(&cursor, ret_holder)))
        return BWL_REDIS_STRANGE;
    *ret_answer = BWL_YES;
    return BWL_REDIS_ANSWER;
}

/* ---- all holders ----------------------------------------------------------------------------- */

enum { PAGE_ITEMS = 6, ROW_ITEMS = 11 };

bwl_redis_verdict bwl_redis_read_holders(const char *bytes, size_t size, bwl_answer *ret_answer,
                                         bwl_holders_page *ret_page)
{
    bwl_resp_cursor  cursor = bwl_resp_begin(bytes, size);
    bwl_holders_page page   = { .count = 0 };
    bwl_resp_value   array, next[3];

    if (bwl_redis_is_error(bytes, size))
        return bwl_redis_read_error(bytes, size, ret_answer);
    if (!bwl_resp_next_bare(&cursor, &array) || array.type != '*' || array.count < PAGE_ITEMS ||
        (array.count - PAGE_ITEMS) % ROW_ITEMS != 0 || !read_key(&cursor, &page.lock) ||
        !read_items(&cursor, "0$0", next))
        return BWL_REDIS_STRANGE;
    page.lock.waiting = count_of(&next[0]);
    page.count        = (array.count - PAGE_ITEMS) / ROW_ITEMS;
    page.score        = number_of(&next[1], INT64_MAX);
    page.skipped      = (uint64_t)next[2].integer;
    page.rows         = cursor;
    *ret_page         = page;
    *ret_answer       = BWL_YES;
    return BWL_REDIS_ANSWER;
}

bool bwl_redis_next_holder(bwl_holders_page *page, bwl_holder_reply *ret_holder)
{
    bwl_resp_cursor *cursor = &page->rows;
    bwl_holder_reply holder = { .kind = "string", .waiting = page->lock.waiting };
    bwl_resp_value   in_store[2], published[4];

    if (!read_value(cursor, &holder) || !read_items(cursor, "0:", in_store) ||
        !bwl_redis_read_client_info(cursor, &holder) || !read_items(cursor, "0$$$", published))
        return false;
    holder.permits     = count_of(&in_store[0]);
    holder.sharers     = holder.permits > 0;
    holder.left_ms     = in_store[1].integer;
    holder.since_ms    = published[0].integer;
    holder.fence       = number_of(&published[1], UINT64_MAX);
    holder.command_pid = (int64_t)number_of(&published[2], INT32_MAX);
    holder.limit       = (uint32_t)number_of(&published[3], UINT32_MAX);
    *ret_holder        = holder;
    return true;
}
