/*
 * mermaid.h -- a picture as a sequence diagram of Mermaid, which GitHub and others draw in a page.
 */
#pragma once

#include "lab/report/picture.h"
#include <stdio.h>

void bwl_mermaid(FILE *out, const bwl_picture *picture);
