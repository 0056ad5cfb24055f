/*
 * markup.h -- text inside XML and HTML.
 */
#pragma once

#include <stdio.h>

/* With & < > " ' escaped, and control characters as a space. */
void bwl_put_escaped(FILE *out, const char *text);
