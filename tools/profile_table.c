/*
 * profile_table.c -- writes the table of profiles as lines of text, for docs/reference/profiles.md.
 *
 *      profile NAME PROGRAM PROTOCOL KEY VALUE EXAMPLE EXPIRY CLOCK LEASE WAIT SIGNAL MANY WANTS
 *      FAULT NOTE
 *
 * Fields have tabs between them; one without a value is empty.  LEASE and WAIT are in milliseconds.
 * The examples are of a lock that was taken at 2026-11-22 00:31:00 UTC, with the same bits each.
 */
#include "protocol/format/token.h"
#include "protocol/protocol.h"
#include "engine/redis/profile.h"
#include "engine/redis/wire/value.h"

#include <stdio.h>

#define WALL_NS INT64_C(1795307460123456789)

static const bwl_random bits = { { 0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15, 0xf3, 0x9c, 0xc0,
                                   0x60, 0x5c, 0xed, 0xc8, 0x34 } };

static const char *unit_of(int64_t ns)
{
    if (ns == INT64_C(1000000000))
        return "seconds";
    return ns == INT64_C(1000000) ? "milliseconds" : "microseconds";
}

static void write_value_words(const bwl_compat_rules *r)
{
    const char *token  = bwl_token_format_info_of(r->token)->description;
    unsigned    chance = bwl_token_format_info_of(r->token)->bits;

    switch (r->value) {
    case BWL_VALUE_TOKEN: (void)printf("%s (%u random bits)", token, chance); return;
    case BWL_VALUE_LITERAL: (void)printf("always %s", r->literal); return;
    case BWL_VALUE_DECIMAL: (void)printf("when it ends, in %s", unit_of(r->unit_ns)); break;
    case BWL_VALUE_FLOAT_PYTHON:
    case BWL_VALUE_FLOAT_RUBY:
    case BWL_VALUE_FLOAT_PHP:
        (void)printf("when it ends, in %s%s", unit_of(r->whole_ns),
                     r->unit_ns == r->whole_ns ? ", written as a fraction" : " with a fraction");
        break;
    case BWL_VALUE_LITTLE_ENDIAN: (void)printf("when it ends, 8 bytes"); break;
    case BWL_VALUE_TOKEN_TIMESTAMP: (void)printf("%s, and when it ends", token); break;
    case BWL_VALUE_TIMESTAMP_TOKEN:
        (void)printf("when it ends, in %s, and %s", unit_of(r->unit_ns), token);
        break;
    }
    if (r->extra_ns != 0)
        (void)printf(", plus %lld", (long long)(r->extra_ns / r->unit_ns));
}

static void write_example(const bwl_profile *p)
{
    bwl_compat_rules rules    = *p->rules;
    bwl_ms           lease_ms = rules.lease_ms != 0 ? rules.lease_ms : 30000;
    int64_t          end_ns   = WALL_NS + lease_ms * 1000000 + rules.extra_ns;
    char             token[BWL_TOKEN_MAX + 1];
    char             value[BWL_VALUE_MAX];

    if (p->names_host)
        rules.prefix = "web1_4711_";
    bwl_token_write_as(token, rules.token, &bits, WALL_NS);
    size_t size =
        bwl_value_write(value, &rules, token, rules.unit_ns != 0 ? end_ns / rules.unit_ns : 0);
    (void)fwrite(value, 1, size, stdout);
}

static const char *signal_words(bwl_signal_kind kind)
{
    switch (kind) {
    case BWL_SIGNAL_NONE: return "";
    case BWL_SIGNAL_LIST: return "DEL, LPUSH 1 and PEXPIRE 1000 of the list";
    case BWL_SIGNAL_EVENT: return "LPUSH 1 and LTRIM 0 0 of the list";
    case BWL_SIGNAL_CHANNEL: return "PUBLISH of the key to the channel";
    }
    return "";
}

static const char *expiry_of(const bwl_compat_rules *r)
{
    if (r->unit_ns != 0)
        return r->clock == BWL_CLOCK_OF_SERVER ? "PX" : "";
    return r->lease_in_seconds ? "EX" : "PX";
}

static const char *clock_of(const bwl_compat_rules *r)
{
    if (r->unit_ns == 0)
        return "";
    return r->clock == BWL_CLOCK_OF_SERVER ? "server" : "client";
}

static const char *fault_of(const bwl_profile *p)
{
    const char *fault = p->fault;

    if (fault == NULL)
        fault = bwl_protocol_fault(bwl_protocol_named(p->protocol), p->rules);
    return fault != NULL ? fault : "";
}

int main(void)
{
    const bwl_profile *p;

    for (size_t i = 0; (p = bwl_profile_at(i)) != NULL; i++) {
        const bwl_compat_rules *r = p->rules;
        (void)printf("profile\t%s\t%s\t%s\t%s\t", p->name, p->program, p->protocol, p->key);
        write_value_words(r);
        (void)putchar('\t');
        write_example(p);
        (void)printf("\t%s\t%s\t%lld\t%lld\t%s", expiry_of(r), clock_of(r), (long long)r->lease_ms,
                     (long long)r->wait_ms, signal_words(p->signal));
        if (p->signal != BWL_SIGNAL_NONE)
            (void)printf(" %s", p->signal_name);
        if (p->second_name != NULL)
            (void)printf(" %s", p->second_name);
        (void)printf("\t%s\t%s\t%s\t%s\n", p->is_of_many ? "many" : "",
                     p->wants_key != NULL || p->takes_prefix ? "key" : "", fault_of(p),
                     p->note != NULL ? p->note : "");
    }
    return fflush(stdout) != 0 || ferror(stdout) != 0;
}
