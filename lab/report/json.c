#include "lab/report/json.h"
#include "lab/base/lang.h"
#include <stdarg.h>
#include <string.h>

bwl_json bwl_json_of(const char *text, size_t size)
{
    return (bwl_json){ .at = text, .end = text + size, .line = 1 };
}

bool bwl_json_fault(bwl_json *r, const char *format, ...)
{
    char    what[BWL_TEXT_MAX];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(what, sizeof what, bwl_tr(format), list); /* cut if too long */
    va_end(list);
    if (r->fault.of[0] == '\0')
        r->fault = bwl_say("line %u: %s", r->line, what);
    return false;
}

static bool is_good(const bwl_json *r)
{
    return r->fault.of[0] == '\0';
}

static void skip_blanks(bwl_json *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n'))
        r->line += *r->at++ == '\n';
}

/* The next character that is not blank; 0 at the end. */
static char peek(bwl_json *r)
{
    skip_blanks(r);
    return r->at < r->end ? *r->at : '\0';
}

static bool expect(bwl_json *r, char c)
{
    if (!is_good(r))
        return false;
    if (peek(r) != c)
        return bwl_json_fault(r, "a %c has to be here", c);
    r->at++;
    return true;
}

/* True if there is another member or item before `close`. */
static bool has_more(bwl_json *r, char close, bool is_first)
{
    if (!is_good(r))
        return false;
    if (peek(r) == close) {
        r->at++;
        return false;
    }
    return is_first || expect(r, ',');
}

void bwl_json_object(bwl_json *r, bwl_json_on_member *on_member, void *arg)
{
    char name[BWL_JSON_NAME_MAX];

    (void)expect(r, '{'); /* the fault is recorded */
    for (bool is_first = true; has_more(r, '}', is_first); is_first = false)
        if (bwl_json_string(r, name, sizeof name) && expect(r, ':'))
            on_member(r, name, arg);
}

void bwl_json_array(bwl_json *r, bwl_json_on_item *on_item, void *arg)
{
    (void)expect(r, '['); /* the fault is recorded */
    for (bool is_first = true; has_more(r, ']', is_first); is_first = false)
        on_item(r, arg);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char       *at       = c != '\0' ? strchr(digits, c | 32) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* An escaped character; one-byte characters only, as the lab writes them. */
static bool read_escape(bwl_json *r, char *ret_char)
{
    static const char letters[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    int               value     = 0;
    char              c         = r->at < r->end ? *r->at++ : '\0';

    for (size_t i = 0; i + 1 < sizeof letters; i += 2)
        if (letters[i] == c) {
            *ret_char = letters[i + 1];
            return true;
        }
    if (c != 'u' || r->end - r->at < 4)
        return bwl_json_fault(r, "a broken escape in a text");
    for (unsigned i = 0; i < 4; i++) {
        int digit = hex_digit(*r->at++);
        if (digit < 0)
            return bwl_json_fault(r, "a broken escape in a text");
        value = value * 16 + digit;
    }
    if (value == 0 || value > 127)
        return bwl_json_fault(r, "a character that does not belong here");
    *ret_char = (char)value;
    return true;
}

bool bwl_json_string(bwl_json *r, char *ret_text, size_t capacity)
{
    size_t size = 0;

    ret_text[0] = '\0';
    if (!expect(r, '"'))
        return false;
    while (r->at < r->end && *r->at != '"') {
        char c = *r->at++;
        if ((unsigned char)c < 32)
            return bwl_json_fault(r, "a text that is not closed");
        if (c == '\\' && !read_escape(r, &c))
            return false;
        if (size + 1 >= capacity)
            return bwl_json_fault(r, "a text that is too long");
        ret_text[size++] = c;
    }
    ret_text[size] = '\0';
    if (r->at == r->end)
        return bwl_json_fault(r, "a text that is not closed");
    r->at++;
    return true;
}

static bool take_word(bwl_json *r, const char *word)
{
    size_t size = strlen(word);

    if (!is_good(r))
        return false;
    skip_blanks(r);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
        return false;
    r->at += size;
    return true;
}

/* The digits of a number, at most 18 of them. */
static bool read_digits(bwl_json *r, int64_t *ret_number)
{
    enum { DIGITS_MAX = 18 };
    const char *first = r->at;

    for (*ret_number = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (r->at - first >= DIGITS_MAX)
            return bwl_json_fault(r, "a number that is out of bounds");
        *ret_number = *ret_number * 10 + (*r->at - '0');
    }
    if (r->at == first || (*first == '0' && r->at - first > 1) ||
        (r->at < r->end && (*r->at == '.' || (*r->at | 32) == 'e')))
        return bwl_json_fault(r, "a whole number has to be here");
    return true;
}

bool bwl_json_number(bwl_json *r, const int64_t bounds[2], int64_t *ret_number, bool *ret_is_null)
{
    bool is_negative;

    *ret_number  = 0;
    *ret_is_null = take_word(r, "null");
    if (*ret_is_null || !is_good(r))
        return is_good(r);
    is_negative = take_word(r, "-");
    if (!is_negative)
        skip_blanks(r);
    if (!read_digits(r, ret_number))
        return false;
    if (is_negative)
        *ret_number = -*ret_number;
    if (*ret_number < bounds[0] || *ret_number > bounds[1])
        return bwl_json_fault(r, "a number that is out of bounds");
    return true;
}

bool bwl_json_bool(bwl_json *r, bool *ret_bool)
{
    *ret_bool = take_word(r, "true");
    if (*ret_bool || take_word(r, "false"))
        return true;
    return bwl_json_fault(r, "true or false has to be here");
}

bool bwl_json_end(bwl_json *r)
{
    if (!is_good(r))
        return false;
    return peek(r) == '\0' && r->at == r->end ? true : bwl_json_fault(r, "more than one value");
}

void bwl_json_put_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            (void)fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 32 || *text == '<')
            (void)fprintf(out, "\\u%04x", (unsigned)*text);
        else
            (void)fputc(*text, out);
    (void)fputc('"', out);
}
