/*
 * rights.h -- the permissions that a Redis user needs for a task: commands, keys, channels.
 *
 * Each list is minimal: a test removes each item and sees a step of the lock fail, and sees no step
 * fail with all of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RIGHTS_MAX = 64, RIGHTS_ITEM_MAX = 1024, RIGHTS_USER_MAX = 128, RIGHTS_TEXT_MAX = 320 };

typedef enum rights_keys {
    RIGHTS_KEYS_NONE = 1,
    RIGHTS_KEYS_LOCK,  /* from the template of the URL */
    RIGHTS_KEYS_QUEUE, /* these, and the keys of the queue */
    RIGHTS_KEYS_GIVEN, /* from --key */
} rights_keys;

typedef struct rights_feature {
    const char *name;
    const char *words;
    const char *commands;          /* separated by blanks                            */
    const char *commands_before_7; /* NULL: the same                                 */
    const char *useful;            /* optional permissions, for `useful_words`; NULL */
    const char *useful_words;
    rights_keys keys;
    bool        uses_push;       /* has a push channel */
    bool        renews_together; /* renews several locks by one command, except in a cluster */
    bool        locks;           /* is a lock: a rule has exactly one */
} rights_feature;

const rights_feature *rights_feature_at(unsigned i);

typedef struct rights_wanted {
    const char *url;
    const char *features; /* separated by commas; NULL: the lock of the URL */
    const char *key;      /* pattern of the keys to update; NULL */
    bool        before_7;
} rights_wanted;

typedef struct rights {
    unsigned              count;
    const rights_feature *features[8];
    unsigned              features_count;
    const char           *more;                  /* optional permission for this topology; NULL */
    const char           *more_words;            /* what it gives */
    const char           *at_sentinels;          /* for a user at the sentinels; NULL: none */
    char                  user[RIGHTS_USER_MAX]; /* of the URL; "": none */
    rights_feature        file;                  /* the lock of a lock file */
    char                  items[RIGHTS_MAX][RIGHTS_ITEM_MAX]; /* ~keys, then &channels, +commands */
} rights;

/* Below 0: ret_why has the reason, without a secret. */
int rights_find(rights *ret_rights, const rights_wanted *wanted, char ret_why[RIGHTS_TEXT_MAX]);
