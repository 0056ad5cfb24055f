/*
 * mermaid.h -- a picture as a sequence diagram of Mermaid, which GitHub and others draw in a page.
 */
#ifndef BWL_LAB_REPORT_MERMAID_H
#define BWL_LAB_REPORT_MERMAID_H

#include "lab/report/picture.h"
#include <stdio.h>

void bwl_mermaid(FILE *out, const bwl_picture *picture);

#endif
