/*
 * profile.h -- the exact keys and values of other people's locks, as a table.
 *
 * A profile is data: a protocol that there is anyway, the rules by which that program follows it,
 * the form of its keys and values, and what it wants to be told on a release.  What a profile adds
 * to a protocol is bytes, never behaviour of its own.
 */
#pragma once

#include "core/compat_rules.h"
#include "engine/redis/wire/key.h"
#include "engine/redis/wire/signal.h"

/* The forms that values of the other program have beside the form in which bowline writes its own.
 * They are only read: to tell a lock of that program from bytes that may be anything. */
typedef enum bwl_their_form {
    BWL_THEIRS_AS_OURS = 0,
    BWL_THEIRS_24_BYTES,  /* any 24 bytes                                                        */
    BWL_THEIRS_32_BYTES,  /* any 32 bytes                                                        */
    BWL_THEIRS_DATE_HOST, /* ADDED:2026-11-22T00:31:00.123Z@ and at least one character          */
    BWL_THEIRS_HOST_PID,  /* HOST_PID_ and a token in our form                                   */
    BWL_THEIRS_METADATA,  /* a token in our form, and any bytes behind it                        */
} bwl_their_form;

typedef struct bwl_profile {
    const char     *name;
    const char     *program;  /* whose locks these are, and of which versions                   */
    const char     *protocol; /* the name of one of ours                                        */
    const char     *key;      /* the template of its keys; see takes_prefix                     */
    bool            takes_prefix; /* its keys begin with a word of the user's, for key= to say  */
    bool            names_host;   /* its values begin with HOST_PID_                            */
    bool            is_of_many;   /* may be shared on several servers: redlock://               */
    bwl_their_form  theirs;
    const char     *wants_key; /* why key= is to be given, in whatever form; NULL: it need not be */
    bwl_signal_kind signal;
    const char     *signal_name; /* of the list or channel: %s the name, %p what comes before
                                  * `key` in the template that is used                          */
    const char     *second_name; /* of a second channel, likewise; NULL: there is none           */
    const char     *fault; /* what is wrong with sharing this lock; NULL: nothing               */
    const char     *note;  /* what there is to know; NULL: nothing                              */
    const bwl_compat_rules *rules;
} bwl_profile;

/* The i-th; NULL behind the last. */
const bwl_profile *bwl_profile_at(size_t i);

/* NULL: there is none of this name. */
const bwl_profile *bwl_profile_named(const char *name);

/* The i-th name; NULL behind the last. */
const char *bwl_profile_name_at(size_t i);

/* What is wrong with giving this profile that template of the user's (NULL: none was given), or
 * NULL. */
const char *bwl_profile_template_fault(const bwl_profile *profile, const char *template);

/* Is it a value that bowline or the other program writes?  `rules` are the ones in use.  The stamp
 * of the value, 0 if it has none. */
bool bwl_profile_reads(const bwl_profile *profile, const bwl_compat_rules *rules, const char *value,
                       size_t size, int64_t *ret_timestamp);

enum { BWL_SIGNAL_MAX = 3 * BWL_KEY_MAX }; /* bytes in the name of a list or channel            */

/* The name of the list or channel that a release of this lock signals, which has no NUL behind it:
 * its size.  `template` is the one that is used for the key. */
size_t bwl_profile_signal_write(char ret_name[BWL_SIGNAL_MAX], const bwl_profile *profile,
                                const char *template, const char *name, size_t name_size);

/* The same of the second channel; 0: the profile has none. */
size_t bwl_profile_second_signal_write(char ret_name[BWL_SIGNAL_MAX], const bwl_profile *profile,
                                       const char *template, const char *name, size_t name_size);
