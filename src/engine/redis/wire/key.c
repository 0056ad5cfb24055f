/*
 * key.c -- see key.h.
 */
#include "engine/redis/wire/key.h"
#include "core/text.h"
#include "engine/redis/wire/queue.h"

#include <string.h>

const char *bwl_key_template_fault(const char *template)
{
    size_t   size  = strlen(template);
    unsigned names = 0;

    if (size > BWL_KEY_TEMPLATE_MAX)
        return "a key template has at most 200 bytes";
    for (size_t i = 0; i < size; i++) {
        if (template[i] != '%')
            continue;
        i++;
        if (template[i] == 's')
            names++;
        else if (template[i] != '%')
            return "in a key template, a percent sign is written %%";
    }
    return names == 1 ? NULL : "a key template has one %s, where the name goes";
}

static size_t write_encoded(char *ret_key, const char *name, size_t name_size)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t            size  = 0;

    for (size_t i = 0; i < name_size; i++) {
        char c = name[i];
        if (c == '{' || c == '}' || c == '%') {
            ret_key[size++] = '%';
            ret_key[size++] = hex[c >> 4];
            ret_key[size++] = hex[c & 15];
        } else {
            ret_key[size++] = c;
        }
    }
    return size;
}

static size_t write_default(char *ret_key, const char *name, size_t name_size)
{
    static const char before[] = "bowline:{";
    size_t            size     = sizeof before - 1;

    memcpy(ret_key, before, size);
    size += write_encoded(ret_key + size, name, name_size);
    ret_key[size++] = '}';
    return size;
}

size_t bwl_key_write(char ret_key[BWL_KEY_MAX], const char *template, const char *name,
                     size_t name_size)
{
    size_t size = 0;

    assert(name_size <= BWL_NAME_MAX);
    if (template == NULL)
        return write_default(ret_key, name, name_size);
    for (const char *t = template; *t != '\0'; t++) {
        if (*t != '%') {
            ret_key[size++] = *t;
        } else if (*++t == 's') {
            memcpy(ret_key + size, name, name_size);
            size += name_size;
        } else {
            ret_key[size++] = '%';
        }
    }
    assert(size <= BWL_KEY_MAX);
    return size;
}

/* ---- from a key to its name ------------------------------------------------------------------ */

static const char *template_of(const char *template)
{
    return template != NULL ? template : "bowline:{%s}";
}

/* Writes the literal bytes of a template up to its end or its %s; returns their number.  *template
 * moves behind them. */
static size_t read_literal(char ret_literal[BWL_KEY_TEMPLATE_MAX], const char **template)
{
    size_t size = 0;

    for (; **template != '\0'; (*template)++) {
        if (**template == '%' && *++*template == 's') {
            (*template)++;
            break;
        }
        ret_literal[size++] = **template;
    }
    return size;
}

/* Only what write_encoded writes.  0: it is something else. */
static size_t decode(char ret_name[BWL_NAME_MAX + 1], const char *text, size_t size)
{
    size_t written = 0;

    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '{' || c == '}' || written == BWL_NAME_MAX)
            return 0;
        if (c == '%') {
            const char *hex = size - i >= 3 ? text + i + 1 : "";
            c               = strncmp(hex, "7B", 2) == 0   ? '{'
                              : strncmp(hex, "7D", 2) == 0 ? '}'
                              : strncmp(hex, "25", 2) == 0 ? '%'
                                                           : '\0';
            i += 2;
        }
        if (c == '\0')
            return 0;
        ret_name[written++] = c;
    }
    ret_name[written] = '\0';
    return written;
}

static size_t copy_name(char ret_name[BWL_NAME_MAX + 1], const char *text, size_t size)
{
    if (size > BWL_NAME_MAX)
        return 0;
    memcpy(ret_name, text, size);
    ret_name[size] = '\0';
    return size;
}

size_t bwl_key_read(char ret_name[BWL_NAME_MAX + 1], const char *template, const char *key,
                    size_t size)
{
    const char *rest = template_of(template);
    char        before[BWL_KEY_TEMPLATE_MAX];
    char        after[BWL_KEY_TEMPLATE_MAX];
    size_t      before_size = read_literal(before, &rest);
    size_t      after_size  = read_literal(after, &rest);

    if (size <= before_size + after_size || memcmp(key, before, before_size) != 0 ||
        memcmp(key + size - after_size, after, after_size) != 0)
        return 0;
    key += before_size;
    size -= before_size + after_size;
    size = template == NULL ? decode(ret_name, key, size) : copy_name(ret_name, key, size);
    return size != 0 && bwl_name_fault(ret_name, size) == NULL ? size : 0;
}

