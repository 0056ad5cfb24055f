#include "cli/text/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/text/say.h"
#include "cli/text/url.h"
#include "cli/text/utf8.h"

enum {
    DEPTH_MAX    = 8,
    JSON_VERSION = 1,
    TEXT_MAX     = 800, /* bytes of a text in an event */
    TAIL_MAX     = 8,   /* of these, reserved for its end */
};

static unsigned depth;
static bool     has_before[DEPTH_MAX]; /* a value precedes the next one at this depth */

/* The event that is written, as long as `is_event` is set. */
static bool   is_event;
static int    event_fd;
static size_t event_size;
static char   event_line[JSON_EVENT_MAX];

static bool has_no_reader(void)
{
    return is_event && event_fd < 0;
}

static void put(const char *text)
{
    size_t size = strlen(text);

    if (!is_event) {
        (void)fputs(text, stdout); /* say_done checks for errors */
        return;
    }
    assert(event_size + size < sizeof event_line);
    memcpy(event_line + event_size, text, size);
    event_size += size;
}

static void begin(const char *key)
{
    assert(depth < DEPTH_MAX);
    if (has_before[depth])
        put(",");
    has_before[depth] = true;
    if (key == NULL)
        return;
    put("\"");
    put(key);
    put("\":");
}

void json_open(const char *key, char bracket)
{
    begin(key);
    assert(depth + 1 < DEPTH_MAX);
    has_before[++depth] = false;
    put((char[]){ bracket, '\0' });
    if (depth == 1)
        json_number("bowline", JSON_VERSION);
}

void json_close(char bracket)
{
    assert(depth > 0);
    depth--;
    put((char[]){ bracket, '\0' });
    if (depth == 0) {
        has_before[0] = false;
        put("\n");
    }
}

static void escape(char ret_shown[16], const char *text, size_t size, uint32_t character)
{
    if (character == UTF8_BROKEN)
        (void)snprintf(ret_shown, 16, "%s", "\xef\xbf\xbd");
    else if (character == '"' || character == '\\')
        (void)snprintf(ret_shown, 16, "\\%c", (char)character);
    else if (utf8_is_control(character))
        (void)snprintf(ret_shown, 16, "\\u%04x", (unsigned)character);
    else
        (void)snprintf(ret_shown, 16, "%.*s", (int)size, text);
}

void json_text(const char *key, const char *text)
{
    size_t secret_size;

    if (text == NULL || has_no_reader())
        return;
    begin(key);
    size_t      end    = event_size + TEXT_MAX;
    const char *secret = url_secret_in(text, &secret_size);
    put("\"");
    while (*text != '\0') {
        char     shown[16] = "***";
        uint32_t character;
        size_t   size = secret_size;
        if (text == secret) {
            secret = url_secret_in(text + size, &secret_size);
        } else {
            size = utf8_next(&character, text);
            escape(shown, text, size, character);
        }
        if (is_event && event_size + strlen(shown) + TAIL_MAX > end) {
            put("...");
            break;
        }
        put(shown);
        text += size;
    }
    put("\"");
}

void json_number(const char *key, int64_t number)
{
    char digits[24];

    if (has_no_reader())
        return;
    begin(key);
    (void)snprintf(digits, sizeof digits, "%" PRId64, number);
    put(digits);
}

void json_flag(const char *key, bool is)
{
    begin(key);
    put(is ? "true" : "false");
}

void json_event(int fd, const char *event, const char *name)
{
    assert(depth == 0);
    is_event   = true;
    event_fd   = fd;
    event_size = 0;
    if (fd < 0)
        return; /* builds nothing */
    json_open(NULL, '{');
    json_text("event", event);
    json_text("name", name);
}

void json_send(void)
{
    if (event_fd >= 0) {
        json_close('}');
        /* (void): the lock does not depend on the reader. */
        (void)say_bytes(event_fd, event_line, event_size);
    }
    is_event = false;
}
