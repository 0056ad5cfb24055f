/*
 * test_channel.c -- the stories of channel.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("channel");
}
