/*
 * tickets.h -- holds that the programs of a world pass on to each other as tickets: those that are
 * on their way, and what must be true of them.
 *
 * A ticket reaches one program, two at the same time, or none; at once or later, also when its lock
 * has ended.  Of several imports one at most is OK, and it has the fence of the export.
 */
#pragma once

#include "sim/load/program.h"

/* What an import has taken over. */
typedef struct load_imported {
    bowline_hold *hold;
    check_hold   *claim;
    unsigned      name;
    int64_t       max_hold_ms;
} load_imported;

/* No ticket is on its way. */
void load_tickets_begin(void);

/* When the last hold ends that was exported, if it was not imported. */
int64_t load_tickets_end_at(void);

/* A ticket is there for this program; how long to wait until it should look again. */
bool    load_has_ticket(const load_program *program);
int64_t load_ticket_pause_ms(const load_program *program);

/* The text has a part of a ticket that must stay secret. */
bool load_tells_ticket(const char *text);

/* Blocks.  True: the hold is freed, and the program must not rely on it.  A hold that shares its
 * lock is not exported. */
bool load_export(load_program *program, bowline_hold *hold, check_share share, unsigned name);

/* Blocks, for wait_ms and a reply.  True: the program relies on it.  False: it failed. */
bool load_import(load_program *program, int64_t wait_ms, load_imported *ret_imported);
