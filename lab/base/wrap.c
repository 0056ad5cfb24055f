#include "lab/base/wrap.h"
#include <stdbool.h>
#include <stdint.h>
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

/* One character of UTF-8.  Each byte of broken UTF-8 counts alone. */
typedef struct character {
    uint32_t code;
    unsigned bytes;
} character;

static character first_of(const char *text)
{
    const unsigned char *t     = (const unsigned char *)text;
    unsigned             bytes = 1;

    if (t[0] >= 0xc0 && t[0] < 0xf8)
        bytes = 2 + (t[0] >= 0xe0) + (t[0] >= 0xf0);
    character c = { bytes == 1 ? t[0] : t[0] & (0xffu >> (bytes + 1)), bytes };
    for (unsigned i = 1; i < bytes; i++) {
        if ((t[i] & 0xc0) != 0x80)
            return (character){ t[0], 1 };
        c.code = c.code << 6 | (t[i] & 0x3fu);
    }
    return c;
}

/* Two columns: the blocks of East Asia, and the quotation marks and dashes of Chinese. */
static bool is_wide(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        { 0x1100, 0x115f }, { 0x2014, 0x2014 }, { 0x2018, 0x201d },   { 0x2026, 0x2026 },
        { 0x2e80, 0xa4cf }, { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
        { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x20000, 0x3fffd },
    };

    for (unsigned i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

static bool is_among(const char *text, character c, const char *marks)
{
    char mark[8] = "";

    memcpy(mark, text, c.bytes);
    return c.code != 0 && strstr(marks, mark) != NULL;
}

static bool closes(const char *text, character c)
{
    return is_among(text, c, "，。；：？！、）》」』”’…,.;:?!)");
}

static bool opens(const char *text, character c)
{
    return is_among(text, c, "（《「『“‘");
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
        const char *at   = text + p.bytes;
        character   next = first_of(at + c.bytes);
        bool        glue =
            opens(at, c) || closes(at + c.bytes, next) || (!is_wide(c.code) && !is_wide(next.code));
        p.columns += is_wide(c.code) ? 2 : 1;
        p.bytes += c.bytes;
        if (!glue || next.code == 0 || next.code == ' ' || next.code == '\n')
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
