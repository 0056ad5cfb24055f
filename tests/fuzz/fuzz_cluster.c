/*
 * A fuzz target for the replies of a cluster node: any frame as a map of slots or as a redirect.
 *
 * It checks for any frame:
 * - a range has existing slots, in order, and an address that can be resolved and shown;
 * - reading the ranges ends after at most the number of ranges in the reply;
 * - after the end, and after a reply that is no map, no range is read;
 * - a redirect is an error whose first word says so;
 * - as a key, the bytes have an existing slot, and so has their hash tag.
 *
 * The seeds are in corpus/cluster.
 */
#include "fuzz.h"

#include "engine/redis/wire/cluster.h"
#include "engine/redis/wire/key.h"

static void check_address(const bwl_primary *primary)
{
    size_t size = strlen(primary->host);

    require(primary->port != 0);
    require(size <= BWL_PRIMARY_HOST_MAX);
    require(strcmp(primary->host, "?") != 0);
    for (size_t i = 0; i < size; i++)
        require(primary->host[i] > ' ' && primary->host[i] <= '~');
}

static void check_map(const char *bytes, size_t size)
{
    bwl_cluster_walk  walk;
    bwl_cluster_range range;
    bwl_resp_cursor   cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value    all;
    uint32_t          steps = 0;
    int               taken = 0;

    if (!bwl_cluster_begin(&walk, bytes, size))
        return;
    require(bwl_resp_next_bare(&cursor, &all) && all.type == '*');
    while ((taken = bwl_cluster_next(&walk, &range)) == 1) {
        require(range.first <= range.last && range.last < BWL_CLUSTER_SLOTS);
        check_address(&range.primary);
        steps++;
    }
    require(steps <= all.count);
    require(bwl_cluster_next(&walk, &range) == 0);
}

static void check_redirect(const char *bytes, size_t size)
{
    bwl_redirect redirect;

    if (!bwl_cluster_read_redirect(&redirect, bytes, size))
        return;
    require(bytes[0] == '-' || bytes[0] == '!' || bytes[0] == '|');
    require(redirect.kind == BWL_REDIRECT_MOVED || redirect.kind == BWL_REDIRECT_ASK);
    require(redirect.slot < BWL_CLUSTER_SLOTS);
    check_address(&redirect.to);
}

static void check_key(const char *bytes, size_t size)
{
    const char *tag;
    uint16_t    slot     = bwl_cluster_slot(bytes, size);
    size_t      tag_size = bwl_key_hash_tag(&tag, bytes, size);

    require(slot < BWL_CLUSTER_SLOTS);
    require(tag_size <= size && (tag_size == size || (tag_size > 0 && tag_size + 2 <= size)));
    if (memchr(tag, '{', tag_size) == NULL)
        require(bwl_cluster_slot(tag, tag_size) == slot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char         *copy = copy_of(data, size);
    bwl_resp_scan scan = { 0 };

    check_key(copy, size);
    if (bwl_resp_scan_bytes(&scan, copy, size) == BWL_RESP_OK) {
        check_map(copy, scan.size);
        check_redirect(copy, scan.size);
    }
    free(copy);
    return 0;
}
