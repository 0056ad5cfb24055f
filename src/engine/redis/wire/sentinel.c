/*
 * sentinel.c -- see sentinel.h.
 */
#include "engine/redis/wire/sentinel.h"

#include "core/text.h"
#include "engine/redis/wire/commands.h"

#include <string.h>

#define CHANNEL "+switch-master"

enum { SWITCH_FIELDS = 5, PORT_MAX = 65535 };

bool bwl_primary_is(const bwl_primary *one, const bwl_primary *other)
{
    return one->port == other->port && strcmp(one->host, other->host) == 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

void bwl_sentinel_write_hello(bwl_resp_writer *writer, const char *user, const char *password)
{
    bwl_resp_write_array(writer, password != NULL ? 5 : 2);
    bwl_resp_write_text(writer, "HELLO");
    bwl_resp_write_text(writer, "3");
    if (password == NULL)
        return;
    bwl_resp_write_text(writer, "AUTH");
    bwl_resp_write_text(writer, user != NULL ? user : "default");
    bwl_resp_write_text(writer, password);
}

void bwl_sentinel_write_subscribe(bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, 2);
    bwl_resp_write_text(writer, "SUBSCRIBE");
    bwl_resp_write_text(writer, CHANNEL);
}

void bwl_sentinel_write_question(bwl_resp_writer *writer, const char *service)
{
    bwl_resp_write_array(writer, 3);
    bwl_resp_write_text(writer, "SENTINEL");
    bwl_resp_write_text(writer, "GET-MASTER-ADDR-BY-NAME");
    bwl_resp_write_text(writer, service);
}

/* ---- replies --------------------------------------------------------------------------------- */

/* An address: a host of printable characters without blanks, and a port in decimal digits. */
static bool read_address(bwl_primary *ret_primary, const char *host, size_t host_size,
                         const char *port, size_t port_size)
{
    uint64_t number;

    if (host_size == 0 || host_size > BWL_PRIMARY_HOST_MAX)
        return false;
    for (size_t i = 0; i < host_size; i++)
        if (host[i] <= ' ' || host[i] > '~')
            return false;
    if (!bwl_number_parse(&number, port, port_size, PORT_MAX) || number == 0)
        return false;
    memcpy(ret_primary->host, host, host_size);
    ret_primary->host[host_size] = '\0';
    ret_primary->port            = (uint16_t)number;
    return true;
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
        !read_address(ret_primary, host.text, host.size, port.text, port.size))
        return BWL_SENTINEL_STRANGE;
    return BWL_SENTINEL_FOUND;
}

typedef struct field {
    const char *at;
    size_t      size;
} field;

/* Exactly SWITCH_FIELDS fields, with one space between two of them. */
static bool split(field ret_fields[SWITCH_FIELDS], const char *text, size_t size)
{
    size_t begin = 0;

    for (unsigned i = 0; i < SWITCH_FIELDS; i++) {
        const char *space = memchr(text + begin, ' ', size - begin);
        size_t      end   = space != NULL ? (size_t)(space - text) : size;
        bool        last  = i + 1 == SWITCH_FIELDS;
        if (last != (space == NULL))
            return false;
        ret_fields[i] = (field){ text + begin, end - begin };
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
    field           fields[SWITCH_FIELDS];

    if (!bwl_resp_next_bare(&cursor, &whole) || whole.type != '>' || whole.count != 3 ||
        !bwl_resp_next_bare(&cursor, &kind) || !bwl_resp_text_is(&kind, "message") ||
        !bwl_resp_next_bare(&cursor, &channel) || !bwl_resp_text_is(&channel, CHANNEL) ||
        !bwl_resp_next_bare(&cursor, &text) || text.text == NULL ||
        !split(fields, text.text, text.size))
        return false;
    return fields[0].size == strlen(service) &&
           memcmp(fields[0].at, service, fields[0].size) == 0 &&
           read_address(ret_primary, fields[3].at, fields[3].size, fields[4].at, fields[4].size);
}
