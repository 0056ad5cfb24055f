/*
 * svg.c -- a picture as SVG.  See diagram.h.
 *
 * Each row has texts of two sides: beside the line of its client, and right of the server's line.
 * They are broken into lines that fit, and these lines give the row its height.  Then it writes the
 * bars, the arrows and at last the texts, so that no line crosses a text.  A command that is
 * executed in a later row is a slanted arrow; one that is never executed ends halfway.
 *
 * Colours and fonts are attributes, which every renderer knows; the style only adds the colours of
 * a dark screen.  The font has characters of one width, so that the width of a text is known.
 */
#include "lab/draw/diagram.h"
#include "lab/base/memory.h"
#include "lab/base/utf8.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEFT         = 48,
    LANE         = 130,
    RIGHT        = 216,
    TOP          = 20, /* the names of the lanes */
    LINE         = 15,
    GAP          = 9, /* between two rows */
    BAR          = 8,
    PAD          = 8,  /* beside a line */
    TENTHS       = 74, /* of a pixel: the width of a column, in the widest of the fonts */
    SIDE_COLUMNS = (LANE - PAD - BAR / 2) * 10 / TENTHS,
    EDGE_COLUMNS = (RIGHT - PAD - 4) * 10 / TENTHS,
};

static const char font[] =
    "font-family=\"ui-monospace,Menlo,Consolas,DejaVu Sans Mono,Liberation Mono,monospace\" "
    "font-size=\"12\"";

static const char ink[] = "#1c1c22", paper[] = "#ffffff", dim[] = "#73737d", bad[] = "#b3202a";
static const char *const of_clients[] = { "#1f5fa8", "#a04c08", "#76409c" };

const char bwl_svg_style[] =
    "@media(prefers-color-scheme:dark){svg.lanes .bg{fill:#17171c}"
    "svg.lanes text{fill:#e8e8ee;stroke:#17171c}svg.lanes text.t{fill:#9a9aa6}"
    "svg.lanes text.x{fill:#ff7a80}svg.lanes line{stroke:#80808c}"
    "svg.lanes line.A{stroke:#7db4f5}svg.lanes line.B{stroke:#f0a560}"
    "svg.lanes line.C{stroke:#cba0ee}svg.lanes line.x{stroke:#ff7a80}"
    "svg.lanes path.A,svg.lanes rect.A{fill:#7db4f5}"
    "svg.lanes path.B,svg.lanes rect.B{fill:#f0a560}"
    "svg.lanes path.C,svg.lanes rect.C{fill:#cba0ee}"
    "svg.lanes rect.over{fill:#17171c}svg.lanes rect.A{stroke:#7db4f5}"
    "svg.lanes rect.B{stroke:#f0a560}svg.lanes rect.C{stroke:#cba0ee}}\n";

/* ---- the texts of a row ---------------------------------------------------------------------- */

/* How a text looks: "t" is dim, "x" is bad, "h" is bold. */
typedef struct caption {
    bwl_text text;
    const char *class;
} caption;

enum { SIDE_MAX = 2, EDGE_MAX = 3 };

typedef struct texts {
    bool    is_above;       /* of the arrow; otherwise below it */
    caption side[SIDE_MAX]; /* beside the client */
    caption edge[EDGE_MAX]; /* right of the server */
} texts;

static caption plain(bwl_text text)
{
    return (caption){ text, "" };
}

static texts texts_of(const bwl_row *row)
{
    const char *look = row->is_bad ? "x" : "";
    texts t = { .edge = { [1] = plain(row->clock), [2] = { row->note, row->is_held ? "h" : "" } } };

    switch (row->kind) {
    case BWL_ROW_ASK:
        t.is_above = true;
        t.side[0]  = plain(row->cause);
        t.side[1]  = plain(row->what);
        t.edge[0]  = plain(row->effect);
        if (bwl_utf8_columns(row->cause.of) + 2 + bwl_utf8_columns(row->what.of) <= SIDE_COLUMNS &&
            row->cause.of[0] != '\0') {
            t.side[1] = plain(bwl_say("%s: %s", row->cause.of, row->what.of));
            t.side[0] = (caption){ 0 };
        }
        break;
    case BWL_ROW_SERVED:
        t.edge[0] = (caption){ bwl_say(row->is_late ? "LATE %s: %s" : "%s: %s", row->what.of,
                                       row->effect.of),
                               row->is_late ? "x" : "" };
        break;
    case BWL_ROW_ANSWER: t.side[0] = plain(row->what); break;
    case BWL_ROW_CLIENT:
        t.side[0] = (caption){ bwl_say(row->is_bad ? "\xc3\x97 %s" : "%s", row->what.of), look };
        break;
    case BWL_ROW_SERVER:
    case BWL_ROW_TIME:
        t.edge[0] =
            (caption){ row->effect.of[0] == '\0' ? row->what
                                                 : bwl_say("%s; %s", row->what.of, row->effect.of),
                       row->is_bad || row->kind == BWL_ROW_SERVER ? look : "t" };
        break;
    }
    return t;
}

