/*
 * profile.c -- see profile.h.  The table itself is profile_rows.c.
 */
#include "engine/redis/profile.h"
#include "core/shape.h"
#include "core/token.h"
#include "engine/redis/profile_rows.h"
#include "engine/redis/wire/stamp.h"

#include <string.h>

const bwl_profile *bwl_profile_at(size_t i)
{
    return i < bwl_profile_rows_count ? &bwl_profile_rows[i] : NULL;
}

const bwl_profile *bwl_profile_named(const char *name)
{
    for (size_t i = 0; i < bwl_profile_rows_count; i++)
        if (strcmp(bwl_profile_rows[i].name, name) == 0)
            return &bwl_profile_rows[i];
    return NULL;
}

const char *bwl_profile_name_at(size_t i)
{
    const bwl_profile *profile = bwl_profile_at(i);

    return profile != NULL ? profile->name : NULL;
}

/* How many bytes of the template come before the profile's own; the whole size if it does not end
 * so. */
static size_t prefix_size(const bwl_profile *profile, const char *template)
{
    size_t size  = strlen(template);
    size_t whole = strlen(profile->key);

    if (size < whole || strcmp(template + size - whole, profile->key) != 0)
        return size;
    return size - whole;
}

const char *bwl_profile_template_fault(const bwl_profile *profile, const char *template)
{
    bool is_tied = profile->takes_prefix || profile->signal != BWL_SIGNAL_NONE;

    if (template == NULL)
        return profile->takes_prefix ? "its keys begin with a word of yours" : profile->wants_key;
    if (!is_tied)
        return NULL;
    size_t prefix = prefix_size(profile, template);
    if (prefix == strlen(template))
        return "those who wait are told under a name that is made from the end of the key";
    if (profile->takes_prefix && prefix == 0)
        return "its keys begin with a word of yours";
    if (memchr(template, '%', prefix) != NULL) /* it may stand in a name once more as it is */
        return "what comes before has no percent sign";
    return NULL;
}

enum { DATE_SIZE = sizeof "ADDED:2026-11-22T00:31:00.123Z@" - 1 };

static bool is_date(const char *value)
{
    static const char form[] = "ADDED:0000-00-00T00:00:00.000Z@";

    for (size_t i = 0; i < DATE_SIZE; i++)
        if (form[i] == '0' ? value[i] < '0' || value[i] > '9' : value[i] != form[i])
            return false;
    return true;
}

/* Is it HOST_PID_? */
static bool is_host_and_pid(const char *text, size_t size)
{
    size_t digits = 0;

    if (size == 0 || text[--size] != '_')
        return false;
    while (size > 0 && text[size - 1] >= '0' && text[size - 1] <= '9') {
        size--;
        digits++;
    }
    return digits > 0 && size > 1 && text[size - 1] == '_';
}

static bool is_theirs(const bwl_profile *profile, const char *value, size_t size)
{
    bwl_token_shape shape  = profile->rules->token;
    size_t          token  = strlen(bwl_shape_kind_of(shape)->pattern);
    size_t          before = size > token ? size - token : 0;

    switch (profile->theirs) {
    case BWL_THEIRS_AS_OURS: return false;
    case BWL_THEIRS_24_BYTES: return size == 24;
    case BWL_THEIRS_32_BYTES: return size == 32;
    case BWL_THEIRS_DATE_HOST: return size > DATE_SIZE && is_date(value);
    case BWL_THEIRS_HOST_PID:
        return is_host_and_pid(value, before) && bwl_token_is_of(shape, value + before, token);
    case BWL_THEIRS_METADATA: return before > 0 && bwl_token_is_of(shape, value, token);
    }
    bwl_unreachable("no such form");
}

bool bwl_profile_reads(const bwl_profile *profile, const bwl_rules *rules, const char *value,
                       size_t size, int64_t *ret_stamp)
{
    if (bwl_value_read_plausible(ret_stamp, rules, value, size))
        return true;
    *ret_stamp = 0;
    return is_theirs(profile, value, size);
}

/* %s in the form is the name of the lock, %p what comes before the profile's key. */
static size_t write_form(char ret_name[BWL_SIGNAL_MAX], const char *form, bwl_bytes prefix,
                         bwl_bytes name)
{
    size_t size = 0;

    for (const char *f = form; *f != '\0'; f++) {
        bwl_bytes piece = { f, 1 };
        if (*f == '%')
            piece = *++f == 's' ? name : prefix;
        assert(size + piece.size <= BWL_SIGNAL_MAX);
        memcpy(ret_name + size, piece.at, piece.size);
        size += piece.size;
    }
    return size;
}

size_t bwl_profile_signal_write(char ret_name[BWL_SIGNAL_MAX], const bwl_profile *profile,
                                const char *template, const char *name, size_t name_size)
{
    assert(profile->signal != BWL_SIGNAL_NONE);
    assert(bwl_profile_template_fault(profile, template) == NULL);
    return write_form(ret_name, profile->signal_name,
                      (bwl_bytes){ template, prefix_size(profile, template) },
                      (bwl_bytes){ name, name_size });
}

size_t bwl_profile_second_signal_write(char ret_name[BWL_SIGNAL_MAX], const bwl_profile *profile,
                                       const char *template, const char *name, size_t name_size)
{
    if (profile->second_name == NULL)
        return 0;
    assert(profile->signal == BWL_SIGNAL_CHANNEL);
    return write_form(ret_name, profile->second_name,
                      (bwl_bytes){ template, prefix_size(profile, template) },
                      (bwl_bytes){ name, name_size });
}
