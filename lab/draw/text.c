/*
 * text.c -- a diagram as text.  See diagram.h.
 */
#include "lab/draw/diagram.h"
#include <inttypes.h>
#include <string.h>

/* Mermaid has only level arrows, so a command that is executed later is an open arrow where it is
 * sent, and a note where the server executes it.  In a text, ; and # are special characters. */

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
                  bwl_say("%s%s: %s", row->is_late ? "LATE " : "", row->what.of, row->effect.of));
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
    note_over(out, who, row->note);
}

void bwl_mermaid(FILE *out, const bwl_picture *picture)
{
    (void)fputs("sequenceDiagram\n", out);
    for (unsigned i = 0; i < picture->clients; i++)
        bwl_put(out, "    participant %c\n", bwl_client_name(i));
    (void)fputs("    participant redis\n", out);
    for (size_t i = 0; i < picture->rows_count; i++)
        put_row(out, &picture->rows[i]);
    note_over(out, "A,redis", picture->moral);
}

enum {
    LANE_WIDTH = 24,
    MARGIN     = 8,
    ROW_LEAST  = 200,
    EFFECT_MAX = 120, /* right of the server's lane */
    ROW_MAX    = MARGIN + BWL_LANES_MAX * LANE_WIDTH + EFFECT_MAX,
};

typedef struct paper {
    FILE              *out;
    const char        *prefix;
    const bwl_picture *picture;
    int64_t            last_shown;
    char               row[ROW_MAX + 1];
} paper;

static unsigned lane(unsigned i)
{
    return MARGIN + i * LANE_WIDTH;
}

static unsigned server_lane(const paper *p)
{
    return lane(p->picture->clients);
}

static void write_at(paper *p, unsigned column, const char *what)
{
    size_t   size = strlen(what);
    unsigned end  = server_lane(p) + EFFECT_MAX;

    end = end > ROW_LEAST ? end : ROW_LEAST;
    if (column >= end)
        return;
    if (size > end - column)
        size = end - column;
    memcpy(p->row + column, what, size);
}

static void clear(paper *p)
{
    memset(p->row, ' ', ROW_MAX);
    p->row[ROW_MAX] = '\0';
}

static const char *lane_mark(bwl_lane of)
{
    switch (of) {
    case BWL_LANE_IDLE: return ":";
    case BWL_LANE_BUSY: return "|";
    case BWL_LANE_BELIEVES: return "#";
    case BWL_LANE_OVERTIME: return "!";
    }
    return "?";
}

static void begin_row(paper *p, const bwl_row *row)
{
    clear(p);
    for (unsigned i = 0; i < p->picture->clients; i++)
        write_at(p, lane(i), lane_mark(row->lanes[i]));
    write_at(p, server_lane(p), "|");
    if (row->at != p->last_shown)
        write_at(p, 0, bwl_say("%5" PRId64, row->at).of);
    p->last_shown = row->at;
}

static void end_row(paper *p)
{
    size_t size = ROW_MAX;

    while (size > 0 && p->row[size - 1] == ' ')
        size--;
    p->row[size] = '\0';
    bwl_put(p->out, "%s%s\n", p->prefix, p->row);
}

/* In the gap between two lanes, on an arrow. */
static bool fits(const char *label)
{
    return strlen(label) + 4 < LANE_WIDTH;
}

/* An arrow between a client's lane and the server's, with its text in the first gap. */
static void arrow(paper *p, unsigned client, bool to_server, const char *label)
{
    unsigned from = lane(client) + 1;
    unsigned to   = server_lane(p) - 1;
    size_t   size = strlen(label);

    for (unsigned i = from; i <= to; i++)
        if (p->row[i] == ' ')
            p->row[i] = '-';
    if (to_server)
        p->row[to] = '>';
    else
        p->row[from] = '<';
    if (size > 0 && fits(label)) {
        unsigned column    = from + (unsigned)(LANE_WIDTH - 1 - size) / 2;
        p->row[column - 1] = ' ';
        write_at(p, column, label);
        p->row[column + size] = ' ';
    }
}

static void at_server(paper *p, const char *what)
{
    write_at(p, server_lane(p) + 2, what);
}

static void note(paper *p, const bwl_text *what)
{
    bool is_held = strstr(what->of, " HOLDS") != NULL;

    if (what->of[0] != '\0')
        at_server(p, bwl_say(is_held ? "  <== %s" : "  %s", what->of).of);
}

/* The cause goes before the command where both fit. */
static void draw_ask(paper *p, const bwl_row *row)
{
    bwl_text both = bwl_say("%s: %s", row->cause.of, row->what.of);

    if (row->cause.of[0] == '\0') {
        both = row->what;
    } else if (!fits(both.of)) {
        write_at(p, lane(row->client) + 2, row->cause.of);
        end_row(p);
        begin_row(p, row);
        both = row->what;
    }
    if (!fits(both.of)) {
        write_at(p, lane(row->client) + 2, both.of);
        end_row(p);
        begin_row(p, row);
        both = bwl_say("%s", "");
    }
    arrow(p, row->client, true, both.of);
    at_server(p, row->effect.of);
}

static void draw_row(paper *p, const bwl_row *row)
{
    begin_row(p, row);
    switch (row->kind) {
    case BWL_ROW_ASK: draw_ask(p, row); break;
    case BWL_ROW_SERVED:
        at_server(
            p, bwl_say("%s%s: %s", row->is_late ? "LATE " : "", row->what.of, row->effect.of).of);
        break;
    case BWL_ROW_ANSWER: arrow(p, row->client, false, row->what.of); break;
    case BWL_ROW_CLIENT:
        write_at(p, lane(row->client) + 2, bwl_say(row->is_bad ? "X %s" : "%s", row->what.of).of);
        break;
    case BWL_ROW_SERVER: at_server(p, bwl_say("%s; %s", row->what.of, row->effect.of).of); break;
    case BWL_ROW_TIME:
        for (unsigned i = MARGIN - 2; i < server_lane(p); i++)
            if (p->row[i] == ' ')
                p->row[i] = '.';
        at_server(p, row->effect.of[0] != '\0' ? bwl_say("%s; %s", row->what.of, row->effect.of).of
                                               : row->what.of);
        break;
    }
    note(p, &row->note);
    end_row(p);
}

static void draw_head(paper *p)
{
    clear(p);
    write_at(p, 3, "ms");
    for (unsigned i = 0; i < p->picture->clients; i++)
        write_at(p, lane(i), (char[]){ bwl_client_name(i), '\0' });
    write_at(p, server_lane(p), p->picture->server);
    end_row(p);
}

void bwl_draw_picture(FILE *out, const char *prefix, const bwl_picture *picture)
{
    paper p = { .out = out, .prefix = prefix, .picture = picture, .last_shown = -1 };

    draw_head(&p);
    for (size_t i = 0; i < picture->rows_count; i++)
        draw_row(&p, &picture->rows[i]);
    if (picture->moral.of[0] != '\0')
        bwl_put(out, "%s=> %s\n", prefix, picture->moral.of);
}
