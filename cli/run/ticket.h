/*
 * ticket.h -- the file of a ticket: `bowline hold --ticket` writes it, `bowline run --ticket` reads
 * it.
 *
 * A ticket is a secret.  Its file has mode 600, and one that others can read is refused.  It is
 * whole or not there: it is written under another name in the same directory and then linked to its
 * own name, which must be free.
 */
#pragma once

#include <limits.h>

#include "cli/run/job.h"

typedef struct ticket_file {
    const char *path;
    int         fd;
    char        draft[PATH_MAX]; /* the other name */
} ticket_file;

/* Creates the file under its other name.  Call it before the lock is acquired. */
int ticket_begin(ticket_file *ret_file, const char *path, failure *reterr);

/* Writes the ticket to the disk and gives the file its name. */
int ticket_end(ticket_file *file, const char *ticket, failure *reterr);

/* Removes what ticket_begin has created. */
void ticket_abandon(ticket_file *file);

/* Takes over the lock of the job by the ticket in this file, and removes the file.  Does not wait:
 * the store is asked once. */
int ticket_import(job *j, const char *path, failure *reterr);
