/*
 * test_optimistic_pair.c -- no lost update: two machines add to one number, in every order of their
 * words, while a stranger writes once, and connections break, answers are lost, and writes arrive
 * late.
 *
 * The store is a number and a version, which every write moves on; a section remembers the version
 * that it has read.  The law: in the end every addition that was told WRITTEN is in the number
 * once, one that was told UNKNOWN is in it once or not at all, every other one is not, and nobody
 * has written over anybody.  It is tried on stores that are wrong as well, to see that it would
 * notice.
 */
#include "lock/optimistic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ACTORS = 2, STRANGER = 100, TRIES = 3 };

typedef enum fault {
    NO_FAULT,
    BROKEN,      /* the connection, before the server has read it                                */
    ANSWER_LOST, /* it was carried out */
    LATE,        /* as BROKEN, and it is carried out some time                                  */
    FAULTS,
} fault;

typedef enum wrong { RIGHT = 1, DOES_NOT_WATCH, TRIES_AGAIN } wrong;

typedef struct actor {
    bwl_optimistic      machine;
    bwl_optimistic_next next;
    int                 seen;
    unsigned            watched;
    unsigned            added;
    bool                is_late; /* a write of it is under way still, that it will not hear of */
    int                 late_seen;
    unsigned            late_watched;
} actor;

typedef struct world {
    int      number;
    unsigned version;
    bool     stranger_came;
    unsigned faults_left;
    actor    actors[ACTORS];
} world;

static wrong    store_is;
static unsigned ends;
static unsigned broken_laws;
static unsigned unknowns;
static unsigned conflicts;

static bool carry_out(world *w, actor *a, unsigned watched, int seen)
{
    if (watched != w->version && store_is != DOES_NOT_WATCH)
        return false;
    w->number = seen + 1;
    w->version++;
    a->added++;
    return true;
}

static bwl_optimistic_next hears(actor *a, bwl_event_kind kind, bwl_answer answer)
{
    bwl_event ev = { .kind = kind, .answer = answer, .now = 1000 };

    return bwl_optimistic_event(&a->machine, &ev);
}

static void read_number(world *w, actor *a, fault f)
{
    if (f != NO_FAULT) {
        a->next = hears(a, BWL_DOWN, 0);
        return;
    }
    a->seen    = w->number;
    a->watched = w->version;
    a->next    = hears(a, BWL_REPLY, BWL_YES);
}

static void write_number(world *w, actor *a, fault f)
{
    bool done = false;

    if (f == NO_FAULT || f == ANSWER_LOST)
        done = carry_out(w, a, a->watched, a->seen);
    if (f == LATE) {
        a->is_late      = true;
        a->late_seen    = a->seen;
        a->late_watched = a->watched;
    }
    if (f == NO_FAULT) {
        a->next = hears(a, BWL_REPLY, done ? BWL_YES : BWL_NO);
        return;
    }
    a->next = hears(a, BWL_DOWN, 0);
    if (store_is == TRIES_AGAIN && a->next.want == BWL_WANT_END)
        a->next = bwl_optimistic_begin(&a->machine, TRIES, BWL_NEVER);
}

static void step(world *w, actor *a, fault f)
{
    if (f != NO_FAULT)
        w->faults_left--;
    switch (a->next.want) {
    case BWL_WANT_READ: read_number(w, a, f); break;
    case BWL_WANT_COMPUTE: a->next = bwl_optimistic_computed(&a->machine, BWL_CHOICE_WRITE); break;
    case BWL_WANT_WRITE: write_number(w, a, f); break;
    case BWL_WANT_PAUSE: a->next = hears(a, BWL_ALARM, 0); break;
    case BWL_WANT_LEAVE:
    case BWL_WANT_END: fail();
    }
}

static void judge(const world *w)
{
    unsigned added = 0;
    bool     fair  = true;

    for (unsigned i = 0; i < ACTORS; i++) {
        const actor *a = &w->actors[i];
        added += a->added;
        conflicts += a->machine.conflicts;
        if (a->next.end == BWL_UPDATE_WRITTEN)
            fair = fair && a->added == 1;
        else if (a->next.end == BWL_UPDATE_UNKNOWN)
            fair = fair && a->added <= 1;
        else
            fair = fair && a->added == 0;
        unknowns += a->next.end == BWL_UPDATE_UNKNOWN;
    }
    ends++;
    broken_laws += !fair || w->number != STRANGER + (int)added;
}

static bool has_faults(const actor *a)
{
    return a->next.want == BWL_WANT_READ || a->next.want == BWL_WANT_WRITE;
}

/* Every next step of everybody. */
static void explore(const world *from)
{
    bool  moved = false;
    world w;

    for (unsigned i = 0; i < ACTORS; i++) {
        const actor *a = &from->actors[i];
        if (a->is_late) {
            w                   = *from;
            w.actors[i].is_late = false;
            (void)carry_out(&w, &w.actors[i], a->late_watched, a->late_seen);
            explore(&w);
            moved = true;
        }
        if (a->next.want == BWL_WANT_END)
            continue;
        for (fault f = NO_FAULT; f < FAULTS; f++) {
            bool is_last = from->faults_left == 0 || !has_faults(a);
            if (f != NO_FAULT && is_last)
                break;
            w = *from;
            step(&w, &w.actors[i], f);
            explore(&w);
        }
        moved = true;
    }
    if (!from->stranger_came) {
        w               = *from;
        w.stranger_came = true;
        w.number += STRANGER;
        w.version++;
        explore(&w);
        moved = true;
    }
    if (!moved)
        judge(from);
}

static void play(wrong is, unsigned faults)
{
    world w = { .faults_left = faults };

    store_is    = is;
    ends        = 0;
    broken_laws = 0;
    unknowns    = 0;
    conflicts   = 0;
    for (unsigned i = 0; i < ACTORS; i++)
        w.actors[i].next = bwl_optimistic_begin(&w.actors[i].machine, TRIES, BWL_NEVER);
    explore(&w);
    assert_true(ends > 0);
}

static void test_no_update_is_lost_in_any_order(void **state)
{
    (void)state;
    play(RIGHT, 0);
    assert_int_equal(broken_laws, 0);
    assert_int_equal(unknowns, 0);
    assert_true(conflicts > 0);
}

static void test_nor_with_a_fault_anywhere(void **state)
{
    (void)state;
    play(RIGHT, 1);
    assert_int_equal(broken_laws, 0);
    assert_true(unknowns > 0);
}

static void test_law_notices_a_store_that_does_not_watch(void **state)
{
    (void)state;
    play(DOES_NOT_WATCH, 0);
    assert_true(broken_laws > 0);
}

static void test_law_notices_who_tries_again_what_may_have_been_done(void **state)
{
    (void)state;
    play(TRIES_AGAIN, 1);
    assert_true(broken_laws > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_update_is_lost_in_any_order),
        cmocka_unit_test(test_nor_with_a_fault_anywhere),
        cmocka_unit_test(test_law_notices_a_store_that_does_not_watch),
        cmocka_unit_test(test_law_notices_who_tries_again_what_may_have_been_done),
    };

    return cmocka_run_group_tests_name("optimistic_pair", tests, NULL, NULL);
}
