#include "lab/base/wrap.h"
#include "lab/base/utf8.h"
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_USUAL = 80, WIDTH_LEAST = 30, NOT_WRAPPED = 4 };

unsigned bwl_wrap_width(FILE *out)
{
    struct winsize size;

    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return WIDTH_USUAL;
    return size.ws_col > WIDTH_LEAST ? size.ws_col : WIDTH_LEAST;
}

typedef struct character {
    char     text[8];
    size_t   bytes; /* 0: the end */
    unsigned columns;
} character;

static character first_of(const char *text)
{
    const char *end = text;
    character   c   = { "", 0, 0 };

    (void)bwl_utf8_next(&end);
    c.bytes = (size_t)(end - text);
    memcpy(c.text, text, c.bytes);
    c.columns = bwl_utf8_columns(c.text);
    return c;
}

static bool closes(character c)
{
    return c.bytes > 0 && strstr("，。；：？！、）》」』”’…,.;:?!)", c.text) != NULL;
}

static bool opens(character c)
{
    return c.bytes > 0 && strstr("（《「『“‘", c.text) != NULL;
}

/* What stays in one line: a word, or a Chinese character with its marks. */
typedef struct piece {
    size_t   bytes;
    unsigned columns;
} piece;

static piece piece_of(const char *text)
{
    piece     p = { 0 };
    character c = first_of(text);

    for (;;) {
        character next = first_of(text + p.bytes + c.bytes);
        bool      glue = opens(c) || closes(next) || (c.columns < 2 && next.columns < 2);
        p.columns += c.columns;
        p.bytes += c.bytes;
        if (!glue || next.bytes == 0 || next.text[0] == ' ' || next.text[0] == '\n')
            return p;
        c = next;
    }
}

/* What the lines behind the first are indented by. */
static unsigned hang_of(const char *text)
{
    if (strncmp(text, "- ", 2) == 0)
        return 2;
    return text[0] >= '1' && text[0] <= '9' && strncmp(text + 1, ". ", 2) == 0 ? 3 : 0;
}

static void put_paragraph(FILE *out, unsigned indent, unsigned width, const char *text, size_t size)
{
    const char *end    = text + size;
    unsigned    hang   = hang_of(text);
    unsigned    column = indent;
    bool        is_new = true;

    (void)fprintf(out, "%*s", (int)indent, "");
    while (text < end) {
        unsigned blanks = (unsigned)strspn(text, " ");
        piece    p      = piece_of(text + blanks);
        if (!is_new && column + blanks + p.columns > width) {
            column = indent + hang;
            text += blanks;
            blanks = 0;
            (void)fprintf(out, "\n%*s", (int)column, "");
        }
        (void)fprintf(out, "%.*s", (int)(blanks + p.bytes), text);
        column += blanks + p.columns;
        text += blanks + p.bytes;
        is_new = false;
    }
}

void bwl_wrap(FILE *out, unsigned indent, unsigned width, const char *text)
{
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        if (strspn(text, " ") >= NOT_WRAPPED)
            (void)fprintf(out, "%*s%.*s", (int)indent, "", (int)size, text);
        else if (strncmp(text, "# ", 2) == 0)
            (void)fprintf(out, "%.*s", (int)size - 2, text + 2);
        else if (size > 0)
            put_paragraph(out, indent, width, text, size);
        (void)fputc('\n', out);
        text += size + (text[size] == '\n');
    }
}
