/*
 * many_explore.c -- breadth first through worlds with several servers, as explore.c does it through
 * those with one: the first broken law that is met was reached on a shortest way.
 *
 * Of the worlds that are not gone on from yet, what differs from the first world is kept.
 */
#include "lab/base/grow.h"
#include "lab/search/many_explore.h"
#include "lab/search/seen.h"
#include <stdlib.h>
#include <string.h>

enum {
    WORDS      = sizeof(bwl_many_world) / 8,
    GROUPS     = (WORDS + 63) / 64,
    PACKED_MAX = GROUPS * 8 + WORDS * 8,
    BLOCK      = 1 << 20,
};

_Static_assert(sizeof(bwl_many_world) % 8 == 0, "a world is compared 8 bytes at a time");

/* Packed worlds, one behind the other. */
typedef struct queue {
    struct block *first;
    struct block *last;
    size_t        taken;
    uint64_t      count;
} queue;

typedef struct block {
    struct block *next;
    size_t        used;
    uint8_t       bytes[BLOCK];
} block;

typedef struct explorer {
    const bwl_many_scenario *scenario;
    bwl_memory               memory;
    bwl_seen                 seen;
    queue                    queue;
    bwl_many_world           first;
    bwl_many_world           from;
    bwl_many_world           to;
    uint32_t                 number;
    bwl_many_finding         found;
} explorer;

static uint64_t word_of(const bwl_many_world *w, size_t i)
{
    uint64_t word;

    memcpy(&word, (const uint8_t *)w + 8 * i, sizeof word);
    return word;
}

static void keep(explorer *x)
{
    queue   *q            = &x->queue;
    uint64_t bits[GROUPS] = { 0 };

    if (q->last == NULL || q->last->used + PACKED_MAX > BLOCK) {
        block *new_one = bwl_room_for(1, sizeof *new_one);
        if (q->last != NULL)
            q->last->next = new_one;
        else
            q->first = new_one;
        q->last = new_one;
    }
    uint8_t *start = q->last->bytes + q->last->used;
    uint8_t *at    = start + sizeof bits;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t word = word_of(&x->to, i);
        if (word == word_of(&x->first, i))
            continue;
        bits[i / 64] |= UINT64_C(1) << i % 64;
        memcpy(at, &word, sizeof word);
        at += sizeof word;
    }
    memcpy(start, bits, sizeof bits);
    q->last->used += (size_t)(at - start);
    q->count++;
}

static void take(explorer *x)
{
    queue   *q = &x->queue;
    uint64_t bits[GROUPS];

    if (q->taken == q->first->used) {
        block *empty = q->first;
        q->first     = empty->next;
        q->taken     = 0;
        free(empty);
    }
    const uint8_t *at = q->first->bytes + q->taken;
    memcpy(bits, at, sizeof bits);
    at += sizeof bits;
    x->from = x->first;
    for (size_t i = 0; i < WORDS; i++) {
        if ((bits[i / 64] >> i % 64 & 1) == 0)
            continue;
        memcpy((uint8_t *)&x->from + 8 * i, at, 8);
        at += 8;
    }
    q->taken = (size_t)(at - q->first->bytes);
    q->count--;
}

static void found_broken(explorer *x, bwl_choice last, unsigned broken)
{
    unsigned count = 1;

    for (uint32_t at = x->number; at != 0; at = bwl_seen_at(&x->seen, at)->parent)
        count++;
    x->found.broken        = broken;
    x->found.path          = bwl_room_for(count, sizeof last);
    x->found.path_count    = count;
    x->found.path[--count] = last;
    for (uint32_t at = x->number; at != 0; at = bwl_seen_at(&x->seen, at)->parent)
        x->found.path[--count] = bwl_seen_at(&x->seen, at)->choice;
}

static void meet(explorer *x, bwl_choice choice, uint32_t parent)
{
    uint32_t number = 0;
    bwl_met  met    = bwl_seen_add(&x->seen,
                                   &(bwl_seen_world){ .fingerprint = bwl_many_fingerprint(&x->to),
                                                      .parent      = parent,
                                                      .choice      = choice },
                                   &number);

    if (met == BWL_MET_NEW)
        keep(x);
    else if (met == BWL_MET_NO_ROOM)
        x->found.is_cut = true;
}

static void try_choice(explorer *x, bwl_choice choice)
{
    x->to = x->from;
    bwl_many_perform(&x->to, choice);
    if (x->to.got_lock)
        x->found.locks++;
    unsigned broken = bwl_many_broken(&x->to) & x->scenario->laws;
    if (broken != 0)
        found_broken(x, choice, broken);
    else
        meet(x, choice, x->number);
}

static void search(explorer *x, uint32_t states_max)
{
    bwl_choices choices;
    uint32_t    next_generation = 1;

    x->to = x->first;
    meet(x, (bwl_choice){ 0 }, BWL_NOBODY);
    for (x->number = 0; x->queue.count > 0 && x->found.broken == 0 && !x->found.is_cut;
         x->number++) {
        if (x->number == next_generation) {
            next_generation = x->seen.count;
            x->found.depth++;
        }
        take(x);
        bwl_many_choices(&x->from, &choices);
        for (unsigned i = 0; i < choices.count && x->found.broken == 0; i++)
            try_choice(x, choices.list[i]);
        if (x->seen.count >= states_max)
            x->found.is_cut = true;
    }
}

bwl_many_finding bwl_many_explore(const bwl_many_scenario *s, uint32_t states_max)
{
    explorer        *x       = bwl_room_for(1, sizeof *x);
    double           started = bwl_seconds();
    bwl_many_finding found;

    x->scenario = s;
    bwl_many_start(&x->first, s);
    bwl_seen_start(&x->seen, &x->memory);
    search(x, states_max);
    x->found.states  = x->seen.count;
    x->found.seconds = bwl_seconds() - started;
    bwl_seen_free(&x->seen);
    while (x->queue.first != NULL) {
        block *next = x->queue.first->next;
        free(x->queue.first);
        x->queue.first = next;
    }
    found = x->found;
    free(x);
    return found;
}

void bwl_many_finding_free(bwl_many_finding *finding)
{
    free(finding->path);
    *finding = (bwl_many_finding){ 0 };
}
