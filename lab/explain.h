/*
 * explain.h -- what docs/reference/catalogue.md and catalogue.zh-CN.md say about each lock, as
 * plain texts.
 *
 * tools/explain_text.py makes the table from the two pages in every build.  A text has paragraphs,
 * items of lists and programs, as bwl_wrap writes them.
 */
#pragma once

#include "lab/base/lang.h"

/* "": the page has none; only `said` and `steps` may be empty. */
typedef struct bwl_explanation_text {
    const char *heading;
    const char *what; /* the lock, with its program */
    const char *two;  /* when there are two holders */
    const char *blocked;
    const char *said; /* by the article */
    const char *practice;
    const char *instead;
    const char *moving;
    const char *steps; /* of what `moving` names; a title begins with "# " */
} bwl_explanation_text;

typedef struct bwl_explanation {
    const char          *name;
    const char          *commands; /* the arguments of `try` that show it, in lines */
    bwl_explanation_text texts[BWL_LANG_ZH + 1];
} bwl_explanation;

/* Its own name, and those of the files, protocols and profiles that it explains. */
typedef struct bwl_explained_name {
    const char            *name;
    const bwl_explanation *by;
} bwl_explained_name;

extern const bwl_explained_name bwl_explained_names[];
extern const size_t             bwl_explained_names_count;
