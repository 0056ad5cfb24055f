/*
 * test_requests.c -- the stories of requests.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("requests");
}
