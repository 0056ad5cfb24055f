/*
 * test_background.c -- the stories of background.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("background");
}
