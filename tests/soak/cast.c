/*
 * cast.c -- who shares the locks: see soak.h.
 *
 * The same for every topology, but for those who share a lock that it does not have, strangers
 * where there are none, and commands where there is no command.
 */
#include "tests/soak/topology.h"

static const soak_member cast[] = {
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .has_line = true },
    { .part = SOAK_COMMAND, .lock = RED, .is_mortal = true },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 2 },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 2, .is_mortal = true },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_STRANGER, .lock = GREEN },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 1, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 2, .is_mortal = true },
    { .part = SOAK_COMMAND, .lock = BLUE, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = GREY, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = GREY, .threads = 2 },
    { .part = SOAK_STRANGER, .lock = GREY },
    { .part = SOAK_LIBRARY, .lock = WOOD, .threads = 2, .is_mortal = true },
    { .part = SOAK_LIBRARY, .lock = WOOD, .threads = 1 },
    { .part = SOAK_COMMAND, .lock = WOOD, .is_mortal = true },
};

static bool is_needed(const soak_run *run, const soak_member *m)
{
    if (run->journal->locks[m->lock].name[0] == '\0')
        return false;
    if (m->part == SOAK_STRANGER && !run->topology->has_strangers)
        return false;
    return m->part != SOAK_COMMAND || run->bowline != NULL;
}

void soak_engage(soak_run *run)
{
    soak_journal *journal = run->journal;
    const bool    is_cut  = run->topology->weights[SOAK_CUT] > 0;

    for (size_t i = 0; i < sizeof cast / sizeof cast[0]; i++) {
        if (!is_needed(run, &cast[i]))
            continue;
        soak_member *m = &journal->cast[journal->cast_count];
        *m             = cast[i];
        m->has_line    = m->has_line && is_cut;
        run->topology->reach(run, journal->cast_count++);
    }
    for (unsigned i = 0; i < journal->cast_count; i++)
        soak_hire(run, i);
}
