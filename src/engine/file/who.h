/*
 * who.h -- who holds a lock file, found out by looking: nothing is locked, drawn or written.
 *
 * The kernel says who is first in the queue (ticket.h); the record says who that is, if it is
 * about that ticket (record.h).  If it is not, the head of the queue waits for somebody who
 * has the flock without standing in it, a flock(1) say.
 *
 * The pid is always the kernel's: of the process that took the flock (/proc/locks), or, when that
 * has ended, of one that has inherited it (/proc/PID/fdinfo, as far as we may read it).  It is 0
 * when the kernel does not say.  A record that contradicts it is noted, as others may have written
 * it.  Only the record of another host is taken at its word, on a network file system.
 */
#ifndef BWL_ENGINE_FILE_WHO_H
#define BWL_ENGINE_FILE_WHO_H

#include "engine/engine.h"
#include "engine/file/open.h"

/* The file with the queue, and the one that is flocked; fd -1: there is none. */
void bwl_file_who(const bwl_file *queue, const bwl_file *flocked, bwl_holder *ret_holder);

/* Nobody was found at the file, but the name is marked (mark.h). */
void bwl_file_who_marked(bwl_holder *ret_holder);

#endif
