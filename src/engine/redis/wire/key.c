/*
 * key.c -- see key.h.
 */
#include "engine/redis/wire/key.h"
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
        begins_with(key, size, BWL_QUEUE_WHO) || begins_with(key, size, BWL_QUEUE_FENCES_KEY ":") ||
        (size == sizeof fences - 1 && begins_with(key, size, fences));

    return is_ours ? "with this key= the name makes a key that bowline keeps beside its locks "
                     "(...:bwl.q, ...:bwl.b, bowline:f, bowline:who:...): choose another name"
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
