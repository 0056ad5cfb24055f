/*
 * text.c -- a diagram as text.  See diagram.h.
 *
 * A line is an array of cells, one for each column; a wide character takes two of them.  A text
 * that is too long for its columns goes on in further lines, which show the lanes again.
 */
#include "lab/draw/diagram.h"
#include "lab/base/utf8.h"
#include <inttypes.h>
#include <string.h>

enum {
    LANE_WIDTH = 24,
    MARGIN     = 8,
    LABEL_MAX  = LANE_WIDTH - 4, /* on an arrow, between two lanes */
    OWN_MAX    = LANE_WIDTH - 2, /* beside a client's lane */
    EFFECT_MAX = 42,             /* right of the server's lane */
    HANG       = 2,              /* how far a further line is indented */
    ROW_MAX    = MARGIN + BWL_LANES_MAX * LANE_WIDTH + 2 + EFFECT_MAX,
    CELL       = 5, /* the longest character, and a NUL */
};

typedef struct paper {
    FILE              *out;
    const char        *prefix;
    const bwl_picture *picture;
    int64_t            last_shown;
    char               cells[ROW_MAX][CELL]; /* "": the second half of a wide character */
} paper;

/* A text with the columns that it may use. */
typedef struct strip {
    unsigned    at;
    unsigned    width;
    unsigned    hang; /* how far the lines after the first are indented */
    const char *rest; /* what is not written yet */
} strip;

static unsigned lane(unsigned i)
{
    return MARGIN + i * LANE_WIDTH;
}

static unsigned server_lane(const paper *p)
{
    return lane(p->picture->clients);
}

/* ---- one line -------------------------------------------------------------------------------- */

static void put_cell(paper *p, unsigned column, const char *bytes, size_t size)
{
    memcpy(p->cells[column], bytes, size);
    p->cells[column][size] = '\0';
}

static void clear(paper *p)
{
    for (unsigned i = 0; i < ROW_MAX; i++)
        put_cell(p, i, " ", 1);
}

static bool is_blank(const paper *p, unsigned column)
{
    return strcmp(p->cells[column], " ") == 0;
}

/* Control characters would change the line: they are written as a space. */
static void write_some(paper *p, unsigned column, const char *what, size_t size)
{
    const char *end = what + size;

    while (what < end && column < ROW_MAX - 1) {
        char        one[CELL] = " ";
        const char *from      = what;
        uint32_t    c         = bwl_utf8_next(&what);
        if (c >= 32 && (c < 127 || c >= 160) && c != BWL_UTF8_REPLACEMENT)
            memcpy(one, from, (size_t)(what - from));
        unsigned columns = bwl_utf8_columns(one);
        if (columns > 0) /* an accent that joins the character before it is left out */
            put_cell(p, column, one, strlen(one));
        if (columns == 2)
            put_cell(p, column + 1, "", 0);
        column += columns;
    }
}

static void write_at(paper *p, unsigned column, const char *what)
{
    write_some(p, column, what, strlen(what));
}

/* The next line of the text, if any is left. */
static void write_next(paper *p, strip *s)
{
    size_t size = bwl_utf8_fit(s->rest, s->width);

    write_some(p, s->at, s->rest, size);
    s->rest += size;
    while (*s->rest == ' ')
        s->rest++;
    s->at += s->hang;
    s->width -= s->hang;
    s->hang = 0;
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
    unsigned size = ROW_MAX;

    while (size > 0 && is_blank(p, size - 1))
        size--;
    (void)fputs(p->prefix, p->out);
    for (unsigned i = 0; i < size; i++)
        (void)fputs(p->cells[i], p->out);
    (void)fputc('\n', p->out);
}

/* An arrow between a client's lane and the server's, with its text in the first gap. */
static void arrow(paper *p, unsigned client, bool to_server, const char *label)
{
    unsigned from  = lane(client) + 1;
    unsigned to    = server_lane(p) - 1;
    unsigned size  = bwl_utf8_columns(label);
    unsigned start = from + (LANE_WIDTH - 1 - size) / 2;

    for (unsigned i = from; i <= to; i++)
        if (is_blank(p, i))
            put_cell(p, i, "-", 1);
    if (size > 0) {
        put_cell(p, start - 1, " ", 1);
        write_at(p, start, label);
        put_cell(p, start + size, " ", 1);
    }
    if (to_server)
        put_cell(p, to, ">", 1);
    else
        put_cell(p, from, "<", 1);
}

static void dots(paper *p)
{
    for (unsigned i = MARGIN - 2; i < server_lane(p); i++)
        if (is_blank(p, i))
            put_cell(p, i, ".", 1);
}

/* ---- one row of the picture ------------------------------------------------------------------ */

enum { RIGHT_COUNT = 3 };

/* The texts of a row. */
typedef struct texts {
    bwl_text above[2];           /* beside the client's lane, each in its own lines */
    bwl_text own;                /* beside the client's lane */
    bwl_text label;              /* on the arrow */
    bwl_text right[RIGHT_COUNT]; /* right of the server's lane */
} texts;

static bool fits(bwl_text text)
{
    return bwl_utf8_columns(text.of) <= LABEL_MAX;
}

/* On the arrow if it fits there. */
static void set_label(texts *t, bwl_text text)
{
    if (fits(text))
        t->label = text;
    else
        t->above[1] = text;
}