static unsigned lines_of(const caption *label, unsigned columns)
{
    const char *rest  = label->text.of;
    unsigned    count = 0;

    for (; rest[0] != '\0'; count++) {
        rest += bwl_utf8_fit(rest, columns);
        while (*rest == ' ')
            rest++;
    }
    return count;
}

static int height_of(const caption *captions, unsigned count, unsigned columns)
{
    int lines = 0;

    for (unsigned i = 0; i < count; i++)
        lines += (int)lines_of(&captions[i], columns);
    return lines * LINE;
}

/* ---- small parts ----------------------------------------------------------------------------- */

typedef struct sheet {
    FILE              *out;
    const bwl_picture *picture;
    int               *y; /* of each row: of its arrow, and the first text right of it */
    int                head;
    int                height; /* without the text below */
} sheet;

static int lane_x(unsigned lane)
{
    return LEFT + (int)lane * LANE;
}

static int server_x(const sheet *s)
{
    return lane_x(s->picture->clients);
}

static const char *colour_of(const char *class)
{
    unsigned client = (unsigned)(class[0] - 'A');

    if (client < sizeof of_clients / sizeof of_clients[0])
        return of_clients[client];
    if (class[0] == 'x')
        return bad;
    return dim;
}

/* In lines of `columns`, from the base line y on.  Returns the y of the line below. */
static int words(const sheet *s, int x, int y, const caption *label, unsigned columns)
{
    const char *class = label->class;
    const char *rest  = label->text.of;

    if (rest[0] == '\0')
        return y;
    const char *fill = class[0] == '\0' || class[0] == 'h' ? ink : colour_of(class);
    bwl_put(s->out, "<text class=\"%s\" x=\"%d\" y=\"%d\" fill=\"%s\"%s>", class, x, y, fill,
            strchr(class, 'h') != NULL ? " font-weight=\"700\"" : "");
    for (bool is_first = true; rest[0] != '\0'; is_first = false) {
        size_t size = bwl_utf8_fit(rest, columns);
        if (!is_first)
            bwl_put(s->out, "</tspan>");
        bwl_put(s->out, "<tspan x=\"%d\" y=\"%d\">", x, y);
        bwl_put_escaped(s->out, bwl_say("%.*s", (int)size, rest).of);
        for (rest += size; *rest == ' ';)
            rest++;
        y += LINE;
    }
    bwl_put(s->out, "</tspan></text>\n");
    return y;
}

/* The head of an arrow, at its end, to the right or to the left. */
static void head(const sheet *s, int x, int y, int by, char client)
{
    bwl_put(s->out, "<path class=\"%c\" fill=\"%s\" d=\"M%d %d l%d -4 v8 z\"/>\n", client,
            colour_of(&client), x, y, -by);
}

static void line(const sheet *s, const char *class, const char *dashes, int x1, int y1, int x2,
                 int y2)
{
    bwl_put(s->out, "<line class=\"%s\" stroke=\"%s\"", class, colour_of(class));
    if (dashes[0] != '\0')
        bwl_put(s->out, " stroke-dasharray=\"%s\"", dashes);
    bwl_put(s->out, " x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", x1, y1, x2, y2);
}
/* ---- lanes ----------------------------------------------------------------------------------- */

enum {
    ABOVE = 6,  /* from the last base line above an arrow to the arrow */
    BASE  = 4,  /* from the arrow to a base line beside it */
    BELOW = 15, /* ... to the first one below it */
};

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* The base line of the first text beside the client. */
static int side_base(const bwl_row *row, const texts *t)
{
    if (t->is_above)
        return LINE - ABOVE - height_of(t->side, SIDE_MAX, SIDE_COLUMNS);
    return row->kind == BWL_ROW_ANSWER ? BELOW : BASE;
}

