/*
 * test_waiting.c -- the stories of waiting.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("waiting");
}
