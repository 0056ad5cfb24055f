/*
 * story.h -- stories of a Redis client: what its caller does and what its servers say, and what
 * comes of it.  See story.c for the lines.
 *
 *      == condition_and_result         a case
 *      caller opens redis://...        lines at the margin happen
 *        7001 hears SET ...            indented lines must come of them, in this order
 *
 * Each case is played twice: replies arrive whole, and byte by byte.  With BOWLINE_SESSION_WRITE=1
 * in the environment the indented lines are written anew, for review.
 */
#ifndef STORY_H
#define STORY_H

/* Plays every case of tests/session/NAME.txt.  As main returns. */
int run_stories(const char *name);

#endif
