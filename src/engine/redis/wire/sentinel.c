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

/* ---- the reply to MASTER --------------------------------------------------------------------- */

/* Whether a word is in a list such as "s_down,o_down,master". */
static bool has_flag(bwl_bytes list, const char *flag)
{
    size_t size = strlen(flag);

    for (size_t begin = 0; begin < list.size;) {
        const char *comma = memchr(list.at + begin, ',', list.size - begin);
        size_t      end   = comma != NULL ? (size_t)(comma - list.at) : list.size;
        if (end - begin == size && memcmp(list.at + begin, flag, size) == 0)
            return true;
        begin = end + 1;
    }
    return false;
}

/* The fields that are needed; an empty text: missing. */
typedef struct state_fields {
    bwl_bytes host;
    bwl_bytes port;
    bwl_bytes flags;
    bwl_bytes epoch;
} state_fields;

static void take_field(state_fields *f, const bwl_resp_value *name, const bwl_resp_value *value)
{
    bwl_bytes text = { value->text, value->size };

    if (value->text == NULL)
        return;
    if (bwl_resp_text_is(name, "ip"))
        f->host = text;
    else if (bwl_resp_text_is(name, "port"))
        f->port = text;
    else if (bwl_resp_text_is(name, "flags"))
        f->flags = text;
    else if (bwl_resp_text_is(name, "config-epoch"))
        f->epoch = text;
}

/* A map, or a list of names and values: each has all values of the frame in pairs. */
static state_fields read_fields(bwl_resp_cursor *cursor)
{
    state_fields   f = { .host = { .size = 0 } };
    bwl_resp_value name;
    bwl_resp_value value;

    while (bwl_resp_next_bare(cursor, &name) && bwl_resp_next_bare(cursor, &value)) {
        take_field(&f, &name, &value);
        bwl_resp_skip(cursor, &value);
    }
    return f;
}

bwl_sentinel_says bwl_sentinel_read_state(bwl_sentinel_state *ret_state, const char *bytes,
                                          size_t size)
{
    bwl_resp_cursor    cursor = bwl_resp_begin(bytes, size);
    bwl_sentinel_state state;
    bwl_resp_value     whole;

    if (bwl_redis_error_is(bytes, size, "ERR No such"))
        return BWL_SENTINEL_UNKNOWN;
    if (bwl_redis_is_error(bytes, size))
        return BWL_SENTINEL_ERROR;
    if (!bwl_resp_next_bare(&cursor, &whole) || (whole.type != '%' && whole.type != '*'))
        return BWL_SENTINEL_STRANGE;
    state_fields f = read_fields(&cursor);
    if (!read_address(&state.instance, f.host, f.port) ||
        !bwl_number_parse(&state.epoch, f.epoch.at, f.epoch.size, UINT64_MAX))
        return BWL_SENTINEL_STRANGE;
    state.is_down = has_flag(f.flags, "o_down");
    *ret_state    = state;
    return BWL_SENTINEL_FOUND;
}

bwl_sentinel_answer bwl_sentinel_answer_of(const bwl_sentinel_state *state,
                                           const bwl_primary        *primary)
{
    return (bwl_sentinel_answer){
        .primary = *primary,
        .epoch   = state->epoch,
        .is_down = state->is_down && bwl_primary_is(primary, &state->instance),
    };
}

/* ---- the message ----------------------------------------------------------------------------- */

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
