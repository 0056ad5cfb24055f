/*
 * test_sentinel.c -- the stories of sentinel.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("sentinel");
}
