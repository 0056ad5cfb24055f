/*
 * cluster.c -- see cluster.h.
 */
#include "engine/redis/wire/cluster.h"

#include "core/text.h"
#include "engine/redis/wire/key.h"
#include "engine/redis/wire/signal.h"

#include <stdio.h>
#include <string.h>

enum {
    POLYNOMIAL = 0x1021, /* of CRC16 as XMODEM has it: begins with 0, most significant bit first */
    PORT_MAX   = 65535,
    SLOT_MAX   = BWL_CLUSTER_SLOTS - 1,
};

/* ---- slots ----------------------------------------------------------------------------------- */

static uint16_t crc16(const char *bytes, size_t size)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < size; i++) {
        crc ^= (uint32_t)(unsigned char)bytes[i] << 8;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000) != 0 ? crc << 1 ^ POLYNOMIAL : crc << 1;
    }
    return (uint16_t)crc;
}

uint16_t bwl_cluster_slot(const char *key, size_t size)
{
    const char *tag;
    size_t      tag_size = bwl_key_hash_tag(&tag, key, size);

    return crc16(tag, tag_size) & SLOT_MAX;
}

/* All are found before 109758. */
uint32_t bwl_cluster_tag(bwl_cluster_tags *tags, uint16_t slot)
{
    char text[12];

    assert(slot < BWL_CLUSTER_SLOTS);
    while (tags->of[slot] == 0) {
        int      size = snprintf(text, sizeof text, "%u", (unsigned)tags->next);
        uint16_t its  = bwl_cluster_slot(text, (size_t)size);
        tags->next++;
        if (tags->of[its] == 0)
            tags->of[its] = tags->next;
    }
    return tags->of[slot] - 1;
}

/* ---- what we say ----------------------------------------------------------------------------- */

void bwl_cluster_write_slots(bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, 2);
    bwl_resp_write_text(writer, "CLUSTER");
    bwl_resp_write_text(writer, "SLOTS");
}

void bwl_cluster_write_asking(bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, 1);
    bwl_resp_write_text(writer, "ASKING");
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* A host goes to the resolver, and into texts for people. */
static bool is_host(const char *at, size_t size)
{
    if (size > BWL_PRIMARY_HOST_MAX || (size == 1 && at[0] == '?'))
        return false;
    for (size_t i = 0; i < size; i++)
        if (at[i] <= ' ' || at[i] > '~')
            return false;
    return true;
}

static bool take_address(bwl_primary *ret_primary, bwl_bytes host, uint64_t port)
{
    if (!is_host(host.at, host.size) || port == 0 || port > PORT_MAX)
        return false;
    if (host.size > 0)
        memcpy(ret_primary->host, host.at, host.size);
    ret_primary->host[host.size] = '\0';
    ret_primary->port            = (uint16_t)port;
    return true;
}

bool bwl_cluster_begin(bwl_cluster_walk *ret_walk, const char *bytes, size_t size)
{
    bwl_resp_value all;

    ret_walk->cursor = bwl_resp_begin(bytes, size);
    ret_walk->left   = 0;
    if (!bwl_resp_next_bare(&ret_walk->cursor, &all) || all.type != '*')
        return false;
    ret_walk->left = all.count;
    return true;
}

static bool next_slot(bwl_resp_cursor *cursor, uint16_t *ret_slot)
{
    bwl_resp_value value;

    if (!bwl_resp_next_bare(cursor, &value) || value.type != ':' || value.integer < 0 ||
        value.integer > SLOT_MAX)
        return false;
    *ret_slot = (uint16_t)value.integer;
    return true;
}

/* What else is said of a node (its id, its other names) is passed over.  -1: it is no node. */
static int next_node(bwl_resp_cursor *cursor, bwl_primary *ret_primary)
{
    bwl_resp_value node;
    bwl_resp_value host;
    bwl_resp_value port;

    if (!bwl_resp_next_bare(cursor, &node) || node.type != '*' || node.count < 2 ||
        !bwl_resp_next_bare(cursor, &host) || (host.text == NULL && host.type != '_') ||
        !bwl_resp_next_bare(cursor, &port) || port.type != ':' || port.integer < 0)
        return -1;
    for (uint32_t i = 2; i < node.count; i++) {
        bwl_resp_value other;
        if (!bwl_resp_next_bare(cursor, &other))
            return -1;
        bwl_resp_skip(cursor, &other);
    }
    bwl_bytes name = { host.text, host.text != NULL ? host.size : 0 };
    return take_address(ret_primary, name, (uint64_t)port.integer) ? 1 : 0;
}

/* As bwl_cluster_next of this one range; 0: it names nobody. */
static int take_range(bwl_cluster_walk *walk, bwl_cluster_range *ret_range)
{
    bwl_resp_value range;

    if (!bwl_resp_next_bare(&walk->cursor, &range) || range.type != '*' || range.count < 3 ||
        !next_slot(&walk->cursor, &ret_range->first) ||
        !next_slot(&walk->cursor, &ret_range->last) || ret_range->first > ret_range->last)
        return -1;
    int named = next_node(&walk->cursor, &ret_range->primary);
    for (uint32_t i = 3; i < range.count; i++) {
        bwl_resp_value replica;
        if (!bwl_resp_next_bare(&walk->cursor, &replica))
            return -1;
        bwl_resp_skip(&walk->cursor, &replica);
    }
    return named;
}

int bwl_cluster_next(bwl_cluster_walk *walk, bwl_cluster_range *ret_range)
{
    while (walk->left > 0) {
        walk->left--;
        int taken = take_range(walk, ret_range);
        if (taken < 0)
            walk->left = 0;
        if (taken != 0)
            return taken;
    }
    return 0;
}

/* The last colon: an IPv6 address has some of its own. */
static bool split_address(bwl_primary *ret_primary, const char *text, size_t size)
{
    size_t   colon = size;
    uint64_t port;

    while (colon > 0 && text[colon - 1] != ':')
        colon--;
    if (colon == 0 || !bwl_number_parse(&port, text + colon, size - colon, PORT_MAX))
        return false;
    return take_address(ret_primary, (bwl_bytes){ text, colon - 1 }, port);
}

static bool split_redirect(bwl_redirect *ret_redirect, const char *text, size_t size)
{
    const char *space = memchr(text, ' ', size);
    uint64_t    slot;

    if (space == NULL || !bwl_number_parse(&slot, text, (size_t)(space - text), SLOT_MAX))
        return false;
    ret_redirect->slot = (uint16_t)slot;
    return split_address(&ret_redirect->to, space + 1, size - (size_t)(space + 1 - text));
}

/* What a script has met inside is wrapped in an error of its own, and is none of these: some of the
 * script may have been carried out. */
bool bwl_cluster_read_redirect(bwl_redirect *ret_redirect, const char *bytes, size_t size)
{
    static const struct {
        const char       *code;
        bwl_redirect_kind kind;
    } codes[]              = { { "MOVED ", BWL_REDIRECT_MOVED }, { "ASK ", BWL_REDIRECT_ASK } };
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  error;

    if (!bwl_resp_next_bare(&cursor, &error) || (error.type != '-' && error.type != '!'))
        return false;
    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        size_t code = strlen(codes[i].code);
        if (error.size < code || memcmp(error.text, codes[i].code, code) != 0)
            continue;
        ret_redirect->kind = codes[i].kind;
        return split_redirect(ret_redirect, error.text + code, error.size - code);
    }
    return false;
}
