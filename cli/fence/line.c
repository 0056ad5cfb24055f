#include "cli/fence/line.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char head[] = "bowline fence ";

enum { HEAD_BYTES = sizeof head - 1 };

fence_line fence_line_of(uint64_t fence)
{
    fence_line line;

    assert(fence != 0);
    int size = snprintf(line.text, sizeof line.text, "%s%" PRIu64 "\n", head, fence);
    assert(size > HEAD_BYTES && size <= FENCE_LINE_MAX);
    line.size = (size_t)size;
    return line;
}

static bool read_digits(uint64_t *ret_number, const char *text, size_t size)
{
    uint64_t number = 0;

    if (size == 0 || text[0] == '0')
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}

bool fence_line_read(uint64_t *ret_fence, const char *bytes, size_t size)
{
    if (size <= HEAD_BYTES || memcmp(bytes, head, HEAD_BYTES) != 0 || bytes[size - 1] != '\n')
        return false;
    return read_digits(ret_fence, bytes + HEAD_BYTES, size - HEAD_BYTES - 1);
}

bool fence_number_read(uint64_t *ret_fence, const char *text)
{
    return read_digits(ret_fence, text, strlen(text));
}
