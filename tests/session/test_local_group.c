/*
 * test_local_group.c -- the stories of local_group.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("local_group");
}
