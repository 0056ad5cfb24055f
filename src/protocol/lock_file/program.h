/*
 * program.h -- a lock that a text file describes: its commands, and what follows each reply.
 *
 * docs/reference/lock-files.md has the language.  A program is constant data: the parser makes it,
 * the protocol (lock_file.h) runs it, and the lab prints it.
 *
 * A section (acquire, release, renew) is a list of operations, executed in order.  CALL sends one
 * command, or a transaction, and stops until the reply.  The TESTs behind it look at that reply.
 */
#pragma once

#include "core/core.h"
#include "protocol/format/compat_rules.h"

enum {
    BWL_LOCK_FILE_MAX       = 16384,                      /* bytes of a file */
    BWL_LOCK_FILE_OPS_MAX   = 250,                        /* operations of all sections */
    BWL_LOCK_FILE_CALLS_MAX = 60,                         /* commands of all sections */
    BWL_LOCK_FILE_TEXTS_MAX = 30,                         /* texts in quotes */
    BWL_LOCK_FILE_NAMES_MAX = 4,                          /* names of replies and times */
    BWL_LOCK_FILE_TRIES_MAX = 200,                        /* of `retry N` */
    BWL_CALL_ARGS_MAX       = 10,                         /* arguments of a command */
    BWL_LOCK_FILE_ROOM      = 2 * BWL_LOCK_FILE_MAX + 64, /* for names and texts, each with a NUL */
};

/* ---- commands -------------------------------------------------------------------------------- */

/* X(NAME, fewest arguments, most): the key counts as one. */
#define BWL_CALL_WORDS(X) \
    X(GET, 1, 1)          \
    X(SET, 2, 6)          \
    X(SETNX, 2, 2)        \
    X(GETSET, 2, 2)       \
    X(DEL, 1, 1)          \
    X(EXISTS, 1, 1)       \
    X(EXPIRE, 2, 2)       \
    X(PEXPIRE, 2, 2)      \
    X(PERSIST, 1, 1)      \
    X(TTL, 1, 1)          \
    X(PTTL, 1, 1)         \
    X(INCR, 1, 1)         \
    X(DECR, 1, 1)         \
    X(WATCH, 1, 1)        \
    X(UNWATCH, 0, 0)      \
    X(PUBLISH, 2, 2)      \
    X(EVAL, 3, 10)

typedef enum bwl_call_word {
    BWL_CALL_NONE = 0,
#define X(name, fewest, most) BWL_CALL_##name,
    BWL_CALL_WORDS(X)
#undef X
        BWL_CALL_WORDS_END
} bwl_call_word;

typedef enum bwl_call_arg_kind {
    BWL_ARG_KEY = 1,
    BWL_ARG_TOKEN,
    BWL_ARG_LEASE_S,  /* the lease in whole seconds, rounded up, and `number` more */
    BWL_ARG_LEASE_MS, /* the lease in milliseconds, and `number` more */
    BWL_ARG_NUMBER,
    BWL_ARG_TEXT,     /* in quotes: `number` is its index */
    BWL_ARG_COMPUTED, /* the one number of the command that the client computes */
    BWL_ARG_END,      /* the same, as a time of the server's clock */
    BWL_ARG_KEYWORD,  /* of SET: `number` is a bwl_set_word */
} bwl_call_arg_kind;

typedef enum bwl_set_word {
    BWL_SET_NX = 1,
    BWL_SET_XX,
    BWL_SET_GET,
    BWL_SET_EX,
    BWL_SET_PX,
    BWL_SET_EXAT,
    BWL_SET_PXAT,
    BWL_SET_KEEPTTL,
} bwl_set_word;

typedef struct bwl_call_arg {
    uint8_t kind; /* a bwl_call_arg_kind */
    int64_t number;
} bwl_call_arg;

typedef struct bwl_call {
    uint8_t      word; /* a bwl_call_word */
    uint8_t      args_count;
    bwl_call_arg args[BWL_CALL_ARGS_MAX]; /* in the order in which they are sent */
} bwl_call;

const char *bwl_call_word_name(bwl_call_word word);
const char *bwl_set_word_name(bwl_set_word word);

/* The unit of the time behind an option of SET, in milliseconds; 0: it has none. */
bwl_ms bwl_set_word_unit_ms(bwl_set_word word);

/* The unit of the time of day in a command or a transaction, in milliseconds; 0: it has none. */
bwl_ms bwl_calls_end_unit_ms(const bwl_call *calls, unsigned count);

/* True if the command has as many arguments as it takes. */
bool bwl_call_has_args(const bwl_call *call);

/* ---- operations ------------------------------------------------------------------------------ */

/* A number that the client computes: [now] + [+-lease] + [a name] + units. */
typedef struct bwl_lock_sum {
    int8_t  now;   /* 0 or 1 times the wall clock, in the unit of the file */
    int8_t  lease; /* -1, 0 or 1 times the lease */
    uint8_t name;  /* index + 1; 0: none */
    int64_t units;
} bwl_lock_sum;

