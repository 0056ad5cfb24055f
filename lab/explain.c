/*
 * explain.c -- `bowline-lab explain`: what a lock is, what breaks it, how likely that is, what to
 * use instead, and how to move to it.
 */
#include "lab/explain.h"
#include "core/nearest.h"
#include "engine/redis/profile.h"
#include "lab/base/memory.h"
#include "lab/base/say.h"
#include "lab/base/wrap.h"
#include "lab/options.h"
#include "lab/scenario/lock_file.h"
#include "lab/scenario/table.h"
#include "protocol/lock_file/program.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, LINE_MAX_HERE = 2048 };

/* ---- names ----------------------------------------------------------------------------------- */

static const bwl_explanation *named(const char *name)
{
    for (size_t i = 0; i < bwl_explained_names_count; i++)
        if (strcmp(bwl_explained_names[i].name, name) == 0)
            return bwl_explained_names[i].by;
    return NULL;
}

/* By a name in the pages, or by the protocol of a profile. */
static const bwl_explanation *find_in_pages(const char *name)
{
    const bwl_explanation *found   = named(name);
    const bwl_profile     *profile = bwl_profile_named(name);

    return found == NULL && profile != NULL ? named(profile->protocol) : found;
}

/* ... or by the protocol of a scenario. */
static const bwl_explanation *find(const char *name)
{
    const bwl_explanation *found = find_in_pages(name);
    bwl_scenario           world;
    bwl_text               fault[3];

    if (found == NULL && !bwl_subject_is_file(name) && bwl_subject_find(name, &world, fault))
        found = named(world.protocol->name);
    return found;
}

static int complain_about(const char *name)
{
    size_t       count = bwl_explained_names_count;
    const char **names;
    const char  *meant;

    for (size_t i = 0; bwl_profile_at(i) != NULL; i++)
        count++;
    names = bwl_room_for(count, sizeof names[0]);
    for (size_t i = 0; i < count; i++)
        names[i] = i < bwl_explained_names_count
                       ? bwl_explained_names[i].name
                       : bwl_profile_name_at(i - bwl_explained_names_count);
    meant = bwl_nearest(name, names, count);
    free(names);
    return bwl_complain(bwl_say("no lock is called %s", bwl_shown(name).of), "",
                        meant != NULL ? bwl_say("did you mean %s?", meant).of
                                      : "type: bowline lab list");
}

/* ---- a section of the pages ------------------------------------------------------------------ */

static void put_text(const char *text)
{
    bwl_wrap(stdout, INDENT, bwl_wrap_width(stdout), text);
}

static void put_title(const char *title)
{
    (void)printf("\n%s\n", bwl_tr(title));
}

static void put_part(const char *title, const char *text)
{
    if (text[0] == '\0')
        return;
    put_title(title);
    put_text(text);
}

static void put_commands(const bwl_explanation *e)
{
    for (const char *line = e->commands; *line != '\0';) {
        int size = (int)strcspn(line, "\n");
        (void)printf("    bowline lab try %.*s\n", size, line);
        line += size + (line[size] == '\n');
    }
}

