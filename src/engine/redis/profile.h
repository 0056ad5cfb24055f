/*
 * profile.h -- the exact keys and values of other programs' locks, as a table.
 *
 * A profile is data: an existing protocol, the rules by which that program follows it, the format
 * of its keys and values, and the signal it expects on a release.  A profile adds formats to a
 * protocol, never behaviour.
 */
#pragma once

#include "protocol/format/compat_rules.h"
#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/key.h"

/* Formats of the other program's values besides the one that bowline writes.  They are only read,
 * to tell a lock of that program from arbitrary bytes. */
typedef enum bwl_their_form {
    BWL_THEIRS_AS_OURS = 0,
    BWL_THEIRS_24_BYTES,  /* any 24 bytes                                               */
    BWL_THEIRS_32_BYTES,  /* any 32 bytes                                               */
    BWL_THEIRS_DATE_HOST, /* ADDED:2026-11-22T00:31:00.123Z@ and at least one character */
    BWL_THEIRS_HOST_PID,  /* HOST_PID_ and a token in our format                        */
    BWL_THEIRS_METADATA,  /* a token in our format, followed by any bytes               */
} bwl_their_form;

typedef struct bwl_profile {
    const char     *name;
    const char     *program;      /* the program whose locks these are, and its versions */
    const char     *protocol;     /* name of one of bowline's protocols                  */
    const char     *key;          /* key template; see takes_prefix                      */
    bool            takes_prefix; /* the user must give the prefix of the keys with key= */
    bool            names_host;   /* its values begin with HOST_PID_                     */
    bool            is_of_many;   /* may be used on several servers: redlock://          */
    bwl_their_form  theirs;
    const char     *wants_key; /* why key= is required; NULL: it is optional */
    bwl_signal_kind signal;
    /* Of the list or channel that a release signals, and of a second channel (NULL: none).  %s is
     * the name of the lock, %p the part of the key template before `key`. */
    const char             *signal_name;
    const char             *second_name;
    const char             *fault; /* what is unsafe about sharing this lock; NULL: nothing */
    const char             *note;  /* a remark for the user; NULL: none */
    const bwl_compat_rules *rules;
} bwl_profile;

/* The row with index i; NULL: i is past the last row. */
const bwl_profile *bwl_profile_at(size_t i);

/* NULL: no profile has this name. */
const bwl_profile *bwl_profile_named(const char *name);

/* The name of row i; NULL: i is past the last row. */
const char *bwl_profile_name_at(size_t i);

/* Why this profile cannot be used with the user's key template (NULL: none was given); NULL: it
 * can. */
const char *bwl_profile_template_fault(const bwl_profile *profile, const char *template);

/* Whether bowline or the other program can have written this value.  `rules` are those in use.
 * *ret_timestamp: the timestamp in the value, 0 if it has none. */
bool bwl_profile_reads(const bwl_profile *profile, const bwl_compat_rules *rules, const char *value,
                       size_t size, int64_t *ret_timestamp);

enum { BWL_SIGNAL_MAX = 3 * BWL_KEY_MAX }; /* bytes in the name of a list or channel            */

typedef struct bwl_signal_names {
    char bytes[2][BWL_SIGNAL_MAX];
} bwl_signal_names;

/* What a release of the lock with this name signals.  `template` is the key template in use. */
bwl_signal bwl_profile_signal(bwl_signal_names *ret_names, const bwl_profile *profile,
                              const char *template, bwl_bytes                 name);
