/*
 * svg.h -- a picture as SVG: light or dark as the reader's screen is, readable on a phone.
 *
 * A bar on a client's line is the time in which it believes that the lock is surely its own: two
 * bars side by side are two holders.  A hollow bar is a client that works on after its time.
 */
#ifndef BWL_LAB_REPORT_SVG_H
#define BWL_LAB_REPORT_SVG_H

#include "lab/report/picture.h"
#include <stdio.h>

/* A file of its own. */
void bwl_svg(FILE *out, const bwl_picture *picture);

/* For a page that has the style once. */
void bwl_svg_inline(FILE *out, const bwl_picture *picture);
void bwl_svg_style(FILE *out);

#endif
