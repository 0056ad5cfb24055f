#include "lab/draw/diagram.h"

#include "lab/base/memory.h"
#include "lab/base/utf8.h"

#include <stdlib.h>

char bwl_client_name(unsigned client)
{
    return (char)('A' + client);
}

bwl_row *bwl_picture_add(bwl_picture *picture, bwl_row row)
{
    picture->rows = bwl_grow(picture->rows, &picture->rows_capacity, picture->rows_count,
                             sizeof picture->rows[0]);
    picture->rows[picture->rows_count] = row;
    return &picture->rows[picture->rows_count++];
}

void bwl_picture_free(bwl_picture *picture)
{
    free(picture->rows);
    *picture = (bwl_picture){ 0 };
}

void bwl_put_escaped(FILE *out, const char *text)
{
    for (const char *from = text; *from != '\0'; from = text) {
        uint32_t c = bwl_utf8_next(&text);
        switch (c) {
        case '&': (void)fputs("&amp;", out); break;
        case '<': (void)fputs("&lt;", out); break;
        case '>': (void)fputs("&gt;", out); break;
        case '"': (void)fputs("&quot;", out); break;
        case '\'': (void)fputs("&#39;", out); break;
        case BWL_UTF8_REPLACEMENT: (void)fputs("\xef\xbf\xbd", out); break;
        default:
            if (c < 32 || (c >= 127 && c < 160))
                (void)fputc(' ', out);
            else
                (void)fwrite(from, 1, (size_t)(text - from), out);
        }
    }
}
