/*
 * svg.h -- a picture as SVG, for light and dark screens and for phones.
 *
 * A bar on a client's line is the time in which it believes that it holds the lock: two bars at the
 * same time are two holders.  A hollow bar is a client that works after its lease.
 */
#pragma once

#include "lab/report/picture.h"
#include <stdio.h>

/* Text inside XML and HTML. */

/* With & < > " ' escaped, and control characters as a space. */
void bwl_put_escaped(FILE *out, const char *text);

/* A file of its own. */
void bwl_svg(FILE *out, const bwl_picture *picture);

/* Without the style, for a page that has it once. */
void bwl_svg_inline(FILE *out, const bwl_picture *picture);
void bwl_svg_style(FILE *out);
