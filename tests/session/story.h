/*
 * story.h -- stories of a Redis client: the calls of its caller, the server replies, the effects.
 *
 *      == condition_and_result         a case
 *      caller opens redis://...        a line at the margin is an input
 *        7001 receives SET ...         indented lines are the expected effects, in this order
 *
 * Each case is played twice: replies arrive whole, and byte by byte ("# whole": only whole).  With
 * BOWLINE_SESSION_WRITE=1 in the environment the indented lines are replaced by the actual effects,
 * for review.  The inputs:
 *
 *      caller opens URL | acquires LOCK [waiting MS|for ever|as the URL says] [lease MS]
 *           | tries LOCK [waiting MS] (a blocking acquire, whose error names the holder)
 *           | acquires_all LOCK LOCK (also blocking)
 *           | releases LOCK (a#2 is another lock object of the name a)
 *           | releases_nowait LOCK | extends LOCK to MS | yields LOCK for MS | cancels LOCK
 *           | announces LOCK as TEXT | withdraws LOCK
 *           | observes LOCK [waiting MS] | stops observing
 *           | queries the holder of LOCK | checks the acquire of LOCK
 *           | reads the time left of LOCK | reads the warning
 *           | breaks LOCK | updates KEY to VALUE | flushes releases | closes
 *      after CASE                  plays an earlier case first
 *      time MS                     advances the time
 *      program sleeps MS           advances the time without a dispatch
 *      repeat N LINE; LINE         N times, with the first %d as 0, 1, ...
 *      quiet on | off              notes no effects
 *      lookups stall | continue
 *      memory fails                for the requests of a connection that has sent none yet
 *      others refuse               servers that no line has named before
 *      PORT sends REPLY            the client receives it at once
 *      PORT buffers REPLY          the client receives it with the next input
 *      PORT closes | resets | breaks at a write (of the client)     its latest connection
 *      PORT accepts | refuses | drops packets | restarts | answers handshakes
 *           | answers no handshake | is replica | is a node (of a cluster, without a map)
 *           | is version V | is mode M | has run_id ID | has no scripts | has info INFO
 *           | has slots REPLY | has primary REPLY | takes BYTES | takes all
 *
 * releases_nowait blocks only if too many releases are in flight.  While a call blocks (tries,
 * releases_nowait, breaks, updates, closes), the next lines are played.
 */
#pragma once

/* Plays every case of tests/session/NAME.txt.  Returns the exit status of main. */
int run_stories(const char *name);
