/*
 * queue_push.c -- reads the messages on the push channel of a connection.  See queue.h.
 *
 *      H                     published by this client itself: pushes do arrive
 *      G nonce count time    the lock was granted to the waiter with this nonce, at this time of
 *                            the server in microseconds; the count makes the fence
 */
#include "core/text.h"
#include "engine/redis/wire/queue.h"

#include <string.h>

/* Takes the text up to the next space, and skips the space.  Empty at the end. */
static bwl_bytes next_field(bwl_bytes *rest)
{
    const char *space = memchr(rest->at, ' ', rest->size);
    size_t      size  = space != NULL ? (size_t)(space - rest->at) : rest->size;
    bwl_bytes   field = { rest->at, size };
    size_t      taken = space != NULL ? size + 1 : size;

    *rest = (bwl_bytes){ rest->at + taken, rest->size - taken };
    return field;
}

static bool read_generation(const char *at, size_t size, uint64_t *ret_generation)
{
    uint64_t generation = 0;

    if (size != 16)
        return false;
    for (size_t i = 0; i < size; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit  = memchr(digits, at[i], 16);
        if (digit == NULL)
            return false;
        generation = generation << 4 | (uint64_t)(digit - digits);
    }
    *ret_generation = generation;
    return true;
}

static bool read_nonce(bwl_bytes nonce, bwl_queue_push *ret_push)
{
    const char *dot = memchr(nonce.at, '.', nonce.size);
    uint64_t    slot;

    if (dot == NULL || !bwl_number_parse(&slot, nonce.at, (size_t)(dot - nonce.at), UINT32_MAX))
        return false;
    ret_push->slot = (uint32_t)slot;
    return read_generation(dot + 1, nonce.size - (size_t)(dot + 1 - nonce.at),
                           &ret_push->generation);
}

static bool read_count(bwl_bytes field, uint64_t *ret_count)
{
    return bwl_number_parse(ret_count, field.at, field.size, BWL_QUEUE_COUNT_MAX - 1) &&
           *ret_count > 0;
}

/* G nonce count time */
static bool read_grant(const bwl_resp_value *text, bwl_queue_push *ret_push)
{
    bwl_bytes rest = { text->text, text->size };
    uint64_t  count;
    uint64_t  time_us;
    bwl_bytes kind = next_field(&rest);

    if (kind.size != 1 || kind.at[0] != 'G' || !read_nonce(next_field(&rest), ret_push) ||
        !read_count(next_field(&rest), &count) || !read_count(rest, &time_us))
        return false;
    ret_push->fence     = count * BWL_QUEUE_HANDOFFS;
    ret_push->server_us = (int64_t)time_us;
    return true;
}

/* True for the push channel, alone or with a colon and a tag added. */
static bool read_channel(const bwl_resp_value *channel, const char *push_channel,
                         bwl_bytes *ret_tag)
{
    size_t size = strlen(push_channel);

    if (channel->text == NULL || channel->size < size ||
        memcmp(channel->text, push_channel, size) != 0)
        return false;
    *ret_tag = (bwl_bytes){ channel->text + size, 0 };
    if (channel->size == size)
        return true;
    *ret_tag = (bwl_bytes){ channel->text + size + 1, channel->size - size - 1 };
    return channel->text[size] == ':';
}

bwl_queue_push bwl_queue_read_push(const char *push_channel, const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    bwl_resp_value  kind;
    bwl_queue_push  push  = { .kind = BWL_PUSH_GRANT };
    bwl_queue_push  other = { .kind = BWL_PUSH_OTHER };

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '>' || value.count != 3 ||
        !bwl_resp_next_bare(&cursor, &kind) || !bwl_resp_next_bare(&cursor, &value) ||
        !read_channel(&value, push_channel, &push.tag) || !bwl_resp_next_bare(&cursor, &value))
        return other;
    if (bwl_resp_text_is(&kind, "ssubscribe") || bwl_resp_text_is(&kind, "subscribe"))
        return (bwl_queue_push){ .kind = BWL_PUSH_SUBSCRIBED, .tag = push.tag };
    if (bwl_resp_text_is(&kind, "sunsubscribe"))
        return (bwl_queue_push){ .kind = BWL_PUSH_UNSUBSCRIBED, .tag = push.tag };
    if (value.type != '$' ||
        (!bwl_resp_text_is(&kind, "smessage") && !bwl_resp_text_is(&kind, "message")))
        return other;
    if (bwl_resp_text_is(&value, "H"))
        return (bwl_queue_push){ .kind = BWL_PUSH_HELLO };
    return read_grant(&value, &push) ? push : other;
}