/* Room above and below the arrow of each row. */
static void place_rows(sheet *s)
{
    int bottom = s->head;

    s->y = bwl_room_for(s->picture->rows_count + 1, sizeof s->y[0]);
    for (size_t i = 0; i < s->picture->rows_count; i++) {
        const bwl_row *row  = &s->picture->rows[i];
        texts          t    = texts_of(row);
        int            base = side_base(row, &t);
        int            side = base + height_of(t.side, SIDE_MAX, SIDE_COLUMNS) - LINE + BASE;
        int            edge = BASE + height_of(t.edge, EDGE_MAX, EDGE_COLUMNS) - LINE + BASE;
        s->y[i]             = bottom + GAP + most(LINE - BASE - BASE, LINE - BASE - base);
        bottom              = s->y[i] + most(BASE, most(side, edge));
    }
    s->height                    = bottom + GAP;
    s->y[s->picture->rows_count] = s->height;
}

static void draw_bar(const sheet *s, unsigned client, size_t from, size_t to, bwl_lane as)
{
    char        name    = bwl_client_name(client);
    bool        is_over = as == BWL_LANE_OVERTIME;
    const char *colour  = colour_of(&name);

    bwl_put(s->out,
            "<rect class=\"%c%s\" fill=\"%s\" stroke=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" "
            "height=\"%d\" rx=\"2\"/>\n",
            name, is_over ? " over" : "", is_over ? paper : colour, colour,
            lane_x(client) - BAR / 2, s->y[from], BAR, s->y[to] - s->y[from]);
}

static void draw_bars(const sheet *s, unsigned client)
{
    const bwl_picture *p = s->picture;

    for (size_t i = 0; i < p->rows_count;) {
        bwl_lane as = p->rows[i].lanes[client];
        size_t   to = i + 1;
        while (to < p->rows_count && p->rows[to].lanes[client] == as)
            to++;
        if (as == BWL_LANE_BELIEVES || as == BWL_LANE_OVERTIME)
            draw_bar(s, client, i, to, as);
        i = to;
    }
}

static caption head_of(const sheet *s, unsigned lane)
{
    char letter[] = { bwl_client_name(lane), '\0' };

    return (caption){ bwl_say("%s", lane == s->picture->clients ? s->picture->server : letter),
                      "h" };
}

static caption clock_of(const sheet *s, unsigned lane)
{
    return (caption){ s->picture->clocks[lane], "t" };
}

/* The height of the names, and of the clocks below them. */
static int height_of_head(const sheet *s)
{
    int height = 0;

    for (unsigned i = 0; i <= s->picture->clients; i++) {
        caption clock = clock_of(s, i);
        height        = most(height, height_of(&clock, 1, SIDE_COLUMNS));
    }
    return TOP + PAD + height;
}

static void draw_lanes(const sheet *s)
{
    for (unsigned i = 0; i <= s->picture->clients; i++)
        line(s, "", "", lane_x(i), s->head, lane_x(i), s->height);
    for (unsigned i = 0; i < s->picture->clients; i++)
        draw_bars(s, i);
}

