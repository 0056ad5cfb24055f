#include "lab/base/say.h"
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bwl_text bwl_say(const char *format, ...)
{
    bwl_text said;
    va_list  list;

    va_start(list, format);
    (void)vsnprintf(said.of, sizeof said.of, format, list); /* cut if too long */
    va_end(list);
    return said;
}

bwl_text bwl_shown(const char *text)
{
    bwl_text shown = bwl_say("%s", text);

    bwl_hide_passwords(shown.of, strlen(text) >= sizeof shown.of);
    for (char *c = shown.of; *c != '\0'; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
    return shown;
}

int bwl_complain(bwl_text what, const char *why, const char *type)
{
    const char *const lines[] = { what.of, why, type };

    for (unsigned i = 0; i < 3; i++)
        if (lines[i][0] != '\0')
            (void)fprintf(stderr, "bowline-lab: %s\n", lines[i]);
    return BWL_EXIT_USAGE;
}

bool bwl_refuse(bwl_text reterr[3], bwl_text what, bwl_text why, const char *type)
{
    reterr[0] = what;
    reterr[1] = why;
    reterr[2] = bwl_say("%s", type);
    return false;
}
