/*
 * draw.h -- a schedule as a diagram of characters: time goes down, a lane for each client and one
 * for the server.
 *
 *      ms  A                       B                       redis
 *       0  |--- acquire: SET A1 ----------------------------->| yes; key A1 for 30 ms
 *          #<-------- yes ------------------------------------|   <== A HOLDS, for 28 ms
 *
 * In a client's lane, # means that it believes it holds the lock, ! that it works after its lease,
 * | that it acquires or releases, : that it does nothing.
 */
#pragma once

#include "lab/search/explore.h"
#include "lab/report/picture.h"
#include <stdio.h>

/* A picture as a sequence diagram of Mermaid, which GitHub and others draw in a page. */

void bwl_mermaid(FILE *out, const bwl_picture *picture);

/* Each line begins with `prefix`.  The last line is the result. */
void bwl_draw_picture(FILE *out, const char *prefix, const bwl_picture *picture);

void bwl_draw(FILE *out, const char *prefix, const bwl_scenario *s, const bwl_finding *found);
