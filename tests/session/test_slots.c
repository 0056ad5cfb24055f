/*
 * test_slots.c -- the stories of slots.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("slots");
}
