/*
 * errors.c -- the errors of a server: their codes, and their texts for users.  See commands.h.
 */
#include "core/text.h"
#include "engine/redis/wire/commands.h"

#include <string.h>

/* The codes of a server that cannot serve now. */
static const char *const not_now[] = {
    "LOADING",  "BUSY",    "MASTERDOWN",  "READONLY", "NOREPLICAS",
    "TRYAGAIN", "MISCONF", "CLUSTERDOWN", "OOM",
};

static bool read_error(const char *bytes, size_t size, bwl_resp_value *ret_error)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);

    return bwl_resp_next_bare(&cursor, ret_error) &&
           (ret_error->type == '-' || ret_error->type == '!');
}

bool bwl_redis_is_error(const char *bytes, size_t size)
{
    bwl_resp_value error;

    return read_error(bytes, size, &error);
}

static bool starts_with_code(const char *text, size_t size, const char *code)
{
    size_t length = strlen(code);

    return size >= length && memcmp(text, code, length) == 0 &&
           (size == length || text[length] == ' ');
}

/* The offset at which the server quotes the arguments of the command; size: it quotes none. */
static size_t quote_begins_at(const char *text, size_t size)
{
    static const char mark[] = "with args beginning with";
    const char       *at     = memmem(text, size, mark, sizeof mark - 1);

    return at != NULL ? (size_t)(at - text) : size;
}

/* Redis before 7 wraps the error of a command in a script: "ERR Error running script (...):
 * @user_script:3: @user_script: 3: -OOM command not allowed", or "@user_script: 3: -OOM ..." if the
 * script returns it.  The offset of the code; 0: the error is not wrapped. */
static size_t wrapped_error_at(const char *text, size_t size)
{
    static const char script[] = "@user_script";

    if (!starts_with_code(text, size, "ERR") &&
        (size < sizeof script || memcmp(text, script, sizeof script - 1) != 0))
        return 0;
    for (size_t i = 1; i + 1 < size; i++) {
        size_t end = i + 1;
        while (end < size && text[end] >= 'A' && text[end] <= 'Z')
            end++;
        if (text[i] == '-' && text[i - 1] == ' ' && end > i + 2 && end < size && text[end] == ' ')
            return i + 1;
    }
    return 0;
}

bool bwl_redis_error_is(const char *bytes, size_t size, const char *code)
{
    bwl_resp_value error;

    if (!read_error(bytes, size, &error))
        return false;
    size_t at = wrapped_error_at(error.text, quote_begins_at(error.text, error.size));
    return starts_with_code(error.text + at, error.size - at, code);
}

bool bwl_redis_is_not_now(const char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof not_now / sizeof not_now[0]; i++)
        if (bwl_redis_error_is(bytes, size, not_now[i]))
            return true;
    return false;
}

void bwl_redis_error_text(char *ret_text, size_t capacity, const char *bytes, size_t size)
{
    bwl_resp_value value;
    size_t         length = 0;

    assert(capacity > 0);
    ret_text[0] = '\0';
    if (!read_error(bytes, size, &value))
        return;
    size_t end = quote_begins_at(value.text, value.size);
    while (end > 0 && (value.text[end - 1] == ' ' || value.text[end - 1] == ','))
        end--;
    size_t begin = wrapped_error_at(value.text, end);
    for (size_t i = begin; i < end && length + 1 < capacity; i++) {
        unsigned char c    = (unsigned char)value.text[i];
        ret_text[length++] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    ret_text[length] = '\0';
    if (length < end - begin)
        bwl_mark_cut(ret_text);
}

void bwl_redis_error_code(char ret_code[BOWLINE_SERVER_CODE_MAX], const char *text)
{
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    if (length <= 1 || length >= BOWLINE_SERVER_CODE_MAX ||
        (text[length] != ' ' && text[length] != '\0'))
        length = 0;
    memcpy(ret_code, text, length);
    ret_code[length] = '\0';
}
