/*
 * take_timestamp.c -- see take_timestamp.h, and scripts/take_timestamp.lua.
 *
 * The server's clock has microseconds.  A timestamp in nanoseconds ends with three zeros.  A float
 * is the double that is nearest to the whole number of microseconds.
 */
#include "engine/redis/wire/take_timestamp.h"
#include "engine/redis/wire/value.h"

#include <string.h>

enum {
    NS_IN_US = 1000,
    US_IN_MS = 1000,
    TEXT_MAX = 2 * BWL_VALUE_MAX + 32, /* a pattern may have an escape before every byte */
};

typedef struct text {
    char   bytes[TEXT_MAX];
    size_t size;
} text;

static void add(text *t, const char *bytes)
{
    size_t size = bytes != NULL ? strlen(bytes) : 0;

    assert(size <= TEXT_MAX - t->size);
    memcpy(t->bytes + t->size, bytes != NULL ? bytes : "", size);
    t->size += size;
}

/* In a pattern of Lua, '%' before a character that is neither letter nor digit escapes it. */
static void add_escaped(text *t, const char *bytes)
{
    for (; bytes != NULL && *bytes != '\0'; bytes++) {
        bool is_plain = (*bytes >= '0' && *bytes <= '9') || (*bytes >= 'A' && *bytes <= 'Z') ||
                        (*bytes >= 'a' && *bytes <= 'z') || (unsigned char)*bytes >= 0x80;
        if (!is_plain)
            add(t, "%");
        add(t, (char[]){ *bytes, '\0' });
    }
}

static const char *form_of(bwl_value_format format)
{
    switch (format) {
    case BWL_VALUE_DECIMAL:
    case BWL_VALUE_TOKEN_TIMESTAMP:
    case BWL_VALUE_TIMESTAMP_TOKEN: return "d";
    case BWL_VALUE_FLOAT_PYTHON:
    case BWL_VALUE_FLOAT_RUBY: return "f";
    case BWL_VALUE_FLOAT_PHP: return "p";
    case BWL_VALUE_LITTLE_ENDIAN: return "l";
    case BWL_VALUE_TOKEN:
    case BWL_VALUE_LITERAL: break;
    }
    bwl_unreachable("a value of this format has no timestamp");
}

/* The texts before and after the number: of this client's value, and as patterns that match the
 * value of any holder. */
typedef struct affixes {
    text before;
    text after;
    text any_before;
    text any_after;
} affixes;

/* A pattern that matches any token of this format. */
static const char *any_token(bwl_token_format format)
{
    switch (format) {
    case BWL_TOKEN_UUID: return "%x+%-%x+%-%x+%-%x+%-%x+";
    case BWL_TOKEN_HEX: return "%x+";
    case BWL_TOKEN_PID_TID: return "[1-9]%d*%-[1-9]%d*";
    case BWL_TOKEN_OURS:
    case BWL_TOKEN_UUID_BARE:
    case BWL_TOKEN_UUID1:
    case BWL_TOKEN_UUID1_BARE:
    case BWL_TOKEN_BASE64:
    case BWL_TOKEN_BASE64_18:
    case BWL_TOKEN_ALNUM_16:
    case BWL_TOKEN_ALNUM_20:
    case BWL_TOKEN_ALNUM_22:
    case BWL_TOKEN_DATE_UUID:
    case BWL_TOKEN_BASE64_32:
    case BWL_TOKEN_UUID_THREAD: return "[%w_%-+/=:.@]+";
    }
    bwl_unreachable("no such token format");
}

static void make_affixes(affixes *ret_s, const bwl_compat_rules *rules, const char *token)
{
    *ret_s = (affixes){ 0 };
    add(&ret_s->before, rules->prefix);
    add_escaped(&ret_s->any_before, rules->prefix);
    if (rules->value == BWL_VALUE_TOKEN_TIMESTAMP) {
        add(&ret_s->before, token);
        add(&ret_s->before, ":");
        add(&ret_s->any_before, any_token(rules->token));
        add(&ret_s->any_before, ":");
    }
    if (rules->value == BWL_VALUE_TIMESTAMP_TOKEN) {
        add(&ret_s->after, "-");
        add(&ret_s->after, token);
        add(&ret_s->any_after, "%-");
        add(&ret_s->any_after, any_token(rules->token));
    }
    add(&ret_s->after, rules->suffix);
    add_escaped(&ret_s->any_after, rules->suffix);
}

static void write_part(bwl_resp_writer *writer, const text *part)
{
    bwl_resp_write_bulk(writer, part->bytes, part->size);
}

void bwl_take_timestamp_write(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    const bwl_compat_rules *rules = args->rules;
    affixes                 s;

    assert(rules->unit_ns > 0);
    make_affixes(&s, rules, args->token);
    bwl_resp_write_text(writer, form_of(rules->value));
    write_part(writer, &s.before);
    write_part(writer, &s.after);
    bwl_resp_write_integer(writer, rules->unit_ns / NS_IN_US);
    bwl_resp_write_integer(writer, rules->whole_ns / NS_IN_US);
    bwl_resp_write_integer(writer, args->lease_ms * US_IN_MS + rules->extra_ns / NS_IN_US);
    bwl_resp_write_text(writer, rules->expired == BWL_TIMESTAMP_BEFORE_NOW ? "<" : "<=");
    bwl_resp_write_text(writer, rules->timestamp_is_start ? "1" : "0");
    write_part(writer, &s.any_before);
    write_part(writer, &s.any_after);
}

bwl_redis_verdict bwl_take_timestamp_read(const bwl_redis_command_args *args, const char *bytes,
                                          size_t size, bwl_redis_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    int64_t         timestamp;

    if (!bwl_resp_next_bare(&cursor, &value))
        return BWL_REDIS_STRANGE;
    if (value.type == ':' && (value.integer == 0 || value.integer == -1)) {
        ret_reply->answer = value.integer == 0 ? BWL_NO : BWL_FOREIGN_VALUE;
        return BWL_REDIS_ANSWER;
    }
    if (value.type != '$' || !bwl_value_read(&timestamp, args->rules, value.text, value.size))
        return BWL_REDIS_STRANGE;
    *ret_reply = (bwl_redis_reply){
        .answer = BWL_YES,
        .number = (uint64_t)timestamp,
        .value  = { .is_mine = true, .hash = bwl_value_hash(value.text, value.size) },
    };
    return BWL_REDIS_ANSWER;
}
