/*
 * svg.c -- a picture as SVG.  See diagram.h.
 *
 * The positions of rows are computed first; then it writes the lanes, the bars on them, the arrows
 * and the labels.  A command that is executed in a later row is a slanted arrow; one that is never
 * executed ends halfway.
 */
#include "lab/draw/diagram.h"
#include "lab/base/memory.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void bwl_put_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '&': (void)fputs("&amp;", out); break;
        case '<': (void)fputs("&lt;", out); break;
        case '>': (void)fputs("&gt;", out); break;
        case '"': (void)fputs("&quot;", out); break;
        case '\'': (void)fputs("&#39;", out); break;
        default: (void)fputc((unsigned char)*text < 32 ? ' ' : *text, out); break;
        }
}

enum {
    LEFT    = 34,
    LANE    = 92,
    RIGHT   = 152,
    HEAD    = 44,
    ROW     = 36,
    LINE    = 14,
    BAR     = 8,
    MESSAGE = 8,
};

typedef struct sheet {
    FILE              *out;
    const bwl_picture *picture;
    int               *y;      /* of each row, and of the end */
    int                height; /* without the text below */
} sheet;

const char bwl_svg_style[] =
    "svg.lanes{--bg:#fff;--ink:#1c1c22;--dim:#8a8a94;--bad:#b3202a;--a:#1f5fa8;--b:#a04c08;"
    "--c:#76409c;background:var(--bg);font:12px system-ui,sans-serif;display:block;width:100%;"
    "height:auto}\n"
    "@media(prefers-color-scheme:dark){svg.lanes{--bg:#17171c;--ink:#e8e8ee;--dim:#80808c;"
    "--bad:#ff7a80;--a:#7db4f5;--b:#f0a560;--c:#cba0ee}}\n"
    "svg.lanes text{fill:var(--ink);stroke:var(--bg);stroke-width:3px;paint-order:stroke}\n"
    "svg.lanes .t{fill:var(--dim)}svg.lanes .x{fill:var(--bad)}svg.lanes .h{font-weight:700}\n"
    "svg.lanes rect,svg.lanes path{fill:var(--dim)}\n"
    "svg.lanes line{stroke:var(--dim)}svg.lanes .p{stroke-dasharray:2 4}\n"
    "svg.lanes .A{stroke:var(--a)}svg.lanes .B{stroke:var(--b)}svg.lanes .C{stroke:var(--c)}\n"
    "svg.lanes .late{stroke-dasharray:6 4}\n"
    "svg.lanes rect.A{fill:var(--a)}svg.lanes rect.B{fill:var(--b)}"
    "svg.lanes rect.C{fill:var(--c)}svg.lanes rect.over{fill:var(--bg)}\n"
    "svg.lanes path{stroke:none}svg.lanes path.A{fill:var(--a)}svg.lanes path.B{fill:var(--b)}"
    "svg.lanes path.C{fill:var(--c)}\n";

/* ---- small parts ----------------------------------------------------------------------------- */

static int lane_x(unsigned lane)
{
    return LEFT + (int)lane * LANE;
}

static int server_x(const sheet *s)
{
    return lane_x(s->picture->clients);
}

