/*
 * test_cluster.c -- the stories of cluster.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("cluster");
}
