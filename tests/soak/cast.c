/*
 * cast.c -- the members that share the locks: see soak.h.
 *
 * They are the same for each topology, without members of a lock that it does not have, without
 * foreign programs if it has none, and without commands if there is no command.
 */
#include "tests/soak/topology.h"

static const soak_member member_table[] = {
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .is_killable = true, .has_proxy = true },
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .is_killable = true, .has_proxy = true },
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .has_proxy = true },
    { .part = SOAK_COMMAND, .lock = RED, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 2 },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 2, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 1, .is_killable = true, .has_proxy = true },
    { .part = SOAK_FOREIGN, .lock = GREEN },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 1, .is_killable = true, .has_proxy = true },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 1, .has_proxy = true },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 2, .is_killable = true },
    { .part = SOAK_COMMAND, .lock = BLUE, .is_killable = true, .has_proxy = true },
    { .part = SOAK_LIBRARY, .lock = GREY, .threads = 1, .is_killable = true, .has_proxy = true },
    { .part = SOAK_LIBRARY, .lock = GREY, .threads = 2 },
    { .part = SOAK_FOREIGN, .lock = GREY },
    { .part = SOAK_LIBRARY, .lock = WOOD, .threads = 2, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = WOOD, .threads = 1 },
    { .part = SOAK_COMMAND, .lock = WOOD, .is_killable = true },
};

static bool is_needed(const soak_run *run, const soak_member *m)
{
    if (run->journal->locks[m->lock].name[0] == '\0')
        return false;
    if (m->part == SOAK_FOREIGN && !run->topology->has_foreign)
        return false;
    return m->part != SOAK_COMMAND || run->bowline != NULL;
}

void soak_start_members(soak_run *run)
{
    soak_journal *journal      = run->journal;
    const bool    uses_proxies = run->topology->weights[SOAK_CUT] > 0;

    for (size_t i = 0; i < sizeof member_table / sizeof member_table[0]; i++) {
        if (!is_needed(run, &member_table[i]))
            continue;
        soak_member *m = &journal->members[journal->members_count];
        *m             = member_table[i];
        m->has_proxy   = m->has_proxy && uses_proxies;
        run->topology->set_url(run, journal->members_count++);
    }
    for (unsigned i = 0; i < journal->members_count; i++)
        soak_start_member(run, i);
}