static void words(const sheet *s, int x, int y, const char *class, const char *text)
{
    if (text[0] == '\0')
        return;
    bwl_put(s->out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
    bwl_put_escaped(s->out, text);
    bwl_put(s->out, "</text>\n");
}

/* The head of an arrow, at its end, to the right or to the left. */
static void head(const sheet *s, int x, int y, int by, char client)
{
    bwl_put(s->out, "<path class=\"%c\" d=\"M%d %d l%d -4 v8 z\"/>\n", client, x, y, -by);
}

static void line(const sheet *s, const char *class, int x1, int y1, int x2, int y2)
{
    bwl_put(s->out, "<line class=\"%s\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", class, x1, y1,
            x2, y2);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static int height_of(const bwl_row *row)
{
    bool has_note = row->note.of[0] != '\0' && row->kind == BWL_ROW_CLIENT;

    return row->kind == BWL_ROW_TIME ? ROW - 4 : has_note ? ROW + LINE - 4 : ROW;
}

static void place_rows(sheet *s)
{
    int y = HEAD + ROW / 2;

    s->y = bwl_room_for(s->picture->rows_count + 1, sizeof s->y[0]);
    for (size_t i = 0; i < s->picture->rows_count; i++) {
        s->y[i] = y;
        y += height_of(&s->picture->rows[i]);
    }
    s->y[s->picture->rows_count] = y;
    s->height                    = y;
}

static void draw_bar(const sheet *s, unsigned client, size_t from, size_t to, bwl_lane as)
{
    bwl_put(s->out,
            "<rect class=\"%c%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\"/>\n",
            bwl_client_name(client), as == BWL_LANE_OVERTIME ? " over" : "",
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

static void draw_lanes(const sheet *s)
{
    for (unsigned i = 0; i < s->picture->clients; i++) {
        char name[] = { bwl_client_name(i), '\0' };
        words(s, lane_x(i) - 4, HEAD - 20, "h", name);
        line(s, "", lane_x(i), HEAD - 12, lane_x(i), s->height);
        draw_bars(s, i);
    }
    words(s, server_x(s) - 14, HEAD - 20, "h", s->picture->server);
    line(s, "", server_x(s), HEAD - 12, server_x(s), s->height);
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
    const bwl_row *row   = &s->picture->rows[i];
    int            to    = carried_out_in(s->picture, i);
    int            x     = lane_x(row->client) + BAR / 2;
    int            y     = s->y[i];
    char           c     = bwl_client_name(row->client);
    bool           later = to != BWL_NO_ROW && s->picture->rows[to].is_late;
    char class[]         = { c, ' ', 'l', 'a', 't', 'e', '\0' };

    if (!later)
        class[1] = '\0';
    if (to == BWL_NO_ROW) {
        int end = x + (server_x(s) - x) / 2;
        line(s, class, x, y, end, y + 8);
        words(s, end, y + 12, "x", "\xc3\x97");
    } else {
        line(s, class, x, y, server_x(s), s->y[to]);
        head(s, server_x(s), s->y[to], 8, c);
    }
    words(s, x + 6, y - 5, "",
          row->cause.of[0] != '\0' ? bwl_say("%s: %s", row->cause.of, row->what.of).of
                                   : row->what.of);
    words(s, server_x(s) + 8, y + 4, "", row->effect.of);
}

static void draw_answer(const sheet *s, size_t i)
{
    const bwl_row *row  = &s->picture->rows[i];
    int            from = row->from != BWL_NO_ROW ? s->y[row->from] : s->y[i];
    int            x    = lane_x(row->client) + BAR / 2;
    char           c    = bwl_client_name(row->client);
    char class[]        = { c, '\0' };

    line(s, class, server_x(s), from, x, s->y[i]);
    head(s, x, s->y[i], -8, c);
    if (row->note.of[0] != '\0')
        words(s, x + 10, s->y[i] + 12, strstr(row->note.of, " HOLDS") != NULL ? "h" : "",
              bwl_say("%s: %s", row->what.of, row->note.of).of);
    else
        words(s, x + 10, s->y[i] + 12, "", row->what.of);
}

static void draw_served(const sheet *s, size_t i)
{
    const bwl_row *row = &s->picture->rows[i];
    int            x   = server_x(s) + 8;

    words(s, x, s->y[i] - 3, row->is_late ? "x" : "",
          bwl_say("%s%s", row->is_late ? "LATE " : "", row->what.of).of);
    words(s, x, s->y[i] + LINE - 3, "", row->effect.of);
}

static void draw_row(const sheet *s, size_t i)
{
    const bwl_row *row  = &s->picture->rows[i];
    const char    *look = row->is_bad ? "x" : "";
    int            y    = s->y[i];

    switch (row->kind) {
    case BWL_ROW_ASK: draw_ask(s, i); break;
    case BWL_ROW_SERVED: draw_served(s, i); break;
    case BWL_ROW_ANSWER: draw_answer(s, i); break;
    case BWL_ROW_CLIENT:
        words(s, lane_x(row->client) + 8, y + 4, look,
              bwl_say(row->is_bad ? "\xc3\x97 %s" : "%s", row->what.of).of);
        words(s, lane_x(row->client) + 8, y + 4 + LINE, "", row->note.of);
        break;
    case BWL_ROW_SERVER:
        words(s, server_x(s) + 8, y - 3, look, row->what.of);
        words(s, server_x(s) + 8, y + LINE - 3, "", row->effect.of);
        break;
    case BWL_ROW_TIME:
        line(s, "p", 4, y, server_x(s) + RIGHT - 8, y);
        words(s, 4, y + 4, row->is_bad ? "x" : "t", row->what.of);
        words(s, server_x(s) + 8, y + 4, "t",
              bwl_say("%s%s", bwl_say("at %" PRId64 " ms", row->at).of,
                      row->effect.of[0] != '\0' ? ": no key" : "")
                  .of);
        break;
    }
}

/* What broke, in lines that fit. */
static void draw_moral(const sheet *s, int y)
{
    size_t      most = (size_t)(server_x(s) + RIGHT) / MESSAGE;
    const char *at   = s->picture->moral.of;

    while (*at != '\0') {
        size_t size = strlen(at);
        if (size > most) {
            size = most;
            while (size > 1 && at[size] != ' ')
                size--;
        }
        words(s, 4, y, "x h", bwl_say("%.*s", (int)size, at).of);
        at += size;
        at += *at == ' ';
        y += LINE + 2;
    }
}

/* Where the server and the rows are, for the script of a page. */
static void put_places(const sheet *s)
{
    bwl_put(s->out, " data-x=\"%d\" data-y=\"", server_x(s));
    for (size_t i = 0; i <= s->picture->rows_count; i++)
        bwl_put(s->out, "%d ", s->y[i] - ROW / 2);
    bwl_put(s->out, "\"");
}

void bwl_svg(FILE *out, const bwl_picture *picture, bool is_alone)
{
    sheet s     = { .out = out, .picture = picture };
    int   width = lane_x(picture->clients) + RIGHT;
    int   height;

    place_rows(&s);
    height = s.height + (picture->moral.of[0] != '\0' ? 4 * (LINE + 2) : 8);
    bwl_put(out, "<svg class=\"lanes\" role=\"img\"%s viewBox=\"0 0 %d %d\"",
            is_alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height);
    if (!is_alone)
        put_places(&s);
    bwl_put(out, " style=\"max-width:%dpx\">\n<title>", width * 5 / 4);
    bwl_put_escaped(out, picture->title);
    bwl_put(out, "</title>\n");
    if (is_alone)
        bwl_put(out, "<style>%s</style>\n", bwl_svg_style);
    draw_lanes(&s);
    for (size_t i = 0; i < picture->rows_count; i++)
        draw_row(&s, i);
    if (picture->moral.of[0] != '\0')
        draw_moral(&s, s.height + LINE + 4);
    bwl_put(out, "</svg>\n");
    free(s.y);
}
