/*
 * test_quorum.c -- the stories of quorum.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("quorum");
}
