/*
 * test_url.c -- the stories of url.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("url");
}
