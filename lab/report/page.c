/*
 * page.c -- the frame of a page, and the section of a schedule.  See page.h.
 */
#include "lab/report/page.h"
#include "lab/base/lang.h"
#include "lab/report/picture.h"
#include "lab/report/stages.h"
#include <string.h>

void bwl_page_put(FILE *out, const char *element, const char *text)
{
    bwl_put(out, "<%s>", element);
    bwl_put_escaped(out, text);
    bwl_put(out, "</%s>\n", element);
}

/* The policy: whatever a name or a story of a lock file says, the page loads nothing and runs no
 * other script. */
void bwl_page_begin(FILE *out, const char *title)
{
    bwl_put(out,
            "<!doctype html>\n<html lang=\"%s\" id=\"top\">\n<head>\n<meta charset=\"utf-8\">\n",
            bwl_lang_now() == BWL_LANG_ZH ? "zh-CN" : "en");
    bwl_put(out,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "style-src 'unsafe-inline'; script-src 'sha256-%s'\">\n",
            bwl_page_js_sha256);
    bwl_put(out, "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    bwl_page_put(out, "title", title);
    bwl_put(out, "<style>\n%s%s</style>\n</head>\n<body>\n", bwl_svg_style, bwl_page_css);
}

/* ---- the controls ---------------------------------------------------------------------------- */

static void put_button(FILE *out, const char *go, const char *sign, const char *label)
{
    bwl_put(out, "<button type=\"button\" data-go=\"%s\" aria-label=\"", go);
    bwl_put_escaped(out, label);
    bwl_put(out, "\" title=\"");
    bwl_put_escaped(out, label);
    bwl_put(out, "\">%s</button>\n", sign);
}

static void put_list(FILE *out, const char *name, const char *title)
{
    bwl_page_put(out, "h3", title);
    bwl_put(out, "<ul data-show=\"%s\"></ul>\n", name);
}

/* The script shows it, in the section that is open. */
static void put_player(FILE *out)
{
    bwl_put(out, "<div id=\"player\" role=\"group\" hidden aria-label=\"");
    bwl_put_escaped(out, bwl_tr("the steps of the schedule"));
    bwl_put(out, "\">\n<div class=\"bar\">\n");
    put_button(out, "first", "«", bwl_tr("to the beginning"));
    put_button(out, "back", "‹", bwl_tr("one step back"));
    bwl_put(out, "<input type=\"range\" min=\"0\" value=\"0\" aria-label=\"");
    bwl_put_escaped(out, bwl_tr("step"));
    bwl_put(out, "\">\n");
    put_button(out, "on", "›", bwl_tr("one step on"));
    put_button(out, "last", "»", bwl_tr("to the end"));
    bwl_put(out, "</div>\n<p class=\"title\" data-show=\"title\"></p>\n"
                 "<div aria-live=\"polite\"><p class=\"says\" data-show=\"says\"></p></div>\n");
    bwl_put(out, "<div class=\"states\">\n<div>");
    put_list(out, "clients", bwl_tr("The clients"));
    bwl_put(out, "</div>\n<div>");
    put_list(out, "server", bwl_tr("On the server"));
    bwl_put(out, "</div>\n<div>");
    put_list(out, "way", bwl_tr("On the way"));
    bwl_put(out, "</div>\n</div>\n<p class=\"moral\" data-show=\"moral\"></p>\n");
    bwl_page_put(
        out, "small",
        bwl_tr("Keys: left and right for one step, Home and End. A click on the diagram goes "
               "to that step. The address names the step."));
    bwl_put(out, "</div>\n");
}

void bwl_page_end(FILE *out)
{
    put_player(out);
    bwl_put(out, "<script>%s</script>\n</body>\n</html>\n", bwl_page_js);
}

/* ---- a schedule ------------------------------------------------------------------------------ */

/* A file may have any name; a reader may paste the command into a shell. */
static void put_quoted(FILE *out, const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-";
    bool is_plain = word[strspn(word, plain)] == '\0';

    bwl_put(out, is_plain ? "" : "&#39;");
    for (const char *c = word; *c != '\0'; c++)
        bwl_put_escaped(out, *c == '\'' ? "'\\''" : (char[]){ *c, '\0' });
    bwl_put(out, is_plain ? "" : "&#39;");
}

static void put_option(FILE *out, const char *option, const char *value)
{
    if (value == NULL)
        return;
    bwl_put(out, " %s ", option);
    put_quoted(out, value);
}

void bwl_page_put_command(FILE *out, const bwl_page_schedule *schedule, const char *faults,
                          const char *settings, const char *start)
{
    const bwl_scenario *world = schedule->world;

    bwl_put(out, "<p><code>bowline lab try ");
    put_quoted(out, schedule->subject);
    bwl_put(out, "%s --clients %u", faults, world->clients);
    if (world->rounds > 1 && world->rounds != BWL_ANY)
        bwl_put(out, " --rounds %u", world->rounds);
    if (world->budget[BWL_RATE] != 0)
        bwl_put(out, " --pace %u", world->clocks.rate_pace);
    put_option(out, "--set", settings);
    put_option(out, "--start", start == NULL && world->server.stale ? "stale" : start);
    bwl_put(out, " --invariant &#39;%s&#39;</code></p>\n", bwl_invariant_label(schedule->broken));
}

void bwl_page_put_schedule(FILE *out, const bwl_page_schedule *schedule)
{
    bwl_picture picture =
        bwl_picture_of(schedule->world, schedule->path, schedule->path_count, schedule->broken);

    bwl_put(out, "<div class=\"view\">\n");
    bwl_svg(out, &picture, false);
    bwl_put(out, "</div>\n<script type=\"application/json\">");
    bwl_stages_put(out, schedule->world, schedule->path, schedule->path_count, &picture);
    bwl_put(out, "</script>\n");
    bwl_picture_free(&picture);
}

void bwl_page_put_legend(FILE *out)
{
    bwl_page_put(out, "h2", bwl_tr("In a diagram"));
    bwl_page_put(
        out, "p",
        bwl_tr(
            "Time goes down. A bar on a client's line is the time in which it believes that the "
            "lock is surely its own: two bars side by side are two holders. A hollow bar is a "
            "client that works on after its time. An arrow that leans is a message that took its "
            "time; a broken one arrives after its connection was given up."));
}
