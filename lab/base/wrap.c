#include "lab/base/wrap.h"
#include "lab/base/utf8.h"
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
    unsigned    column = indent;
    unsigned    hang   = indent + hang_of(text);

    while (text < end) {
        size_t fits = bwl_utf8_fit(text, width > column ? width - column : 1);
        (void)fprintf(out, "%*s%.*s", (int)column, "", (int)fits, text);
        text += fits;
        text += strspn(text, " ");
        column = hang;
        if (text < end)
            (void)fputc('\n', out);
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
