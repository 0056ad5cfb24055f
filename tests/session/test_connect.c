/*
 * test_connect.c -- the stories of connect.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("connect");
}
