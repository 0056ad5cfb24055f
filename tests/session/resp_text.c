/*
 * resp_text.c -- see resp_text.h.
 */
#include "resp_text.h"

#include "core/text.h"
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/scripts.h"
#include "fake_net.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_MAX = 2048,
    DRAWS_MAX = 8192,
    ID        = BWL_QUEUE_SESSION_SIZE,
    SHORT     = BWL_QUEUE_TOKEN_SIZE, /* bytes of a token in a value of protocol queue */
};

static unsigned shown[SHOWN_MAX]; /* which random draw each is */
static unsigned shown_count;
static char     nonce[32]; /* name of the waiter shown last */
static unsigned client;    /* begins with the client id; 0: not shown */

void resp_text_begin(void)
{
    shown_count = 0;
    client      = 0;
    nonce[0]    = '\0';
}

static const char *token_of(unsigned draw)
{
    static char tokens[DRAWS_MAX][BWL_TOKEN_MAX + 1];
    bwl_random  bits = fake_bits(draw);

    if (draw >= DRAWS_MAX)
        abort();
    if (tokens[draw][0] == '\0')
        bwl_token_write(tokens[draw], &bits);
    return tokens[draw];
}

static void show(char ret_mask[16], unsigned draw, const char *mark)
{
    unsigned i = 0;

    while (i < shown_count && shown[i] != draw)
        i++;
    if (i == SHOWN_MAX)
        abort();
    if (i == shown_count)
        shown[shown_count++] = draw;
    (void)snprintf(ret_mask, 16, "<%u%s>", i + 1, mark);
}

/* "1.0123456789abcdef", a waiter's name.  Returns its size, 0 if it is another text. */
static size_t nonce_size(const char *at)
{
    size_t digits = strspn(at, "0123456789");

    return digits > 0 && at[digits] == '.' && strspn(at + digits + 1, "0123456789abcdef") == 16
               ? digits + 17
               : 0;
}

/* The token or the client id at the beginning of the text.  Returns its size, or 0. */
static size_t mask_one(char ret_mask[16], const char *at)
{
    size_t size = nonce_size(at);

    if (size > 0) {
        (void)snprintf(nonce, sizeof nonce, "%.*s", (int)size, at);
        (void)snprintf(ret_mask, 16, "<nonce>");
        return size;
    }
    for (unsigned draw = 1; draw <= fake.draws; draw++) {
        const char *token = token_of(draw);
        if (strncmp(at, token, SHORT) == 0) {
            bool is_whole = strncmp(at, token, strlen(token)) == 0;
            show(ret_mask, draw, is_whole ? "" : ".");
            return is_whole ? strlen(token) : SHORT;
        }
    }
    for (unsigned draw = 1; draw <= fake.draws; draw++) {
        const char *token = token_of(draw);
        if ((client == 0 || client == draw) && strncmp(at, token, ID) == 0) {
            client = draw;
            (void)snprintf(ret_mask, 16, "<client>");
            return ID;
        }
    }
    return 0;
}

void resp_text_mask(char ret_text[RESP_TEXT_MAX], const char *text)
{
    size_t size = 0;
    char   mask[16];

    while (*text != '\0' && size + 20 < RESP_TEXT_MAX) {
        bool   begins = size == 0 || !isalnum((unsigned char)ret_text[size - 1]);
        size_t taken  = begins ? mask_one(mask, text) : 0;
        if (taken > 0)
            size += (size_t)snprintf(ret_text + size, RESP_TEXT_MAX - size, "%s", mask);
        else
            ret_text[size++] = *text;
        text += taken > 0 ? taken : 1;
    }
    ret_text[size] = '\0';
}

