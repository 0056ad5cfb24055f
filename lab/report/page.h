/*
 * page.h -- what the pages of the lab have in common: one file without external resources.
 *
 * A page has links to schedules.  A schedule is a section that is shown when the address names it:
 * that works without a script, and each has its address.  With the script (page.js) a reader steps
 * through it: "#c3-2/7" is step 7 of the section c3-2, "#c3-2" its last step.  The script gets the
 * states of the world as JSON (stages.h).
 */
#pragma once

#include "lab/base/say.h"
#include "lab/search/explore.h"
#include <stdio.h>

/* One schedule, and the invariant that it breaks. */
typedef struct bwl_page_schedule {
    const char           *subject; /* see bwl_subject_find */
    const bwl_scenario   *world;
    const bwl_transition *path;
    unsigned              path_count;
    unsigned              broken;
} bwl_page_schedule;

/* One invariant of a lock that was tried. */
typedef struct bwl_page_result {
    unsigned            invariant;
    const bwl_smallest *found;
    bwl_scenario        world;   /* in which it was found */
    const char         *variant; /* of that world; "" : as it is */
} bwl_page_result;

typedef struct bwl_page_trial {
    const char            *subject; /* see bwl_subject_find */
    const bwl_scenario    *world;
    const char            *budget;   /* which faults were allowed */
    const char            *settings; /* --set; NULL: none */
    const char            *start;    /* --start; NULL: none */
    const bwl_text        *notes;    /* what else the world has */
    unsigned               notes_count;
    unsigned               worst; /* its invariant; 0: none is broken */
    unsigned               results_count;
    const bwl_page_result *results;
} bwl_page_trial;

void bwl_page_begin(FILE *out, const char *title);
void bwl_page_end(FILE *out);

/* <element>text</element>, escaped. */
void bwl_page_put(FILE *out, const char *element, const char *text);

/* The command that finds a schedule; `faults` is its options for them.  settings, start: those of
 * --set and --start, or NULL. */
void bwl_page_put_command(FILE *out, const bwl_page_schedule *schedule, const char *faults,
                          const char *settings, const char *start);

/* The diagram, and the states for the script. */
void bwl_page_put_schedule(FILE *out, const bwl_page_schedule *schedule);

/* How to read a diagram. */
void bwl_page_put_legend(FILE *out);

/* try_page.c: the invariants of a lock, with the schedule of each that is broken. */
void bwl_page_of_trial(FILE *out, const bwl_page_trial *trial);

/* page.css and page.js, and what allows the page to run that script and no other. */
extern const char bwl_page_css[];
extern const char bwl_page_js[];
extern const char bwl_page_js_sha256[];
