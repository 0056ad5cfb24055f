/*
 * cluster.c -- see cluster.h.
 */
#include "engine/redis/wire/cluster.h"

#include "core/text.h"
#include "engine/redis/wire/key.h"

#include <stdio.h>
#include <string.h>

enum { SLOT_MAX = BWL_CLUSTER_SLOTS - 1 };

/* ---- slots ----------------------------------------------------------------------------------- */

/* CRC16 as in Redis's src/crc16.c: XMODEM, polynomial 0x1021, initial value 0, most significant bit
 * first.  The table has that of each half byte. */
static uint16_t crc16(const char *bytes, size_t size)
{
    static const uint16_t of_half[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    };
    uint16_t crc = 0;

    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        crc                = (uint16_t)(crc << 4 ^ of_half[(crc >> 12 ^ byte >> 4) & 15]);
        crc                = (uint16_t)(crc << 4 ^ of_half[(crc >> 12 ^ byte) & 15]);
    }
    return crc;
}

uint16_t bwl_cluster_slot(const char *key, size_t size)
{
    const char *tag;
    size_t      tag_size = bwl_key_hash_tag(&tag, key, size);

    return crc16(tag, tag_size) & SLOT_MAX;
}

/* Every slot has a number below 109758. */
uint32_t bwl_cluster_tag(bwl_cluster_tags *tags, uint16_t slot)
{
    char text[12];

    assert(slot < BWL_CLUSTER_SLOTS);
    while (tags->of[slot] == 0) {
        int      size  = snprintf(text, sizeof text, "%u", (unsigned)tags->next);
        uint16_t found = bwl_cluster_slot(text, (size_t)size);
        tags->next++;
        if (tags->of[found] == 0)
            tags->of[found] = tags->next;
    }
    return tags->of[slot] - 1;
}

/* ---- replies --------------------------------------------------------------------------------- */

/* "?": the node does not know its address. */
static bool take_address(bwl_primary *ret_primary, bwl_bytes host, uint64_t port)
{
    return (host.size != 1 || host.at[0] != '?') && bwl_primary_take(ret_primary, host, port);
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

/* Reads an address, and skips the node's other fields (its id, its other names).  1: an address; 0:
 * the host is unknown; -1: not a node. */
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

/* Reads one range.  1: it has a primary; 0: the address of the primary is unknown; -1:
 * malformed. */
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

/* Splits at the last colon, because an IPv6 address has colons. */
static bool split_address(bwl_primary *ret_primary, const char *text, size_t size)
{
    size_t   colon = size;
    uint64_t port;

    while (colon > 0 && text[colon - 1] != ':')
        colon--;
    if (colon == 0 || !bwl_number_parse(&port, text + colon, size - colon, UINT16_MAX))
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

/* A redirect that a command inside a script got does not count: the server wraps it into another
 * error, and part of the script may have been carried out. */
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
