/*
 * markup.h -- text inside XML and HTML.
 */
#ifndef BWL_LAB_REPORT_MARKUP_H
#define BWL_LAB_REPORT_MARKUP_H

#include <stdio.h>

/* With & < > " ' escaped, and control characters as a space. */
void bwl_put_escaped(FILE *out, const char *text);

#endif
