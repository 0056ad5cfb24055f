/*
 * test_sync.c -- the stories of sync.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("sync");
}
