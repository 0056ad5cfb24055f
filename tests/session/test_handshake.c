/*
 * test_handshake.c -- the stories of handshake.txt.
 */
#include "story.h"

int main(void)
{
    return run_stories("handshake");
}