static void put_sentence(unsigned indent, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* In the language that is set. */
static void put_sentence(unsigned indent, const char *format, ...)
{
    char    line[LINE_MAX_HERE];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(line, sizeof line, bwl_tr(format), list);
    va_end(list);
    bwl_wrap(stdout, indent, bwl_wrap_width(stdout), line);
}

static void put_section(const bwl_explanation *e)
{
    const bwl_explanation_text *text = &e->texts[bwl_lang_now()];

    if (strcmp(text->heading, e->name) == 0)
        (void)printf("%s\n\n", e->name);
    else
        (void)printf("%s: %s\n\n", e->name, text->heading);
    put_text(text->what);
    put_title("What breaks it");
    put_sentence(INDENT, "Two holders at once: %s.", text->two);
    put_sentence(INDENT, "Blocked for ever: %s.", text->blocked);
    put_part("What the article says", text->said);
    put_part("In practice", text->practice);
    put_part("What to use instead", text->instead);
    put_part("How to move a running fleet", text->moving);
    if (text->steps[0] != '\0')
        (void)printf("\n");
    put_text(text->steps);
    put_title("How to see it");
}

/* ---- a lock file ----------------------------------------------------------------------------- */

/* What a line with lab: says, without the words that have a sentence of their own. */
static bwl_text world_words(const bwl_lock_program *program)
{
    bwl_text said = bwl_say("%s", "");

    for (unsigned i = 0; i < program->settings_count; i++) {
        const bwl_lab_setting *s = &program->settings[i];
        if (strcmp(s->name, "breaks") != 0 && strcmp(s->name, "holds") != 0 &&
            strcmp(s->name, "twin") != 0)
            said = bwl_say("%s%s%s %s", said.of, said.of[0] != '\0' ? ", " : "", s->name, s->value);
    }
    return said.of[0] != '\0' ? said : bwl_say("the usual world");
}

static void put_world(const bwl_scenario *world)
{
    bwl_text    said   = world_words(world->options.program);
    const char *breaks = bwl_lock_file_says(world, "breaks");
    const char *holds  = bwl_lock_file_says(world, "holds");
    const char *twin   = bwl_lock_file_says(world, "twin");

    if (breaks != NULL && twin != NULL)
        put_sentence(INDENT, "- %s: it breaks `%s`, and %s.lock does not", said.of, breaks, twin);
    else if (breaks != NULL)
        put_sentence(INDENT, "- %s: it breaks `%s`", said.of, breaks);
    else if (holds != NULL)
        put_sentence(INDENT, "- %s: it keeps `%s`", said.of, holds);
    else
        put_sentence(INDENT, "- %s", said.of);
}

/* The file as it stands, without its story and the lines with lab:. */
static void put_program(const char *bytes)
{
    for (const char *line = bytes; *line != '\0';) {
        int  size     = (int)strcspn(line, "\n");
        bool is_story = strncmp(line, "#zh", 3) == 0 || (line == bytes && line[0] == '#');
        if (!is_story && strncmp(line, "lab:", 4) != 0)
            (void)printf(size > 0 ? "    %.*s\n" : "\n", size, line);
        line += size + (line[size] == '\n');
    }
}

/* Each line with lab: is a world.  Then the invariants that break, each once.  False: there is no
 * such line. */
static bool put_worlds(const char *path)
{
    unsigned     broken = 0;
    unsigned     count  = 1;
    bwl_scenario world;
    bwl_text     fault[3];

    for (unsigned i = 0; i < count && bwl_lock_file_load(path, i, &world, fault); i++) {
        count = world.options.program->worlds_count;
        if (count == 0)
            return false;
        if (i == 0)
            put_title("What the file says to the lab");
        put_world(&world);
        broken |= world.breaks;
    }
    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++)
        if ((broken >> i & 1) != 0)
            put_sentence(INDENT, "`%s` is broken when %s.", bwl_invariant_label(1u << i),
                         bwl_tr(bwl_invariant_sentence(1u << i)));
    return true;
}

static int explain_file(const char *path)
{
    const bwl_explanation *e;
    bwl_scenario           world;
    bwl_text               fault[3];
    char                  *bytes;
    size_t                 size;
    bool                   has_worlds;

    if (!bwl_subject_find(path, &world, fault))
        return bwl_complain(fault[0], fault[1].of, fault[2].of);
    bytes = bwl_lock_file_read(path, &size);
    if (bytes == NULL)
        return bwl_complain(bwl_say("%s cannot be read", bwl_shown(path).of), "", "");
    e = find_in_pages(world.name);
    put_sentence(0, "%s.lock: %s", world.name, bwl_tr(world.story));
    (void)printf("\n");
    put_program(bytes);
    has_worlds = put_worlds(path);
    free(bytes);
    (void)printf("\n");
    if (e != NULL)
        put_section(e);
    else
        put_sentence(0, "The catalogue has no lock of this name. How to see what breaks it:");
    (void)printf("    bowline lab try %s\n", bwl_shown(path).of);
    if (has_worlds)
        (void)printf("    bowline lab run %s\n", bwl_shown(path).of);
    if (e != NULL)
        put_commands(e);
    return bwl_output_done() ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What another name stands for. */
static void put_kind(const char *name)
{
    const bwl_profile *profile = bwl_profile_named(name);
    bwl_scenario       world;
    bwl_text           fault[3];

    if (profile != NULL) {
        put_sentence(0, "%s: %s", name, profile->program);
        put_sentence(0, "bowline shares it by `?profile=%s%s`; its protocol is `%s`.", name,
                     profile->fault != NULL ? "&accept-risk=1" : "", profile->protocol);
    }
    if (profile == NULL && bwl_subject_find(name, &world, fault))
        put_sentence(0, "%s: %s", name, bwl_tr(world.story));
    if (profile != NULL && profile->fault != NULL)
        put_sentence(0, "At risk: %s.", bwl_tr(profile->fault));
    (void)printf("\n");
}

int bwl_verb_explain(const bwl_lab_options *set)
{
    const char            *name = set->operands[0];
    const bwl_explanation *e;

    if (bwl_names_lock_file(name))
        return explain_file(name);
    e = find(name);
    if (e == NULL)
        return complain_about(name);
    if (strcmp(name, e->name) != 0)
        put_kind(name);
    put_section(e);
    put_commands(e);
    return bwl_output_done() ? EXIT_SUCCESS : EXIT_FAILURE;
}
