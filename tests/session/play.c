/*
 * play.c -- a test program for each NAME.txt: tests/meson.build gives the NAME.
 */
#include "story.h"

int main(void)
{
    return run_stories(STORIES);
}