/* The cause goes before the command where both fit. */
static void set_ask(texts *t, const bwl_row *row)
{
    bwl_text both = bwl_say("%s: %s", row->cause.of, row->what.of);

    t->right[0] = row->effect;
    if (row->cause.of[0] != '\0' && fits(both)) {
        t->label = both;
        return;
    }
    t->above[0] = row->cause;
    set_label(t, row->what);
}

static texts texts_of(const bwl_row *row)
{
    texts t = { .right = { [1] = row->clock } };

    switch (row->kind) {
    case BWL_ROW_ASK: set_ask(&t, row); break;
    case BWL_ROW_SERVED:
        t.right[0] = bwl_say(row->is_late ? "LATE %s: %s" : "%s: %s", row->what.of, row->effect.of);
        break;
    case BWL_ROW_ANSWER: set_label(&t, row->what); break;
    case BWL_ROW_CLIENT: t.own = bwl_say(row->is_bad ? "X %s" : "%s", row->what.of); break;
    case BWL_ROW_SERVER:
    case BWL_ROW_TIME:
        t.right[0] =
            row->effect.of[0] == '\0' ? row->what : bwl_say("%s; %s", row->what.of, row->effect.of);
        break;
    }
    if (row->note.of[0] != '\0')
        t.right[2] = bwl_say(row->is_held ? "<== %s" : "%s", row->note.of);
    return t;
}

static strip own_strip(const bwl_row *row, const bwl_text *text)
{
    return (strip){ .at = lane(row->client) + 2, .width = OWN_MAX, .rest = text->of };
}

static strip right_strip(const paper *p, const texts *t, unsigned nth)
{
    unsigned indent = nth == 2 ? HANG : 0; /* the note */

    return (strip){ .at    = server_lane(p) + 2 + indent,
                    .width = EFFECT_MAX - indent,
                    .hang  = HANG,
                    .rest  = t->right[nth].of };
}

/* `present`, or the next one if nothing is left of it. */
static strip left_of(const paper *p, const texts *t, strip present, unsigned *nth)
{
    while (present.rest[0] == '\0' && *nth + 1 < RIGHT_COUNT)
        present = right_strip(p, t, ++*nth);
    return present;
}

static void draw_above(paper *p, const bwl_row *row, const bwl_text *text)
{
    for (strip own = own_strip(row, text); own.rest[0] != '\0';) {
        begin_row(p, row);
        write_next(p, &own);
        end_row(p);
    }
}

/* What the first line of a row has besides texts. */
static void draw_line(paper *p, const bwl_row *row, const char *label)
{
    switch (row->kind) {
    case BWL_ROW_ASK: arrow(p, row->client, true, label); break;
    case BWL_ROW_ANSWER: arrow(p, row->client, false, label); break;
    case BWL_ROW_TIME: dots(p); break;
    case BWL_ROW_SERVED:
    case BWL_ROW_CLIENT:
    case BWL_ROW_SERVER: break;
    }
}

static void draw_row(paper *p, const bwl_row *row)
{
    texts    t        = texts_of(row);
    strip    own      = own_strip(row, &t.own);
    unsigned nth      = 0;
    strip    right    = left_of(p, &t, right_strip(p, &t, 0), &nth);
    bool     is_first = true;

    draw_above(p, row, &t.above[0]);
    draw_above(p, row, &t.above[1]);
    for (; is_first || own.rest[0] != '\0' || right.rest[0] != '\0'; is_first = false) {
        begin_row(p, row);
        if (is_first)
            draw_line(p, row, t.label.of);
        write_next(p, &own);
        write_next(p, &right);
        right = left_of(p, &t, right, &nth);
        end_row(p);
    }
}

/* "A", "B (clock +40 ms)", "redis": in further lines if a clock needs more words. */
static void draw_head(paper *p)
{
    unsigned server                   = p->picture->clients;
    bwl_text names[BWL_LANES_MAX + 1] = { 0 };
    strip    heads[BWL_LANES_MAX + 1];
    bool     is_left = true;

    for (unsigned i = 0; i <= server; i++) {
        char     letter[] = { bwl_client_name(i), '\0' };
        bwl_text clock    = p->picture->clocks[i];
        names[i]          = bwl_say("%s", i == server ? p->picture->server : letter);
        if (clock.of[0] != '\0')
            names[i] = bwl_say("%s (%s)", names[i].of, clock.of);
        heads[i] = (strip){ lane(i), i == server ? EFFECT_MAX : OWN_MAX, HANG, names[i].of };
    }
    for (bool is_first = true; is_left; is_first = false) {
        clear(p);
        write_at(p, 3, is_first ? "ms" : "");
        is_left = false;
        for (unsigned i = 0; i <= server; i++) {
            write_next(p, &heads[i]);
            is_left = is_left || heads[i].rest[0] != '\0';
        }
        end_row(p);
    }
}

static void draw_moral(paper *p)
{
    bwl_text moral = bwl_say("=> %s", p->picture->moral.of);
    strip    all = { .width = server_lane(p) + 2 + EFFECT_MAX, .hang = HANG + 1, .rest = moral.of };

    while (all.rest[0] != '\0') {
        clear(p);
        write_next(p, &all);
        end_row(p);
    }
}

void bwl_draw_picture(FILE *out, const char *prefix, const bwl_picture *picture)
{
    paper p = { .out = out, .prefix = prefix, .picture = picture, .last_shown = -1 };

    draw_head(&p);
    for (size_t i = 0; i < picture->rows_count; i++)
        draw_row(&p, &picture->rows[i]);
    if (picture->moral.of[0] != '\0')
        draw_moral(&p);
}