void resp_text_expand(char ret_text[RESP_TEXT_MAX], const char *text)
{
    size_t size = 0;

    while (*text != '\0' && size + BWL_TOKEN_MAX < RESP_TEXT_MAX) {
        unsigned n   = 0;
        int      end = 0;
        if (strncmp(text, "\\n", 2) == 0) {
            size += (size_t)snprintf(ret_text + size, RESP_TEXT_MAX - size, "\r\n");
            text += 2;
        } else if (strncmp(text, "<nonce>", 7) == 0) {
            size += (size_t)snprintf(ret_text + size, RESP_TEXT_MAX - size, "%s", nonce);
            text += 7;
        } else if (strncmp(text, "<client>", 8) == 0 && client != 0) {
            size += (size_t)snprintf(ret_text + size, RESP_TEXT_MAX - size, "%.*s", ID,
                                     token_of(client));
            text += 8;
        } else if (((sscanf(text, "<%u>%n", &n, &end) == 1 && end > 0) ||
                    (sscanf(text, "<%u.>%n", &n, &end) == 1 && end > 0)) &&
                   n > 0 && n <= shown_count) {
            size += (size_t)snprintf(ret_text + size, RESP_TEXT_MAX - size, "%.*s",
                                     text[end - 2] == '.' ? SHORT : BWL_TOKEN_MAX,
                                     token_of(shown[n - 1]));
            text += end;
        } else {
            ret_text[size++] = *text++;
        }
    }
    ret_text[size] = '\0';
}

/* Encodes one item of a reply.  Returns the text after it. */
static const char *encode_one(const char *at, char *bytes, size_t *size)
{
    char   type = *at;
    size_t length;

    if (type == '+' || type == '-') {
        length = strlen(at);
        *size += (size_t)sprintf(bytes + *size, "%s\r\n", at);
        return at + length;
    }
    if (type == '$' || type == '=') {
        bool quoted = at[1] == '"';
        at += quoted ? 2 : 1;
        length = strcspn(at, quoted ? "\"" : " ");
        *size += (size_t)sprintf(bytes + *size, "%c%zu\r\n%s%.*s\r\n", type,
                                 length + (type == '=' ? 4 : 0), type == '=' ? "txt:" : "",
                                 (int)length, at);
        return at + length + (quoted ? 1 : 0);
    }
    length = strcspn(at, " ");
    *size += (size_t)sprintf(bytes + *size, "%.*s\r\n", (int)length, at);
    return at + length;
}

size_t resp_text_encode(char ret_bytes[RESP_TEXT_MAX], const char *text)
{
    size_t size = 0;

    while (*text != '\0') {
        text = encode_one(text, ret_bytes, &size);
        text += strspn(text, " ");
    }
    return size;
}

/* Returns the name of a script from its SHA-1, or after EVAL from its text; NULL if it is none. */
static const char *script_name(const char *text, size_t size, bool is_eval)
{
    for (unsigned i = 0; i < BWL_SCRIPTS_COUNT; i++)
        if ((!is_eval && size == 40 && memcmp(bwl_scripts[i].sha1, text, 40) == 0) ||
            (size == bwl_scripts[i].size && memcmp(bwl_scripts[i].text, text, size) == 0))
            return bwl_scripts[i].name;
    return NULL;
}

size_t resp_text_decode(char ret_text[RESP_TEXT_MAX], const char *bytes, size_t size)
{
    char        line[RESP_TEXT_MAX] = "";
    const char *at                  = bytes;
    const char *end                 = bytes + size;
    size_t      used                = 0;

    if (memchr(at, '\n', size) == NULL)
        return 0;
    if (*at != '*')
        abort();
    long count = strtol(at + 1, NULL, 10);
    at         = (const char *)memchr(at, '\n', size) + 1;
    for (long i = 0; i < count; i++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL)
            return 0;
        size_t length = strtoul(at + 1, NULL, 10);
        at            = line_end + 1;
        if ((size_t)(end - at) < length + 2)
            return 0;
        const char *name   = memchr(at, '\n', length) != NULL ? "(script)" : NULL;
        const char *script = script_name(at, length, strcmp(line, "EVAL") == 0);
        if (script != NULL)
            name = script;
        else if (i > 0 && memchr(at, '@', length) != NULL)
            name = "USER@HOST"; /* user of the test */
        bool is_quoted = name == NULL && (length == 0 || memchr(at, ' ', length) != NULL);
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s%.*s%s", i > 0 ? " " : "",
                                 is_quoted ? "\"" : "", (int)(name != NULL ? strlen(name) : length),
                                 name != NULL ? name : at, is_quoted ? "\"" : "");
        if (used >= sizeof line)
            abort();
        at += length + 2;
    }
    char *self = strstr(line, " uid ");
    if (self != NULL)
        *self = '\0'; /* client info: user of the test */
    resp_text_mask(ret_text, line);
    return (size_t)(at - bytes);
}
