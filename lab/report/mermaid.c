/*
 * mermaid.c -- see mermaid.h.
 *
 * Mermaid has arrows that are level only, so a question that is carried out later is an open arrow
 * where it is asked, and a note where the server gets to it.  It takes ; and # in a text for its
 * own.
 */
#include "lab/report/mermaid.h"
#include "lab/report/names.h"

static bwl_text plain(bwl_text text)
{
    for (char *c = text.of; *c != '\0'; c++)
        if (*c == ';' || *c == '#' || *c == '<' || *c == '>')
            *c = ',';
    return text;
}

static void note_over(FILE *out, const char *who, bwl_text what)
{
    if (what.of[0] != '\0')
        (void)fprintf(out, "    Note over %s: %s\n", who, plain(what).of);
}

static void put_ask(FILE *out, const char *who, const bwl_row *row)
{
    bool has_effect = row->effect.of[0] != '\0';
    bool has_cause  = row->cause.of[0] != '\0';

    (void)fprintf(out, "    %s%sredis: %s%s%s\n", who, has_effect ? "->>" : "-)",
                  plain(row->cause).of, has_cause ? ", " : "", plain(row->what).of);
    note_over(out, "redis", row->effect);
}

static void put_time(FILE *out, const bwl_row *row)
{
    (void)fprintf(out, "    Note over A,redis: %s%s%s\n", plain(row->what).of,
                  row->effect.of[0] != '\0' ? ", " : "", plain(row->effect).of);
}

static void put_row(FILE *out, const bwl_row *row)
{
    char who[] = { bwl_client_name(row->client), '\0' };

    switch (row->kind) {
    case BWL_ROW_ASK: put_ask(out, who, row); break;
    case BWL_ROW_SERVED:
        note_over(out, "redis",
                  bwl_say("%s%s: %s", row->is_late ? "LATE " : "", row->what.of, row->effect.of));
        break;
    case BWL_ROW_ANSWER:
        (void)fprintf(out, "    redis-->>%s: %s\n", who, plain(row->what).of);
        break;
    case BWL_ROW_CLIENT:
        note_over(out, who, bwl_say(row->is_bad ? "\xc3\x97 %s" : "%s", row->what.of));
        break;
    case BWL_ROW_SERVER:
        note_over(out, "redis", bwl_say("%s, %s", row->what.of, row->effect.of));
        break;
    case BWL_ROW_TIME: put_time(out, row); break;
    }
    note_over(out, who, row->note);
}

void bwl_mermaid(FILE *out, const bwl_picture *picture)
{
    (void)fputs("sequenceDiagram\n", out);
    for (unsigned i = 0; i < picture->clients; i++)
        (void)fprintf(out, "    participant %c\n", bwl_client_name(i));
    (void)fputs("    participant redis\n", out);
    for (size_t i = 0; i < picture->rows_count; i++)
        put_row(out, &picture->rows[i]);
    if (picture->broken != 0)
        (void)fprintf(out, "    Note over A,redis: %s\n", plain(bwl_picture_moral(picture)).of);
}
