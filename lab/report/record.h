/*
 * record.h -- a schedule in a file: subject, scenario, transitions, broken invariant.
 *
 * JSON, so that other programs can draw it.  The reader is strict and replays the schedule: it
 * refuses a file whose result differs, because the file or the protocol has changed.
 */
#pragma once

#include "lab/search/explore.h"
#include "lab/base/say.h"
#include <stdio.h>

enum {
    BWL_RECORD_FORMAT          = 1,
    BWL_RECORD_NAME_MAX        = 128,
    BWL_RECORD_TRANSITIONS_MAX = 4096,
    BWL_RECORD_SIZE_MAX        = 1024 * 1024,
};

typedef struct bwl_record {
    char            subject[BWL_RECORD_NAME_MAX]; /* see bwl_subject_find */
    char            version[32];                  /* of the bowline that wrote it */
    bwl_scenario    world;
    char            start[BWL_RECORD_NAME_MAX]; /* of the world, see bwl_scenario_start */
    unsigned        broken;                     /* the invariant that is broken at the end */
    unsigned        path_count;
    bwl_transition *path; /* freed by bwl_record_free */
} bwl_record;

/* `subject` is the name for bwl_subject_find.  Of the record, its own and the version are not used:
 * a name may be longer, and the version is that of this program. */
void bwl_record_write(FILE *out, const char *subject, const bwl_record *record);

/* False: reterr has what, why, and what to type.  A schedule may name a protocol in a shared
 * object, and may come from an untrusted source: that file is loaded only if it is `own`, which may
 * be NULL. */
bool bwl_record_read(bwl_record *ret_record, const char *text, size_t size, const char *own,
                     bwl_text reterr[3]);
bool bwl_record_load(bwl_record *ret_record, const char *file, const char *own, bwl_text reterr[3]);

void bwl_record_free(bwl_record *record);
