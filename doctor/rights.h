/*
 * rights.h -- what a user of Redis must be allowed, by what he does: commands, keys, channels.
 *
 * Each list is the least: a test takes every item away, one by one, and sees a step of the lock's
 * life fail; and it sees that no step does with all of them.
 */
#ifndef DOCTOR_RIGHTS_H
#define DOCTOR_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

enum { RIGHTS_MAX = 64, RIGHTS_ITEM_MAX = 1024, RIGHTS_USER_MAX = 128, RIGHTS_TEXT_MAX = 320 };

typedef enum rights_keys {
    RIGHTS_KEYS_NONE = 1,
    RIGHTS_KEYS_LOCK,  /* by the template of the URL                                          */
    RIGHTS_KEYS_QUEUE, /* these, and those beside them                                        */
    RIGHTS_KEYS_GIVEN, /* the caller of update says which                                     */
} rights_keys;

typedef struct rights_feature {
    const char *name;
    const char *words;
    const char *commands;          /* with blanks between them                                  */
    const char *commands_before_7; /* NULL: the same                                            */
    const char *useful;            /* works without, but: `useful_words`; NULL                  */
    const char *useful_words;
    rights_keys keys;
    bool        listens; /* has an inbox: a channel                                            */
    bool        renews_together; /* many in one command, but in a cluster each for itself       */
    bool        locks; /* is a lock: of these there is one                                   */
} rights_feature;

/* The i-th; NULL behind the last. */
const rights_feature *rights_feature_at(unsigned i);

typedef struct rights_wanted {
    const char *url;
    const char *features; /* names with commas between them; NULL: the lock of the URL          */
    const char *key;      /* the pattern of keys to update; NULL                                */
    bool        before_7;
} rights_wanted;

typedef struct rights {
    unsigned              count;
    const rights_feature *features[8];
    unsigned              features_count;
    const char           *more;       /* useful besides at this place; NULL                     */
    const char           *more_words; /* what with it                                           */
    char                  user[RIGHTS_USER_MAX]; /* of the URL; "": it names none               */
    char                  items[RIGHTS_MAX][RIGHTS_ITEM_MAX]; /* ~keys, then &channels, +commands */
} rights;

/* Below 0: and ret_why says why, without a secret. */
int rights_find(rights *ret_rights, const rights_wanted *wanted, char ret_why[RIGHTS_TEXT_MAX]);

#endif
