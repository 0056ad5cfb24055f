/*
 * cast.c -- the members that share the locks: see soak.h.
 *
 * Without the command there are no members that are commands.
 */
#include "tests/soak/soak.h"

static const soak_member member_table[] = {
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1 },
    { .part = SOAK_COMMAND, .lock = RED, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 2 },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 2, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 1, .is_killable = true },
    { .part = SOAK_FOREIGN, .lock = GREEN },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 1, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 1 },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 2, .is_killable = true },
    { .part = SOAK_COMMAND, .lock = BLUE, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = GREY, .threads = 1, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = GREY, .threads = 2 },
    { .part = SOAK_FOREIGN, .lock = GREY },
    { .part = SOAK_LIBRARY, .lock = WOOD, .threads = 2, .is_killable = true },
    { .part = SOAK_LIBRARY, .lock = WOOD, .threads = 1 },
    { .part = SOAK_COMMAND, .lock = WOOD, .is_killable = true },
};

void soak_start_members(soak_run *run)
{
    soak_journal *journal = run->journal;

    for (size_t i = 0; i < sizeof member_table / sizeof member_table[0]; i++) {
        if (member_table[i].part == SOAK_COMMAND && run->bowline == NULL)
            continue;
        journal->members[journal->members_count] = member_table[i];
        soak_set_url(run, journal->members_count++);
    }
    for (unsigned i = 0; i < journal->members_count; i++)
        soak_start_member(run, i);
}
