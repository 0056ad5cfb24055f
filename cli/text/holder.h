/*
 * holder.h -- how a holder is written: in a sentence (run, break), in a line of parts (who, ls,
 * watch), in a row of a table (ls, top), and as JSON.  The only place that does.
 *
 * What is not known is left out.  Nothing shows the arguments of a command: a store has none.
 */
#pragma once

#include <bowline/bowline.h>

#include "cli/text/say.h"

/* "held by deploy@web-2 pid 4120 (bowline run pg_dump) for 3m12s, command pid 4121"; "done by
 * ann@web-2 at 03:00:04, next in 23h58m".  It is held, or done. */
words holder_words(const bowline_holder *holder);

/* The parts of a line, in their order. */
typedef enum holder_part {
    HOLDER_PERSON = 1, /* "ann@web-2"           */
    HOLDER_PROGRAM,    /* "pg_dump (pid 4121)"  */
    HOLDER_SHARED,     /* "shared by 3", or "1 of 4 permits" */
    HOLDER_HELD,       /* "held 3m12s"          */
    HOLDER_LEASE,      /* "lease 21s left"      */
    HOLDER_FENCE,      /* "fence 1838462"       */
    HOLDER_WAITING,    /* "2 waiting"           */
    HOLDER_NOTE,
    HOLDER_PARTS = HOLDER_NOTE,
} holder_part;

/* Writes the name, the parts and `more` (may be NULL) as one line to standard output, with two
 * blanks between them.  A line that is wider than `columns` has only the beginning of the fence:
 * "fence 18384…".  Of a lock that is free, or done, the parts are "free", or as above,
 * and HOLDER_WAITING. */
void holder_write_line(const char *name, const bowline_holder *holder, const char *more,
                       size_t columns);

/* The same for one of those that share the lock, under that line: without a name, and with its
 * permits.  `with_id`: and with its id, which bowline break takes. */
void holder_write_share(const bowline_holder *share, bool with_id, size_t columns);

/* A table: how wide each part is, and how it is written.  [0] is the name. */
typedef struct holder_table {
    size_t widths[HOLDER_PARTS + 1];
    bool   has_short_fences;
    bool   has_titles; /* the first row has titles, so the cells have no words around the values */
} holder_table;

/* Bytes of a row: of each cell, and of the blanks before the next one. */
enum { HOLDER_ROW_MAX = 2 * (HOLDER_PARTS + 1) * WORDS_MAX };

/* Makes the columns wide enough for this holder, which is held. */
void holder_table_fit(holder_table *t, const bowline_holder *holder);

/* The width of a row. */
size_t holder_table_width(const holder_table *t);

/* Writes a row, or with NULL the titles.  A column that is empty in all rows is left out. */
void holder_table_row(char ret_row[HOLDER_ROW_MAX], const holder_table *t,
                      const bowline_holder *holder);

/* bowline_who does not show of how many permits those of a lock are; `shares`, all who hold it as
 * bowline_holders shows them, do.  If all have permits of the same limit, the holder gets it. */
void holder_learn_limit(bowline_holder *holder, const bowline_holder shares[], int count);

/* "exclusive", "shared" or "permits"; NULL: not known, or clients hold it in several modes.  shares
 * as above; without them a share is not told from a single permit.  Of one share: it itself is
 * `shares`. */
const char *holder_mode(const bowline_holder *holder, const bowline_holder shares[], int count);

/* Writes what is known as keys of the JSON object that is open, without the name.  mode: as
 * holder_mode. */
void holder_write_json(const bowline_holder *holder, const char *mode);
