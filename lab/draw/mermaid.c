/*
 * mermaid.c -- a diagram for Mermaid.  See diagram.h.
 */
#include "lab/draw/diagram.h"
#include <string.h>

/* Mermaid has only level arrows, so a command that is executed later is an open arrow where it is
 * sent, and a note where the server executes it. */

/* In a text, ; and # are special characters.  < and > may be a tag, so they are written with the
 * wide signs. */
static bwl_text plain(bwl_text text)
{
    bwl_text said = { .of = "" };
    size_t   size = 0;

    for (const char *c = text.of; *c != '\0' && size + 4 < sizeof said.of; c++)
        if (*c == '<' || *c == '>') {
            memcpy(said.of + size, *c == '<' ? "\xef\xbc\x9c" : "\xef\xbc\x9e", 3);
            size += 3;
        } else {
            said.of[size++] = *c;
            if (*c == ';' || *c == '#')
                said.of[size - 1] = ',';
            else if ((unsigned char)*c < 32)
                said.of[size - 1] = ' ';
        }
    return said;
}

static void note_over(FILE *out, const char *who, bwl_text what)
{
    if (what.of[0] != '\0')
        bwl_put(out, "    Note over %s: %s\n", who, plain(what).of);
}

static void put_ask(FILE *out, const char *who, const bwl_row *row)
{
    bool has_effect = row->effect.of[0] != '\0';
    bool has_cause  = row->cause.of[0] != '\0';

    bwl_put(out, "    %s%sredis: %s%s%s\n", who, has_effect ? "->>" : "-)", plain(row->cause).of,
            has_cause ? ", " : "", plain(row->what).of);
    note_over(out, "redis", row->effect);
}

static void put_row(FILE *out, const bwl_row *row)
{
    char who[] = { bwl_client_name(row->client), '\0' };

    switch (row->kind) {
    case BWL_ROW_ASK: put_ask(out, who, row); break;
    case BWL_ROW_SERVED:
        note_over(out, "redis",
                  bwl_say(row->is_late ? "LATE %s: %s" : "%s: %s", row->what.of, row->effect.of));
        break;
    case BWL_ROW_ANSWER: bwl_put(out, "    redis-->>%s: %s\n", who, plain(row->what).of); break;
    case BWL_ROW_CLIENT:
        note_over(out, who, bwl_say(row->is_bad ? "\xc3\x97 %s" : "%s", row->what.of));
        break;
    case BWL_ROW_SERVER:
        note_over(out, "redis", bwl_say("%s, %s", row->what.of, row->effect.of));
        break;
    case BWL_ROW_TIME:
        bwl_put(out, "    Note over A,redis: %s%s%s\n", plain(row->what).of,
                row->effect.of[0] != '\0' ? ", " : "", plain(row->effect).of);
        break;
    }
    note_over(out, row->kind == BWL_ROW_SERVER ? "redis" : who, row->clock);
    note_over(out, who, row->note);
}

static void put_participant(FILE *out, const char *name, bwl_text clock)
{
    bwl_put(out, "    participant %s", name);
    if (clock.of[0] != '\0')
        bwl_put(out, " as %s (%s)", name, plain(clock).of);
    (void)fputc('\n', out);
}

void bwl_mermaid(FILE *out, const bwl_picture *picture)
{
    (void)fputs("sequenceDiagram\n", out);
    for (unsigned i = 0; i < picture->clients; i++)
        put_participant(out, (char[]){ bwl_client_name(i), '\0' }, picture->clocks[i]);
    put_participant(out, "redis", picture->clocks[picture->clients]);
    for (size_t i = 0; i < picture->rows_count; i++)
        put_row(out, &picture->rows[i]);
    note_over(out, "A,redis", picture->moral);
}
