/*
 * sentinel.c -- see sentinel.h.
 */
#include "engine/redis/wire/sentinel.h"

#include "core/text.h"
#include "engine/redis/wire/commands.h"

#include <string.h>

enum { SWITCH_FIELDS = 5 };

bool bwl_primary_is(const bwl_primary *one, const bwl_primary *other)
{
    return one->port == other->port && strcmp(one->host, other->host) == 0;
}

bool bwl_primary_take(bwl_primary *ret_primary, bwl_bytes host, uint64_t port)
{
    if (host.size > BWL_PRIMARY_HOST_MAX || port == 0 || port > UINT16_MAX)
        return false;
    for (size_t i = 0; i < host.size; i++)
        if (host.at[i] <= ' ' || host.at[i] > '~')
            return false;
    if (host.size > 0)
        memcpy(ret_primary->host, host.at, host.size);
    ret_primary->host[host.size] = '\0';
    ret_primary->port            = (uint16_t)port;
    return true;
}

static bool read_address(bwl_primary *ret_primary, bwl_bytes host, bwl_bytes port)
{
    uint64_t number;

    return host.size > 0 && bwl_number_parse(&number, port.at, port.size, UINT16_MAX) &&
           bwl_primary_take(ret_primary, host, number);
}

bwl_sentinel_says bwl_sentinel_read(bwl_primary *ret_primary, const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  whole;
    bwl_resp_value  host;
    bwl_resp_value  port;

    if (bwl_redis_is_error(bytes, size))
        return BWL_SENTINEL_ERROR;
    if (!bwl_resp_next_bare(&cursor, &whole))
        return BWL_SENTINEL_STRANGE;
    if (whole.type == '_')
        return BWL_SENTINEL_UNKNOWN;
    if (whole.type != '*' || whole.count != 2 || !bwl_resp_next_bare(&cursor, &host) ||
        !bwl_resp_next_bare(&cursor, &port) || host.text == NULL || port.text == NULL ||
        !read_address(ret_primary, (bwl_bytes){ host.text, host.size },
                      (bwl_bytes){ port.text, port.size }))
        return BWL_SENTINEL_STRANGE;
    return BWL_SENTINEL_FOUND;
}

/* Exactly SWITCH_FIELDS fields, with one space between two of them. */
static bool split(bwl_bytes ret_fields[SWITCH_FIELDS], const char *text, size_t size)
{
    size_t begin = 0;

    for (unsigned i = 0; i < SWITCH_FIELDS; i++) {
        const char *space = memchr(text + begin, ' ', size - begin);
        size_t      end   = space != NULL ? (size_t)(space - text) : size;
        bool        last  = i + 1 == SWITCH_FIELDS;
        if (last != (space == NULL))
            return false;
        ret_fields[i] = (bwl_bytes){ text + begin, end - begin };
        begin         = last ? end : end + 1;
    }
    return true;
}

bool bwl_sentinel_read_switch(bwl_primary *ret_primary, const char *service, const char *bytes,
                              size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  whole;
    bwl_resp_value  kind;
    bwl_resp_value  channel;
    bwl_resp_value  text;
    bwl_bytes       fields[SWITCH_FIELDS];

    if (!bwl_resp_next_bare(&cursor, &whole) || whole.type != '>' || whole.count != 3 ||
        !bwl_resp_next_bare(&cursor, &kind) || !bwl_resp_text_is(&kind, "message") ||
        !bwl_resp_next_bare(&cursor, &channel) ||
        !bwl_resp_text_is(&channel, BWL_SENTINEL_CHANNEL) || !bwl_resp_next_bare(&cursor, &text) ||
        text.text == NULL || !split(fields, text.text, text.size))
        return false;
    return fields[0].size == strlen(service) &&
           memcmp(fields[0].at, service, fields[0].size) == 0 &&
           read_address(ret_primary, fields[3], fields[4]);
}
