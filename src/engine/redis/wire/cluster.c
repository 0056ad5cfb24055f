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
    PORT_MAX = 65535,
    SLOT_MAX = BWL_CLUSTER_SLOTS - 1,
};

/* ---- slots ----------------------------------------------------------------------------------- */

/* CRC16 of each byte, as in Redis's src/crc16.c: XMODEM, polynomial 0x1021, initial value 0, most
 * significant bit first. */
static const uint16_t crc16_of_byte[256] = {
    0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b,
    0xc18c, 0xd1ad, 0xe1ce, 0xf1ef, 0x1231, 0x0210, 0x3273, 0x2252, 0x52b5, 0x4294, 0x72f7, 0x62d6,
    0x9339, 0x8318, 0xb37b, 0xa35a, 0xd3bd, 0xc39c, 0xf3ff, 0xe3de, 0x2462, 0x3443, 0x0420, 0x1401,
    0x64e6, 0x74c7, 0x44a4, 0x5485, 0xa56a, 0xb54b, 0x8528, 0x9509, 0xe5ee, 0xf5cf, 0xc5ac, 0xd58d,
    0x3653, 0x2672, 0x1611, 0x0630, 0x76d7, 0x66f6, 0x5695, 0x46b4, 0xb75b, 0xa77a, 0x9719, 0x8738,
    0xf7df, 0xe7fe, 0xd79d, 0xc7bc, 0x48c4, 0x58e5, 0x6886, 0x78a7, 0x0840, 0x1861, 0x2802, 0x3823,
    0xc9cc, 0xd9ed, 0xe98e, 0xf9af, 0x8948, 0x9969, 0xa90a, 0xb92b, 0x5af5, 0x4ad4, 0x7ab7, 0x6a96,
    0x1a71, 0x0a50, 0x3a33, 0x2a12, 0xdbfd, 0xcbdc, 0xfbbf, 0xeb9e, 0x9b79, 0x8b58, 0xbb3b, 0xab1a,
    0x6ca6, 0x7c87, 0x4ce4, 0x5cc5, 0x2c22, 0x3c03, 0x0c60, 0x1c41, 0xedae, 0xfd8f, 0xcdec, 0xddcd,
    0xad2a, 0xbd0b, 0x8d68, 0x9d49, 0x7e97, 0x6eb6, 0x5ed5, 0x4ef4, 0x3e13, 0x2e32, 0x1e51, 0x0e70,
    0xff9f, 0xefbe, 0xdfdd, 0xcffc, 0xbf1b, 0xaf3a, 0x9f59, 0x8f78, 0x9188, 0x81a9, 0xb1ca, 0xa1eb,
    0xd10c, 0xc12d, 0xf14e, 0xe16f, 0x1080, 0x00a1, 0x30c2, 0x20e3, 0x5004, 0x4025, 0x7046, 0x6067,
    0x83b9, 0x9398, 0xa3fb, 0xb3da, 0xc33d, 0xd31c, 0xe37f, 0xf35e, 0x02b1, 0x1290, 0x22f3, 0x32d2,
    0x4235, 0x5214, 0x6277, 0x7256, 0xb5ea, 0xa5cb, 0x95a8, 0x8589, 0xf56e, 0xe54f, 0xd52c, 0xc50d,
    0x34e2, 0x24c3, 0x14a0, 0x0481, 0x7466, 0x6447, 0x5424, 0x4405, 0xa7db, 0xb7fa, 0x8799, 0x97b8,
    0xe75f, 0xf77e, 0xc71d, 0xd73c, 0x26d3, 0x36f2, 0x0691, 0x16b0, 0x6657, 0x7676, 0x4615, 0x5634,
    0xd94c, 0xc96d, 0xf90e, 0xe92f, 0x99c8, 0x89e9, 0xb98a, 0xa9ab, 0x5844, 0x4865, 0x7806, 0x6827,
    0x18c0, 0x08e1, 0x3882, 0x28a3, 0xcb7d, 0xdb5c, 0xeb3f, 0xfb1e, 0x8bf9, 0x9bd8, 0xabbb, 0xbb9a,
    0x4a75, 0x5a54, 0x6a37, 0x7a16, 0x0af1, 0x1ad0, 0x2ab3, 0x3a92, 0xfd2e, 0xed0f, 0xdd6c, 0xcd4d,
    0xbdaa, 0xad8b, 0x9de8, 0x8dc9, 0x7c26, 0x6c07, 0x5c64, 0x4c45, 0x3ca2, 0x2c83, 0x1ce0, 0x0cc1,
    0xef1f, 0xff3e, 0xcf5d, 0xdf7c, 0xaf9b, 0xbfba, 0x8fd9, 0x9ff8, 0x6e17, 0x7e36, 0x4e55, 0x5e74,
    0x2e93, 0x3eb2, 0x0ed1, 0x1ef0,
};

static uint16_t crc16(const char *bytes, size_t size)
{
    uint16_t crc = 0;

    for (size_t i = 0; i < size; i++)
        crc = (uint16_t)(crc << 8 ^ crc16_of_byte[(crc >> 8 ^ (unsigned char)bytes[i]) & 0xff]);
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

/* ---- commands -------------------------------------------------------------------------------- */

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

/* ---- replies --------------------------------------------------------------------------------- */

/* Printable characters without blanks: the resolver and error texts get the host. */
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