static size_t write_escaped(char *ret_pattern, const char *bytes, size_t size)
{
    size_t written = 0;

    for (size_t i = 0; i < size; i++) {
        if (strchr("*?[]\\^", bytes[i]) != NULL)
            ret_pattern[written++] = '\\';
        ret_pattern[written++] = bytes[i];
    }
    return written;
}

void bwl_key_pattern_write(char        ret_pattern[BWL_KEY_PATTERN_MAX], const char *template,
                           const char *glob)
{
    const char *rest = template_of(template);
    char        literal[BWL_KEY_TEMPLATE_MAX];
    char        encoded[3];
    const char *at;
    size_t      at_size;
    size_t      size = read_literal(literal, &rest);

    size = write_escaped(ret_pattern, literal, size);
    while (*glob != '\0') {
        if (bwl_glob_next(&glob, &at, &at_size) != BWL_GLOB_LITERAL) {
            if (size == 0 || ret_pattern[size - 1] != '*' ||
                (size > 1 && ret_pattern[size - 2] == '\\'))
                ret_pattern[size++] = '*';
            continue;
        }
        if (template == NULL) {
            at_size = write_encoded(encoded, at, at_size);
            at      = encoded;
        }
        size += write_escaped(ret_pattern + size, at, at_size);
    }
    size_t after = read_literal(literal, &rest);
    size += write_escaped(ret_pattern + size, literal, after);
    ret_pattern[size] = '\0';
    assert(size < BWL_KEY_PATTERN_MAX);
}

/* ---- keys beside that of a lock -------------------------------------------------------------- */

size_t bwl_key_beside(char ret_key[BWL_KEY_BESIDE_MAX], const char *key, size_t size,
                      bool has_braces, const char *before, const char *after)
{
    size_t written    = strlen(before);
    size_t after_size = strlen(after);

    assert(written + size + 2 + after_size <= BWL_KEY_BESIDE_MAX);
    memcpy(ret_key, before, written);
    if (!has_braces)
        ret_key[written++] = '{';
    memcpy(ret_key + written, key, size);
    written += size;
    if (!has_braces)
        ret_key[written++] = '}';
    memcpy(ret_key + written, after, after_size);
    return written + after_size;
}

size_t bwl_key_queue(char ret_key[BWL_KEY_BESIDE_MAX], const char *key, size_t size)
{
    const char *tag;
    bool        is_tagged = bwl_key_hash_tag(&tag, key, size) != size;

    return bwl_key_beside(ret_key, key, size, is_tagged, "", BWL_QUEUE_WAITERS);
}

static bool begins_with(const char *key, size_t size, const char *beginning)
{
    size_t length = strlen(beginning);

    return size >= length && memcmp(key, beginning, length) == 0;
}

static bool ends_with(const char *key, size_t size, const char *end)
{
    size_t length = strlen(end);

    return size >= length && memcmp(key + size - length, end, length) == 0;
}

const char *bwl_key_fault(const char *key, size_t size)
{
    static const char fences[] = BWL_QUEUE_FENCES_KEY;
    bool              is_ours =
        ends_with(key, size, BWL_QUEUE_WAITERS) || ends_with(key, size, BWL_QUEUE_HEARTBEATS) ||
        ends_with(key, size, BWL_QUEUE_SHARERS) || ends_with(key, size, BWL_QUEUE_ANNOUNCEMENT) ||
        begins_with(key, size, BWL_QUEUE_WHO) || begins_with(key, size, BWL_QUEUE_FENCES_KEY ":") ||
        (size == sizeof fences - 1 && begins_with(key, size, fences));

    return is_ours
               ? "with this key= the name makes a key that bowline keeps beside its locks "
                 "(...:bwl.q, ...:bwl.b, ...:bwl.h, ...:bwl.v, bowline:f, bowline:who:...): choose "
                 "another name"
               : NULL;
}

size_t bwl_key_hash_tag(const char **ret_tag, const char *key, size_t size)
{
    const char *open = size > 0 ? memchr(key, '{', size) : NULL;

    *ret_tag = key;
    if (open == NULL)
        return size;
    const char *close = memchr(open, '}', size - (size_t)(open - key));
    if (close == NULL || close == open + 1)
        return size;
    *ret_tag = open + 1;
    return (size_t)(close - open - 1);
}

const char *bwl_key_queue_fault(const char *template, const char *key, size_t size)
{
    const char *tag;

    if (template[0] == '{' || size < 3 || key[0] != '{' || key[size - 1] != '}')
        return NULL;
    bool   is_tagged = bwl_key_hash_tag(&tag, key, size) != size;
    size_t inside    = bwl_key_hash_tag(&tag, key + 1, size - 2);

    return is_tagged && inside == size - 2
               ? "with this key= and protocol queue the names X and {X} would share one queue: "
                 "choose another name, or key={%25s}"
               : NULL;
}
