/*
 * test_reconnect.c -- the stories of reconnect.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("reconnect");
}
