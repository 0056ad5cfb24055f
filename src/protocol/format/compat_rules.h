/*
 * compat_rules.h -- the parameters with which a lock protocol matches the locks of other programs,
 * and the options of a protocol, which include them.
 *
 * Plain constant data.  Each protocol reads some of these fields; the others are 0.  NULL instead
 * of rules means the format of bowline: the value is the token.
 *
 * A timestamp is a time of day as a whole number of `unit_ns` since 1970:
 *
 *      now                 floor(wall_ns / unit_ns)
 *      timestamp           floor((wall_ns + lease + extra_ns) / unit_ns)
 *      timestamp_is_start  floor(wall_ns / unit_ns); the lock ends lease + extra_ns after that
 *
 * A value is `prefix`, then what `value` selects, then `suffix`.
 */
#pragma once

#include "core/core.h"

enum {
    BWL_AFFIX_MAX = 32,  /* bytes in a prefix, a suffix, a literal value                         */
    BWL_VALUE_MAX = 160, /* bytes in a value                                                     */
};

typedef enum bwl_value_format {
    BWL_VALUE_TOKEN = 1,
    BWL_VALUE_LITERAL,         /* the same bytes for every holder */
    BWL_VALUE_DECIMAL,         /* the timestamp: 1700000010 */
    BWL_VALUE_FLOAT_PYTHON,    /* timestamp * unit_ns / whole_ns as Python's repr: 1700000010.0 */
    BWL_VALUE_FLOAT_RUBY,      /* as Ruby's Float#to_s: the same bytes up to 1e16                 */
    BWL_VALUE_FLOAT_PHP,       /* as PHP with precision=14: 1700000010.1235, 1700000010           */
    BWL_VALUE_LITTLE_ENDIAN,   /* the timestamp in 8 bytes */
    BWL_VALUE_TOKEN_TIMESTAMP, /* token:timestamp */
    BWL_VALUE_TIMESTAMP_TOKEN, /* timestamp-token; with BWL_TOKEN_PID_TID: timestamp-pid-tid */
} bwl_value_format;

/* OURS: 22 characters of A-Z a-z 0-9 - _.  UUID: RFC 4122, version 4, in lower case.  HEX: 32
 * digits in lower case.  PID_TID: two numbers of plausible size, new for every attempt: 71-968.
 * BARE: without dashes.  UUID1: the form of version 1, with random bits only.  BASE64: 16 bytes,
 * padded. BASE64_18: 18 bytes.  BASE64_32: 32 bytes made from 16 random ones, padded.  ALNUM:
 * letters and digits.  DATE_UUID: 2026-11-22T00:31:00.123Z@ and a UUID.  UUID_THREAD: a UUID, a
 * colon, and the number of a thread, always 1. */
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

/* When a timestamp has expired. */
typedef enum bwl_expired {
    BWL_TIMESTAMP_BEFORE_NOW = 1,
    BWL_TIMESTAMP_NOT_AFTER_NOW,
} bwl_expired;

/* How often one attempt reads the clock.  ONCE: before SETNX.  TIMESTAMP_ONCE: the timestamp is
 * from before SETNX, and each comparison reads the clock again.  ALWAYS: GETSET writes a new
 * timestamp. */
typedef enum bwl_clock_reads {
    BWL_READS_ONCE = 1,
    BWL_READS_TIMESTAMP_ONCE,
    BWL_READS_ALWAYS,
} bwl_clock_reads;

/* The next command when SETNX found the key and GET did not.  SWAP: GETSET.  START_OVER: the
 * attempt ends as BUSY; the next attempt begins with SETNX. */
typedef enum bwl_gone {
    BWL_GONE_SWAP = 1,
    BWL_GONE_START_OVER,
} bwl_gone;

/* Which old value makes GETSET an acquire.  SAME: the bytes that GET returned. */
typedef enum bwl_wins {
    BWL_WINS_IF_EXPIRED = 1,
    BWL_WINS_IF_SAME,
} bwl_wins;

/* BLIND: DEL.  IF_AHEAD: GET, and DEL if the timestamp is more than guard_ms ahead of now, also if
 * another client wrote it.  IF_MINE: GET, and DEL if the value is the one that this hold wrote. */
typedef enum bwl_release_rule {
    BWL_RELEASE_BLIND = 1,
    BWL_RELEASE_IF_AHEAD,
    BWL_RELEASE_IF_MINE,
} bwl_release_rule;

/* SERVER: a variant of bowline, one script for each command: it uses the server's TIME and sets an
 * expiry. */
typedef enum bwl_clock_owner {
    BWL_CLOCK_OF_CLIENT = 1,
    BWL_CLOCK_OF_SERVER,
} bwl_clock_owner;

typedef struct bwl_compat_rules {
    /* The value. */
    bwl_value_format value;
    bwl_token_format token;
    const char      *literal;  /* NULL: none                                                      */
    const char      *prefix;   /* NULL: none                                                      */
    const char      *suffix;   /* NULL: none                                                      */
    int64_t          unit_ns;  /* of a timestamp: 1000000000, 1000000, 1000 ...; 0: no timestamp */
    int64_t          whole_ns; /* floats: the length of 1.0: 1000000000 or 1000000 */
    int64_t          extra_ns; /* added to the lease in a timestamp */
    bool             timestamp_is_start;
    bool             lease_in_seconds; /* EX instead of PX, rounded up                            */

    /* setnx-getset; some of them also setnx-stamp-del. */
    bwl_expired      expired;
    bwl_clock_reads  reads;
    bwl_gone         gone;
    bwl_wins         wins;
    bool             missing_wins; /* GETSET found no key: counts as expired, or as the same */
    bwl_release_rule release;
    bwl_ms           guard_ms;
    bwl_clock_owner  clock;

    /* redisson. */
    bool counts_fences; /* an acquire increments the counter of the key, whose value is the fence */

    /* The lock machine. */
    bwl_ms   pause_ms;  /* between attempts; 0: the backoff of the lock machine */
    unsigned tries_max; /* attempts of one acquire; 0: until the wait is over */

    /* Defaults. */
    bwl_ms lease_ms; /* 0: the default of bowline */
    bwl_ms wait_ms;  /* 0: one attempt */
} bwl_compat_rules;

/* What some protocols need besides the token and the lease. */
struct bwl_protocol_options {
    const bwl_compat_rules  *rules;     /* NULL: no parameters */
    uint32_t                 drift_ppm; /* `redlock`: see bwl_drift_named_ms; 0: the default */
    uint16_t                 replicas;  /* that must have the lock before it is held; 0: none */
    struct bwl_lock_program *program;   /* of a lock file; NULL: it is none */
};
