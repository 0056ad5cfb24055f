/*
 * compat_rules.h -- the parameters of a lock protocol: how other people's programs do it.
 *
 * Plain constant data.  A protocol says which of these it looks at; all others are 0 there, and
 * NULL rules are bowline's own: the token is the value, and there is nothing to choose.
 *
 * A stamp is a time of day as a whole number of `unit_ns` since 1970:
 *
 *      now            floor(wall_ns / unit_ns)
 *      stamp          floor((wall_ns + lease + extra_ns) / unit_ns)
 *      timestamp_is_start floor(wall_ns / unit_ns), and it ends lease + extra_ns after that
 *
 * A value is prefix, then what `value` says, then suffix.
 */
#ifndef BWL_COMPAT_RULES_H
#define BWL_COMPAT_RULES_H

#include "core/core.h"

enum {
    BWL_AFFIX_MAX = 32,  /* bytes in a prefix, a suffix, a literal value                         */
    BWL_VALUE_MAX = 160, /* bytes in a value                                                     */
};

typedef enum bwl_value_format {
    BWL_VALUE_TOKEN = 1,
    BWL_VALUE_LITERAL,       /* always the same bytes                                            */
    BWL_VALUE_DECIMAL,       /* the stamp: 1700000010                                           */
    BWL_VALUE_FLOAT_PYTHON,  /* stamp * unit_ns / whole_ns as Python's repr: 1700000010.0       */
    BWL_VALUE_FLOAT_RUBY,    /* as Ruby's Float#to_s: the same bytes up to 1e16                 */
    BWL_VALUE_FLOAT_PHP,     /* as PHP with precision=14: 1700000010.1235, 1700000010           */
    BWL_VALUE_LITTLE_ENDIAN, /* the stamp in 8 bytes                                            */
    BWL_VALUE_TOKEN_TIMESTAMP, /* token:stamp */
    BWL_VALUE_TIMESTAMP_TOKEN, /* stamp-token; with BWL_TOKEN_PID_TID: stamp-pid-tid */
} bwl_value_format;

/* OURS: 22 characters of A-Z a-z 0-9 - _.  UUID: RFC 4122, version 4, in lower case.  HEX: 32
 * digits in lower case.  PID_TID: two numbers of plausible size, new for every attempt: 71-968.
 * BARE: without dashes.  UUID1: the form of version 1, all of it drawn.  BASE64: 16 bytes, padded.
 * BASE64_18: 18 bytes.  BASE64_32: 32 bytes, padded, with the chance of 16.  ALNUM: letters and
 * digits.  DATE_UUID: 2026-11-22T00:31:00.123Z@ and a UUID.  UUID_THREAD: a UUID, a colon, and the
 * number of a thread, which is 1 in ours. */
typedef enum bwl_token_format {
    BWL_TOKEN_OURS = 0,
    BWL_TOKEN_UUID,
    BWL_TOKEN_HEX,
    BWL_TOKEN_PID_TID,
    BWL_TOKEN_UUID_BARE,
    BWL_TOKEN_UUID1,
    BWL_TOKEN_UUID1_BARE,
    BWL_TOKEN_BASE64,
    BWL_TOKEN_BASE64_18,
    BWL_TOKEN_ALNUM_16,
    BWL_TOKEN_ALNUM_20,
    BWL_TOKEN_ALNUM_22,
    BWL_TOKEN_DATE_UUID,
    BWL_TOKEN_UUID_THREAD,
    BWL_TOKEN_BASE64_32,
} bwl_token_format;

enum { BWL_TOKEN_FORMATS = BWL_TOKEN_BASE64_32 + 1 };

/* When has a stamp expired? */
typedef enum bwl_expired {
    BWL_TIMESTAMP_BEFORE_NOW = 1,
    BWL_TIMESTAMP_NOT_AFTER_NOW,
} bwl_expired;

/* How often does one try look at the time?  ONCE: before SETNX.  STAMP_ONCE: the stamp is of before
 * SETNX, but comparisons look again.  ALWAYS: the stamp that GETSET writes is new as well. */
typedef enum bwl_clock_reads {
    BWL_READS_ONCE = 1,
    BWL_READS_TIMESTAMP_ONCE,
    BWL_READS_ALWAYS,
} bwl_clock_reads;

/* The key was there for SETNX and is not for GET.  SWAP: try GETSET.  START_OVER: as when it is
 * held; the next try begins with SETNX again. */
typedef enum bwl_gone {
    BWL_GONE_SWAP = 1,
    BWL_GONE_START_OVER,
} bwl_gone;

/* When does what GETSET found mean that we have won?  SAME: the bytes that GET had shown. */
typedef enum bwl_wins {
    BWL_WINS_IF_EXPIRED = 1,
    BWL_WINS_IF_SAME,
} bwl_wins;

/* BLIND: DEL.  IF_AHEAD: GET, and DEL when the stamp is more than guard_ms ahead of now, whoever
 * wrote it.  IF_MINE: GET, and DEL when the value is what we wrote. */
typedef enum bwl_release_rule {
    BWL_RELEASE_BLIND = 1,
    BWL_RELEASE_IF_AHEAD,
    BWL_RELEASE_IF_MINE,
} bwl_release_rule;

/* SERVER: bowline's own variant, in one script each: the server's TIME, an expiry of the key. */
typedef enum bwl_clock_owner {
    BWL_CLOCK_OF_CLIENT = 1,
    BWL_CLOCK_OF_SERVER,
} bwl_clock_owner;

struct bwl_compat_rules {
    /* Of the value. */
    bwl_value_format value;
    bwl_token_format token;
    const char      *literal; /* NULL: none                                                      */
    const char      *prefix;  /* NULL: none                                                      */
    const char      *suffix;  /* NULL: none                                                      */
    int64_t          unit_ns; /* of a stamp: 1000000000, 1000000, 1000 ...; 0: no stamp           */
    int64_t          whole_ns; /* floats: what 1.0 stands for: 1000000000 or 1000000              */
    int64_t          extra_ns; /* added to the lease in a stamp                                   */
    bool             timestamp_is_start;
    bool             lease_in_seconds; /* EX instead of PX, rounded up                            */

    /* Of setnx-getset, and where setnx-stamp-del has the same question. */
    bwl_expired      expired;
    bwl_clock_reads  reads;
    bwl_gone         gone;
    bwl_wins         wins;
    bool             missing_wins; /* nothing there for GETSET: expired, or the same as nothing   */
    bwl_release_rule release;
    bwl_ms           guard_ms;
    bwl_clock_owner  clock;

    /* Of redisson. */
    bool counts_fences; /* an acquire increments the counter of the key: that is the fence       */

    /* Of the hold. */
    bwl_ms   pause_ms;  /* between tries; 0: the hold's own back-off                             */
    unsigned tries_max; /* 0: until the wait is over                                             */

    /* When the caller does not say. */
    bwl_ms lease_ms; /* 0: bowline's own                                                         */
    bwl_ms wait_ms;  /* 0: tries once                                                            */
};

#endif
