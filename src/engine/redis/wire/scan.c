#include "engine/redis/wire/scan.h"

#include "core/text.h"

#include <stdio.h>

void bwl_scan_write(bwl_resp_writer *writer, uint64_t cursor, const char *pattern, const char *kind)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)cursor);
    bwl_resp_write_array(writer, kind != NULL ? 8 : 6);
    bwl_resp_write_text(writer, "SCAN");
    bwl_resp_write_text(writer, digits);
    bwl_resp_write_text(writer, "MATCH");
    bwl_resp_write_text(writer, pattern);
    bwl_resp_write_text(writer, "COUNT");
    bwl_resp_write_integer(writer, BWL_SCAN_COUNT);
    if (kind == NULL)
        return;
    bwl_resp_write_text(writer, "TYPE");
    bwl_resp_write_text(writer, kind);
}

bwl_redis_verdict bwl_scan_read(const char *bytes, size_t size, bwl_answer *ret_answer,
                                bwl_resp_cursor *ret_keys, uint64_t *ret_cursor,
                                uint32_t *ret_count)
{
    bwl_resp_value value;

    if (bwl_redis_is_error(bytes, size))
        return bwl_redis_read_error(bytes, size, ret_answer);
    *ret_keys = bwl_resp_begin(bytes, size);
    if (!bwl_resp_next_bare(ret_keys, &value) || value.type != '*' || value.count != 2 ||
        !bwl_resp_next_bare(ret_keys, &value) || value.type != '$' ||
        !bwl_number_parse(ret_cursor, value.text, value.size, UINT64_MAX) ||
        !bwl_resp_next_bare(ret_keys, &value) || value.type != '*')
        return BWL_REDIS_STRANGE;
    *ret_count  = value.count;
    *ret_answer = BWL_YES;
    return BWL_REDIS_ANSWER;
}

bool bwl_scan_next(bwl_resp_cursor *keys, bwl_bytes *ret_key)
{
    bwl_resp_value value;

    if (!bwl_resp_next_bare(keys, &value) || value.type != '$')
        return false;
    *ret_key = (bwl_bytes){ value.text, value.size };
    return true;
}

uint64_t bwl_scan_read_size(const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':' || value.integer < 0)
        return 0;
    return (uint64_t)value.integer;
}