static void name_lanes(const sheet *s)
{
    for (unsigned i = 0; i <= s->picture->clients; i++) {
        caption name  = head_of(s, i);
        caption clock = clock_of(s, i);
        words(s, lane_x(i) - BAR / 2, TOP, &name, SIDE_COLUMNS);
        words(s, lane_x(i) - BAR / 2, TOP + LINE, &clock, SIDE_COLUMNS);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The row in which the command of row `i` is executed; i itself; NO_ROW. */
static int carried_out_in(const bwl_picture *p, size_t i)
{
    if (p->rows[i].effect.of[0] != '\0')
        return (int)i;
    for (size_t j = i + 1; j < p->rows_count; j++)
        if (p->rows[j].kind == BWL_ROW_SERVED && p->rows[j].from == (int)i)
            return (int)j;
    return BWL_NO_ROW;
}

static void draw_ask(const sheet *s, size_t i)
{
    const bwl_row *row     = &s->picture->rows[i];
    int            to      = carried_out_in(s->picture, i);
    int            x       = lane_x(row->client) + BAR / 2;
    int            end     = x + (server_x(s) - x) / 2;
    int            y       = s->y[i];
    char           c       = bwl_client_name(row->client);
    bool           is_late = to != BWL_NO_ROW && s->picture->rows[to].is_late;
    bwl_text class         = bwl_say(is_late ? "%c late" : "%c", c);

    if (to == BWL_NO_ROW) {
        line(s, class.of, "", x, y, end, y + 8);
        line(s, "x", "", end - 4, y + 4, end + 4, y + 12);
        line(s, "x", "", end - 4, y + 12, end + 4, y + 4);
        return;
    }
    line(s, class.of, is_late ? "6 4" : "", x, y, server_x(s), s->y[to]);
    head(s, server_x(s), s->y[to], 8, c);
}

static void draw_answer(const sheet *s, size_t i)
{
    const bwl_row *row  = &s->picture->rows[i];
    int            from = row->from != BWL_NO_ROW ? s->y[row->from] : s->y[i];
    int            x    = lane_x(row->client) + BAR / 2;
    char           c    = bwl_client_name(row->client);

    line(s, (char[]){ c, '\0' }, "", server_x(s), from, x, s->y[i]);
    head(s, x, s->y[i], -8, c);
}

static void draw_arrow(const sheet *s, size_t i)
{
    switch (s->picture->rows[i].kind) {
    case BWL_ROW_ASK: draw_ask(s, i); break;
    case BWL_ROW_ANSWER: draw_answer(s, i); break;
    case BWL_ROW_TIME: line(s, "p", "2 4", LEFT - PAD, s->y[i], server_x(s), s->y[i]); break;
    case BWL_ROW_SERVED:
    case BWL_ROW_CLIENT:
    case BWL_ROW_SERVER: break;
    }
}

static void draw_words(const sheet *s, size_t i)
{
    const bwl_row *row  = &s->picture->rows[i];
    texts          t    = texts_of(row);
    int            side = s->y[i] + side_base(row, &t);
    int            edge = s->y[i] + BASE;

    for (unsigned k = 0; k < SIDE_MAX; k++)
        side = words(s, lane_x(row->client) + PAD, side, &t.side[k], SIDE_COLUMNS);
    for (unsigned k = 0; k < EDGE_MAX; k++)
        edge = words(s, server_x(s) + PAD, edge, &t.edge[k], EDGE_COLUMNS);
}

/* Left of the lanes, where the time has changed. */
static void draw_time(const sheet *s, size_t i)
{
    const bwl_row *row = &s->picture->rows[i];
    caption        at  = { bwl_say("%" PRId64, row->at), "t" };
    int            x   = LEFT - PAD - 4 - (int)strlen(at.text.of) * TENTHS / 10;

    if (i == 0 || row->at != row[-1].at)
        words(s, x > 0 ? x : 0, s->y[i] + BASE, &at, SIDE_COLUMNS);
}

static void draw(const sheet *s, int width, int height)
{
    caption  moral   = { s->picture->moral, "x h" };
    caption  unit    = { bwl_say("ms"), "t" };
    unsigned columns = (unsigned)(width - 2 * PAD) * 10 / TENTHS;

    bwl_put(s->out, "<path class=\"bg\" fill=\"%s\" d=\"M0 0h%dv%dh-%dz\"/>\n", paper, width,
            height, width);
    draw_lanes(s);
    for (size_t i = 0; i < s->picture->rows_count; i++)
        draw_arrow(s, i);
    bwl_put(s->out,
            "<g %s stroke=\"%s\" stroke-width=\"3\" stroke-linejoin=\"round\" "
            "paint-order=\"stroke\">\n",
            font, paper);
    words(s, LEFT - PAD - 4 - 2 * TENTHS / 10, TOP, &unit, SIDE_COLUMNS);
    name_lanes(s);
    for (size_t i = 0; i < s->picture->rows_count; i++) {
        draw_time(s, i);
        draw_words(s, i);
    }
    words(s, PAD, s->height + LINE, &moral, columns);
    bwl_put(s->out, "</g>\n");
}

void bwl_svg(FILE *out, const bwl_picture *picture, bool is_alone)
{
    enum { ZOOM_PER_CENT = 125 };
    sheet   s      = { .out = out, .picture = picture };
    int     width  = lane_x(picture->clients) + RIGHT;
    caption moral  = { picture->moral, "" };
    int     height = height_of(&moral, 1, (unsigned)(width - 2 * PAD) * 10 / TENTHS);

    s.head = height_of_head(&s);
    place_rows(&s);
    height += s.height + PAD;
    bwl_put(out, "<svg class=\"lanes\" role=\"img\"%s viewBox=\"0 0 %d %d\"",
            is_alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height);
    bwl_put(out, " width=\"%d\" height=\"%d\" style=\"max-width:100%%;height:auto\">\n<title>",
            width * ZOOM_PER_CENT / 100, height * ZOOM_PER_CENT / 100);
    bwl_put_escaped(out, picture->title);
    bwl_put(out, "</title>\n");
    if (is_alone)
        bwl_put(out, "<style>%s</style>\n", bwl_svg_style);
    draw(&s, width, height);
    bwl_put(out, "</svg>\n");
    free(s.y);
}
