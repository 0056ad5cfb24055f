/*
 * play.c -- runs tests/session/NAME.txt; tests/meson.build builds one program for each NAME.
 */
#include "story.h"

int main(void)
{
    return run_stories(STORIES);
}
