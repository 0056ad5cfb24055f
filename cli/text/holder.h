/*
 * holder.h -- how a holder is written: in a sentence (run, break), in a line of parts (who, ls,
 * watch), in a table (top), and as JSON.  The only place that does.
 *
 * What is not known is left out.  Nothing shows the arguments of a command: a store has none.
 */
#pragma once

#include <bowline/bowline.h>

#include "cli/text/say.h"

/* "held by deploy@web-2 pid 4121 (bowline run pg_dump) for 3m12s".  It is held. */
words holder_words(const bowline_holder *holder);

/* The parts of a line, in their order. */
typedef enum holder_part {
    HOLDER_PERSON = 1, /* "ann@web-2"           */
    HOLDER_PROGRAM,    /* "pg_dump (pid 4121)"  */
    HOLDER_HELD,       /* "held 3m12s"          */
    HOLDER_LEASE,      /* "lease 21s left"      */
    HOLDER_FENCE,      /* "fence 1838462"       */
    HOLDER_WAITING,    /* "2 waiting"           */
    HOLDER_NOTE,
    HOLDER_PARTS = HOLDER_NOTE,
} holder_part;

/* A part, escaped; "": not known.  A lock that is free has only HOLDER_PERSON, which is "free", and
 * HOLDER_WAITING. */
words holder_part_of(const bowline_holder *holder, holder_part part);

/* Writes the name, the parts and `more` (may be NULL) as one line to standard output, with two
 * blanks between them.  A line that is wider than `columns` has only the beginning of the fence:
 * "fence 18384…". */
void holder_write_line(const char *name, const bowline_holder *holder, const char *more,
                       size_t columns);

/* The same as keys of the JSON object that is open, without the name. */
void holder_write_json(const bowline_holder *holder);
