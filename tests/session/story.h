/*
 * story.h -- stories of a Redis client: what its caller does and what its servers say, and what
 * comes of it.
 *
 *      == condition_and_result         a case
 *      caller opens redis://...        lines at the margin happen
 *        7001 hears SET ...            indented lines must come of them, in this order
 *
 * Each case is played twice: replies arrive whole, and byte by byte.  With BOWLINE_SESSION_WRITE=1
 * in the environment the indented lines are written anew, for review.  The lines at the margin:
 *
 *      caller opens URL | acquires LOCK [waiting MS|for ever|as the URL says] [lease MS]
 *           | releases LOCK (a#2 is another lock object of the name a)
 *           | drops LOCK | extends LOCK to MS | yields LOCK for MS | cancels LOCK
 *           | asks who holds LOCK | asks for the risk | breaks LOCK | updates KEY to VALUE
 *           | looks at LOCK | waits for releases | closes
 *      after CASE                  the lines of an earlier case, first
 *      time MS                     passes
 *      repeat N LINE; LINE         N times, with the first %d as 0, 1, ...
 *      quiet on | off              nothing is noted
 *      lookups stall | go on
 *      memory ends                 for the requests of a connection that has had none
 *      others refuse               servers that no line has named yet
 *      PORT says REPLY             and the client sees it
 *      PORT queues REPLY           and it arrives with what comes next
 *      PORT ends | resets | breaks at a write (of the client)      its latest connection
 *      PORT accepts | refuses | swallows | restarts | is by hand | is by robot | is replica
 *           | is a node (of a cluster, without a map) | is version V | is mode M | has run_id ID
 *           | has no scripts | tells INFO | maps REPLY | names REPLY | takes BYTES
 *           | takes all
 *
 * drops: without waiting for the reply, unless too many are on their way.  A call that blocks
 * (drops, breaks, updates, closes) reads on: the lines behind it happen while it waits.
 */
#ifndef STORY_H
#define STORY_H

/* Plays every case of tests/session/NAME.txt.  As main returns. */
int run_stories(const char *name);

#endif
