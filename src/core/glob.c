#include "core/glob.h"

#include <string.h>

/* A character of the text; 0 at its end.  *at moves behind it. */
static uint32_t next_character(const char **at, const char *end)
{
    const unsigned char *bytes = (const unsigned char *)*at;
    size_t               left  = (size_t)(end - *at);
    size_t               size  = 1;

    if (left == 0)
        return 0;
    if (bytes[0] >= 0xc2 && bytes[0] <= 0xf4)
        size = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    uint32_t character = size == 1 ? bytes[0] : bytes[0] & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if (i >= left || (bytes[i] & 0xc0) != 0x80) { /* no UTF-8: a byte by itself */
            size      = 1;
            character = bytes[0];
            break;
        }
        character = character << 6 | (bytes[i] & 0x3f);
    }
    *at += size;
    return character;
}

/* One bound of a range; *at moves behind it. */
static uint32_t next_bound(const char **at)
{
    if (**at == '\\')
        (*at)++;
    return next_character(at, *at + strlen(*at));
}

/* Whether the class that begins at *at, behind its `[`, has the character.  *at moves to the `]`,
 * or to the NUL if there is none. */
static bool class_has(const char **at, uint32_t character)
{
    bool is_inverse = **at == '!' || **at == '^';
    bool has        = false;

    *at += is_inverse ? 1 : 0;
    for (bool is_first = true; **at != '\0' && (**at != ']' || is_first); is_first = false) {
        uint32_t first = next_bound(at);
        uint32_t last  = first;
        if (**at == '-' && (*at)[1] != ']' && (*at)[1] != '\0') {
            (*at)++;
            last = next_bound(at);
        }
        has = has || (first <= character && character <= last);
    }
    return has != is_inverse;
}

const char *bwl_glob_fault(const char *pattern)
{
    if (strlen(pattern) > BWL_GLOB_MAX)
        return "a pattern has at most 1024 bytes";
    for (const char *at = pattern; *at != '\0';) {
        if (*at == '[') {
            at++;
            (void)class_has(&at, 0);
            if (*at++ != ']')
                return "in the pattern a [ has no ]: write \\[ for the character itself";
        } else if (*at == '\\' && at[1] == '\0') {
            return "the pattern ends with a \\: write \\\\ for the character itself";
        } else {
            at += *at == '\\' ? 2 : 1;
        }
    }
    return NULL;
}

static const char *after_stars(const char *pattern)
{
    while (*pattern == '*')
        pattern++;
    return pattern;
}

bwl_glob_kind bwl_glob_next(const char **pattern, const char **ret_at, size_t *ret_size)
{
    const char *at = *pattern;

    assert(*at != '\0');
    *ret_at   = at;
    *ret_size = 0;
    if (*at == '*') {
        *pattern = after_stars(at);
        return BWL_GLOB_ANY;
    }
    if (*at == '[') {
        *pattern = at + 1;
        (void)class_has(pattern, 0);
        (*pattern)++; /* behind the ] */
        return BWL_GLOB_ONE;
    }
    if (*at == '?') {
        *pattern = at + 1;
        return BWL_GLOB_ONE;
    }
    *ret_at   = *at == '\\' ? at + 1 : at;
    *ret_size = 1;
    *pattern  = *ret_at + 1;
    return BWL_GLOB_LITERAL;
}

/* Whether the item of the pattern, no `*`, has the next character; both move behind it. */
static bool has_next(const char **pattern, const char **name, const char *end)
{
    const char *item = *pattern;
    const char *at;
    size_t      size;

    if (*name == end)
        return false;
    if (bwl_glob_next(pattern, &at, &size) == BWL_GLOB_LITERAL)
        return *(*name)++ == *at;
    uint32_t character = next_character(name, end);
    item++; /* behind the [ */
    return item[-1] == '?' || class_has(&item, character);
}

/* After a `*`, tries the rest at one place after the other: only the latest `*` has to be moved. */
bool bwl_glob_matches(const char *pattern, const char *name, size_t size)
{
    const char *end          = name + size;
    const char *after_star   = NULL;
    const char *star_matches = NULL; /* up to here, in the name */

    while (*pattern != '\0' || name != end) {
        if (*pattern == '*') {
            after_star   = after_stars(pattern);
            star_matches = name;
            pattern      = after_star;
        } else if (*pattern == '\0' || !has_next(&pattern, &name, end)) {
            if (after_star == NULL || star_matches == end)
                return false;
            (void)next_character(&star_matches, end);
            pattern = after_star;
            name    = star_matches;
        }
    }
    return true;
}
