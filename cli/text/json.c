#include "cli/text/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/text/url.h"
#include "cli/text/utf8.h"

enum { DEPTH_MAX = 8, JSON_VERSION = 1 };

static unsigned depth;
static bool     has_before[DEPTH_MAX]; /* a value precedes the next one at this depth */

static void begin(const char *key)
{
    assert(depth < DEPTH_MAX);
    if (has_before[depth])
        (void)putchar(',');
    has_before[depth] = true;
    if (key != NULL)
        (void)printf("\"%s\":", key);
}

void json_open(const char *key, char bracket)
{
    begin(key);
    assert(depth + 1 < DEPTH_MAX);
    has_before[++depth] = false;
    (void)putchar(bracket);
    if (depth == 1)
        json_number("bowline", JSON_VERSION);
}

void json_close(char bracket)
{
    assert(depth > 0);
    depth--;
    (void)putchar(bracket);
    if (depth == 0) {
        has_before[0] = false;
        (void)putchar('\n');
    }
}

void json_text(const char *key, const char *text)
{
    if (text == NULL)
        return;
    begin(key);
    size_t      secret_size;
    const char *secret = url_secret_in(text, &secret_size);
    (void)putchar('"');
    while (*text != '\0') {
        uint32_t character;
        size_t   size = utf8_next(&character, text);
        if (text == secret) {
            size   = secret_size;
            secret = url_secret_in(text + size, &secret_size);
            (void)fputs("***", stdout);
        } else if (character == UTF8_BROKEN)
            (void)fputs("\xef\xbf\xbd", stdout);
        else if (character == '"' || character == '\\')
            (void)printf("\\%c", (char)character);
        else if (utf8_is_control(character))
            (void)printf("\\u%04x", (unsigned)character);
        else
            (void)fwrite(text, 1, size, stdout);
        text += size;
    }
    (void)putchar('"');
}

void json_number(const char *key, int64_t number)
{
    begin(key);
    (void)printf("%" PRId64, number);
}

void json_flag(const char *key, bool is)
{
    begin(key);
    (void)fputs(is ? "true" : "false", stdout);
}