typedef enum bwl_lock_test {
    BWL_TEST_NIL = 1,
    BWL_TEST_OK,
    BWL_TEST_ERROR, /* an error reply */
    BWL_TEST_DOWN,  /* no reply: the connection broke */
    BWL_TEST_TOKEN, /* the bytes of the token */
    BWL_TEST_TEXT,  /* the bytes of a text: `number` is its index */
    BWL_TEST_SAME,  /* the bytes of an earlier reply: `name` */
    BWL_TEST_EQUAL, /* a number, compared with the sum */
    BWL_TEST_LESS,
    BWL_TEST_LESS_OR_EQUAL,
    BWL_TEST_MORE,
    BWL_TEST_MORE_OR_EQUAL,
} bwl_lock_test;

typedef enum bwl_lock_op_kind {
    BWL_OP_CALL =
        1,        /* sends `calls_count` commands from `call` on; more than one: MULTI ... EXEC */
    BWL_OP_TEST,  /* goes to `target` if the last reply passes */
    BWL_OP_GO,    /* goes to `target` */
    BWL_OP_LET,   /* name = sum */
    BWL_OP_SAVE,  /* name = the last reply */
    BWL_OP_SLEEP, /* `number` milliseconds */
    BWL_OP_RETRY, /* starts the section again; `number` times, then goes on.  0: always */
    BWL_OP_END,   /* the result is `outcome` */
} bwl_lock_op_kind;

typedef struct bwl_lock_op {
    uint8_t      kind;
    uint8_t      test; /* a bwl_lock_test */
    bool         is_negated;
    uint8_t      name;
    uint8_t      target;
    uint8_t      outcome; /* a bwl_outcome_kind */
    uint8_t      call;
    uint8_t      calls_count;
    bool         is_transaction;
    bool         handles_error; /* a TEST behind the call asks for it */
    bool         handles_down;
    uint16_t     line; /* in the file, from 1 */
    int64_t      number;
    bwl_lock_sum sum; /* TEST, LET; CALL: of the computed argument */
} bwl_lock_op;

/* ---- a program ------------------------------------------------------------------------------- */

typedef struct bwl_lock_text {
    const char *bytes; /* with a NUL behind them */
    size_t      size;
    uint64_t    hash; /* bwl_hash */
    unsigned    line; /* in the file, from 1 */
} bwl_lock_text;

/* What the file says to the lab: `lab: NAME VALUE ...`.  Each such line is a world. */
typedef struct bwl_lab_setting {
    const char *name;
    const char *value;
    uint16_t    line;
    uint16_t    column;
    uint8_t     world; /* from 0 */
} bwl_lab_setting;

enum { BWL_LAB_SETTINGS_MAX = 80, BWL_LAB_WORLDS_MAX = 20, BWL_LOCK_FILE_NO_SECTION = UINT8_MAX };

/* LEASE: less the drift allowance.  WHOLE: all of the lease.  FOREVER: it reads no clock. */
typedef enum bwl_lock_trust {
    BWL_TRUSTS_LEASE = 0,
    BWL_TRUSTS_WHOLE,
    BWL_TRUSTS_FOREVER,
} bwl_lock_trust;

typedef struct bwl_lock_program {
    bwl_protocol         protocol; /* named after the file */
    bwl_compat_rules     rules;
    bwl_protocol_options options;     /* with these rules and this program */
    const char          *story;       /* the first comment; "" without one */
    const char          *story_zh;    /* the first that begins with zh: in Chinese */
    bwl_lock_trust       trust;       /* until when a program relies on the lock */
    uint8_t              sections[3]; /* the first operation of acquire, release, renew */
    uint8_t              ops_count;
    uint8_t              calls_count;
    uint8_t              texts_count;
    uint8_t              names_count;
    uint8_t              settings_count;
    uint8_t              worlds_count; /* lines with lab: */
    bwl_lock_op          ops[BWL_LOCK_FILE_OPS_MAX];
    bwl_call             calls[BWL_LOCK_FILE_CALLS_MAX];
    bwl_lock_text        texts[BWL_LOCK_FILE_TEXTS_MAX];
    const char          *names[BWL_LOCK_FILE_NAMES_MAX];
    bwl_lab_setting      settings[BWL_LAB_SETTINGS_MAX];
    char                 room[BWL_LOCK_FILE_ROOM]; /* of the names and texts above */
} bwl_lock_program;

/* A format, or words for one, in the language of the caller. */
typedef const char *bwl_translate(const char *english) __attribute__((format_arg(1)));

/* Where a file is wrong, from 1, and what was expected there. */
typedef struct bwl_lock_file_error {
    bwl_translate *translate; /* set by the caller; NULL: English */
    unsigned       line;
    unsigned       column;
    char           text[320];
} bwl_lock_file_error;

/* Reads a file.  `name`: of the protocol, copied; at most 60 bytes.  The program must not move
 * afterwards.  False: the file is wrong. */
bool bwl_lock_program_parse(bwl_lock_program *ret_program, const char *name, const char *bytes,
                            size_t size, bwl_lock_file_error *reterr);
