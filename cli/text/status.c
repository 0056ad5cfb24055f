/*
 * status.c -- writes one flat JSON object: texts and whole numbers.
 */
#include "cli/text/status.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/text/say.h"
#include "cli/text/url.h"
#include "cli/text/utf8.h"

/* Reserved for the end of a text: a long text is cut off, and the line is still JSON. */
enum { STATUS_TAIL = 8 };

static void put(status_line *line, const char *bytes)
{
    size_t size = strlen(bytes);

    assert(line->size + size < STATUS_LINE_MAX);
    memcpy(line->text + line->size, bytes, size);
    line->size += size;
}

static void put_text(status_line *line, const char *text, size_t room)
{
    size_t end = line->size + room;

    assert(end < STATUS_LINE_MAX);
    put(line, "\"");
    size_t      secret_size;
    const char *secret = url_secret_in(text, &secret_size);
    while (*text != '\0') {
        char     shown[16];
        uint32_t character;
        size_t   size = utf8_next(&character, text);
        if (text == secret) {
            size   = secret_size;
            secret = url_secret_in(text + size, &secret_size);
            (void)snprintf(shown, sizeof shown, "***");
        } else if (character == UTF8_BROKEN)
            (void)snprintf(shown, sizeof shown, "%s", "\xef\xbf\xbd");
        else if (character == '"' || character == '\\')
            (void)snprintf(shown, sizeof shown, "\\%c", (char)character);
        else if (utf8_is_control(character))
            (void)snprintf(shown, sizeof shown, "\\u%04x", (unsigned)character);
        else
            (void)snprintf(shown, sizeof shown, "%.*s", (int)size, text);
        if (line->size + strlen(shown) + STATUS_TAIL > end) {
            put(line, "...");
            break;
        }
        put(line, shown);
        text += size;
    }
    put(line, "\"");
}

void status_begin(status_line *ret_line, int fd, const char *event, const char *name)
{
    ret_line->fd   = fd;
    ret_line->size = 0;
    if (fd < 0)
        return; /* no reader: build nothing */
    put(ret_line, "{\"bowline\":1,\"event\":");
    put_text(ret_line, event, 64);
    if (name != NULL)
        status_add_text(ret_line, "name", name);
}

void status_add_number(status_line *line, const char *key, int64_t number)
{
    char shown[80];

    if (line->fd < 0)
        return;
    (void)snprintf(shown, sizeof shown, ",\"%s\":%" PRId64, key, number);
    put(line, shown);
}

void status_add_text(status_line *line, const char *key, const char *text)
{
    char shown[80];

    if (line->fd < 0)
        return;
    (void)snprintf(shown, sizeof shown, ",\"%s\":", key);
    put(line, shown);
    put_text(line, text, 800);
}

void status_send(status_line *line)
{
    if (line->fd < 0)
        return;
    put(line, "}\n");
    /* (void): the lock does not depend on the reader. */
    (void)say_bytes(line->fd, line->text, line->size);
    line->fd = -1;
}
