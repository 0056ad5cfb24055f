/*
 * counter.h -- functions for bowline_update: one that counts, and can call the test between read
 * and write; and one with a fixed result.
 */
#pragma once

#include "tests/lib/testing.h"

#include <bowline/update.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct counter {
    void (*between)(void *arg, unsigned call); /* NULL; call counts from 1                      */
    void    *arg;
    unsigned calls;
    char     text[24];
    char     before[24]; /* the value of the last call; "-": no key */
} counter;

static inline int count_one(bowline_change *change, void *context)
{
    counter *c = context;

    c->calls++;
    assert(change->size == sizeof *change && change->value == NULL && change->reserved == 0);
    (void)snprintf(c->before, sizeof c->before, "%s",
                   change->old_value != NULL ? change->old_value : "-");
    if (c->between != NULL)
        c->between(c->arg, c->calls);
    long long sum      = change->old_value != NULL ? atoll(change->old_value) : 0;
    change->value      = c->text;
    change->value_size = (size_t)snprintf(c->text, sizeof c->text, "%lld", sum + 1);
    return BOWLINE_UPDATE_WRITE;
}

/* Adds one; repeats until success or an error. */
static inline int count_on(bowline_client *client, const char *key, uint32_t *ret_conflicts,
                           bowline_error *reterr)
{
    counter c = { .calls = 0 };

    return bowline_update(
        client, key, count_one, &c,
        BOWLINE_UPDATE(.wait_ms = BOWLINE_FOREVER, .ret_conflicts = ret_conflicts), reterr);
}

/* A fixed result of the function. */
typedef struct wanted {
    int         choice;
    const char *value;
    size_t      size;
    int64_t     lasts_ms;
    unsigned    calls;
    size_t      old_size;
    char        old_value[64];
    bool        was_there;
} wanted;

static inline int want(bowline_change *change, void *context)
{
    wanted *w = context;

    w->calls++;
    w->was_there = change->old_value != NULL;
    w->old_size  = change->old_size;
    if (w->was_there && w->old_size < sizeof w->old_value)
        memcpy(w->old_value, change->old_value, w->old_size + 1);
    change->value      = w->value;
    change->value_size = w->size;
    change->lasts_ms   = w->lasts_ms;
    return w->choice;
}
