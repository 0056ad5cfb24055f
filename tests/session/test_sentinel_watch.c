/*
 * test_sentinel_watch.c -- the stories of sentinel_watch.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("sentinel_watch");
}
