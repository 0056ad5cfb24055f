/*
 * try_page.c -- one lock as a page: its invariants, and the schedules that break them.  See page.h.
 */
#include "lab/base/lang.h"
#include "lab/draw/diagram.h"
#include "lab/report/names.h"
#include "lab/report/page.h"

static bwl_text result_words(const bwl_page_result *r)
{
    if (r->found->is_found)
        return bwl_say("breaks with %s, in %u steps%s", bwl_budget_words(r->found->budget).of,
                       r->found->path_count, bwl_tr(r->variant));
    return bwl_say(r->found->is_cut ? "not known: the search was cut short" : "holds");
}

/* "one-holder": an address that stays. */
static bwl_text id_of(const bwl_page_result *r)
{
    bwl_text id = bwl_say("%s", bwl_invariant_label(r->invariant));

    for (char *c = id.of; *c != '\0'; c++)
        if (*c == ' ')
            *c = '-';
    return id;
}

typedef enum look { BAD, CUT, GOOD, LOOKS } look;

static const char *const classes[LOOKS] = { "bad", "cut", "good" };

static look look_of(const bwl_page_result *r)
{
    if (r->found->is_found)
        return BAD;
    return r->found->is_cut ? CUT : GOOD;
}

static void put_result(FILE *out, const bwl_page_result *r)
{
    const char *element = r->found->is_found ? "a" : "span";

    bwl_put(out, "<li class=\"%s\"><%s", classes[look_of(r)], element);
    if (r->found->is_found)
        bwl_put(out, " href=\"#%s\"", id_of(r).of);
    bwl_put(out, ">");
    bwl_page_put(out, "b", bwl_invariant_words(r->invariant).of);
    bwl_page_put(out, "small", result_words(r).of);
    bwl_put(out, "</%s></li>\n", element);
}

/* Each fault as an option; the others must not happen. */
static bwl_text options_of(const uint8_t budget[BWL_BUDGETS_COUNT])
{
    bwl_text said = bwl_say("%s", "");

    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        if (budget[i] != 0)
            said = bwl_say("%s --%s %u", said.of, bwl_budget_label((bwl_budget)i), budget[i]);
    return said.of[0] != '\0' ? said : bwl_say(" --slow 0");
}

static void put_section(FILE *out, const bwl_page_trial *t, const bwl_page_result *r)
{
    bwl_page_schedule it = {
        .subject    = t->subject,
        .world      = &r->world,
        .path       = r->found->path,
        .path_count = r->found->path_count,
        .broken     = r->invariant,
    };

    bwl_put(out, "<section id=\"%s\"%s>\n", id_of(r).of,
            r->invariant == t->worst ? " class=\"first\"" : "");
    bwl_page_put(out, "h2",
                 bwl_say("%s: %s", bwl_invariant_words(r->invariant).of, result_words(r).of).of);
    bwl_page_put(out, "p",
                 bwl_say("It is broken when %s.", bwl_tr(bwl_invariant_sentence(r->invariant))).of);
    bwl_page_put_command(out, &it, options_of(r->found->budget).of, t->settings, t->start);
    bwl_page_put_schedule(out, &it);
    bwl_put(out, "<p><a href=\"#top\">%s</a></p>\n</section>\n", bwl_tr("back to the invariants"));
}

void bwl_page_of_trial(FILE *out, const bwl_page_trial *t)
{
    bwl_page_begin(out, bwl_say("bowline lab: %s", t->world->name).of);
    bwl_page_put(out, "h1", t->world->name);
    bwl_page_put(out, "p", bwl_tr(t->world->story));
    bwl_page_put(out, "p",
                 bwl_say(t->world->rounds == 1 ? "%u clients, %u round; faults: %s"
                                               : "%u clients, %u rounds; faults: %s",
                         t->world->clients, t->world->rounds, t->budget)
                     .of);
    for (unsigned i = 0; i < t->notes_count; i++)
        bwl_page_put(out, "p", t->notes[i].of);
    bwl_put(out, "<ul class=\"results\">\n");
    for (look each = 0; each < LOOKS; each++)
        for (unsigned i = 0; i < t->results_count; i++)
            if (look_of(&t->results[i]) == each)
                put_result(out, &t->results[i]);
    bwl_put(out, "</ul>\n");
    for (unsigned i = 0; i < t->results_count; i++)
        if (t->results[i].found->is_found)
            put_section(out, t, &t->results[i]);
    bwl_page_put_legend(out);
    bwl_page_end(out);
}
