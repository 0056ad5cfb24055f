/*
 * test_close.c -- the stories of close.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("close");
}
