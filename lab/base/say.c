#include "lab/base/say.h"
#include "core/text.h"
#include "lab/base/lang.h"
#include "lab/base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ends a text that was cut with dots, and with a whole character before them. */
static void mark_cut(bwl_text *said)
{
    static const char dots[] = "...";
    size_t            size   = sizeof said->of - sizeof dots;

    while (size > 0 && ((unsigned char)said->of[size] & 0xC0) == 0x80)
        size--;
    memcpy(said->of + size, dots, sizeof dots);
}

bwl_text bwl_say(const char *format, ...)
{
    bwl_text said;
    va_list  list;

    va_start(list, format);
    int size = vsnprintf(said.of, sizeof said.of, bwl_tr(format), list);
    va_end(list);
    if (size >= (int)sizeof said.of)
        mark_cut(&said);
    return said;
}

bwl_text bwl_padded(const char *text, int width)
{
    int blanks = abs(width) - (int)bwl_utf8_columns(text);

    blanks = blanks < 0 ? 0 : blanks;
    return width < 0 ? bwl_say("%s%*s", text, blanks, "") : bwl_say("%*s%s", blanks, "", text);
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
            (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, bwl_tr(lines[i]));
    return BWL_EXIT_USAGE;
}

bool bwl_refuse(bwl_text reterr[3], bwl_text what, bwl_text why, const char *type)
{
    reterr[0] = what;
    reterr[1] = why;
    reterr[2] = bwl_say("%s", type);
    return false;
}

/* ---- files ----------------------------------------------------------------------------------- */

void bwl_put(FILE *out, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vfprintf(out, bwl_tr(format), list);
    va_end(list);
}

static bool complain(const char *path)
{
    (void)bwl_complain(bwl_say("%s cannot be written", bwl_shown(path).of), strerror(errno), "");
    return false;
}

/* mkstemp gives access to the owner only; a page gets the access that the umask allows. */
static bool open_up(int fd)
{
    mode_t mask = umask(0);

    (void)umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0;
}

bool bwl_output_open(bwl_output *ret_output, const char *path)
{
    int fd;

    ret_output->out = NULL;
    if (strlen(path) >= sizeof ret_output->path) {
        errno = ENAMETOOLONG;
        return complain(path);
    }
    (void)snprintf(ret_output->path, sizeof ret_output->path, "%s", path);
    (void)snprintf(ret_output->beside, sizeof ret_output->beside, "%s.XXXXXX", path);
    fd = mkstemp(ret_output->beside);
    if (fd >= 0 && open_up(fd))
        ret_output->out = fdopen(fd, "w");
    if (ret_output->out != NULL)
        return true;
    (void)complain(path);
    if (fd >= 0) {
        (void)close(fd); /* nothing was written */
        (void)unlink(ret_output->beside);
    }
    return false;
}

bool bwl_output_close(bwl_output *output)
{
    bool is_written = ferror(output->out) == 0;

    is_written = fclose(output->out) == 0 && is_written;
    if (is_written && rename(output->beside, output->path) == 0)
        return true;
    (void)complain(output->path);
    (void)unlink(output->beside); /* nothing else can be done */
    return false;
}

bool bwl_output_done(void)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return true;
    (void)bwl_complain(bwl_say("standard output cannot be written"), strerror(errno), "");
    return false;
}
