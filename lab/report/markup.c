#include "lab/report/markup.h"

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
