/*
 * lock_file.h -- a lock that a text file describes, as a subject of `try`:
 * docs/reference/lock-files.md.
 */
#pragma once

#include "lab/base/say.h"
#include "lab/world/scenario.h"
#include "protocol/lock_file/program.h"

/* True for a name that ends in .lock. */
bool bwl_names_lock_file(const char *name);

/* The bytes of the file, and a NUL; for a name without a directory, perhaps of the one that is
 * installed.  The caller frees them.  NULL: errno. */
char *bwl_lock_file_read(const char *path, size_t *ret_size);

/* One of its worlds, from 0: that of the which-th line with lab:.  The program stays in memory:
 * machines refer to it.  False: reterr has what, why, and what to type. */
bool bwl_lock_file_load(const char *path, unsigned which, bwl_scenario *ret_world,
                        bwl_text reterr[3]);

/* Changes a world, of a file or not, as a line with lab: does: "lease 5s skew 3s".  False: reterr
 * has what, why, and what to type. */
bool bwl_lock_file_set(bwl_scenario *world, const char *text, bwl_text reterr[3]);

/* True if a key may get a TTL that does not follow the lease. */
bool bwl_lock_file_has_literal_times(const bwl_lock_program *program);

/* How many it has, at least 1. */
unsigned bwl_lock_file_worlds(const bwl_scenario *world);

/* Calls `each` with the name and the story of every lock file that is installed, in order.
 * Returns how many there are. */
unsigned bwl_lock_files_installed(void (*each)(const char *name, const char *story));

/* What the line says about itself.  twin: a corrected lock that holds in the same world, a file
 * beside it.  holds: an invariant.  NULL: nothing. */
const char *bwl_lock_file_says(const bwl_scenario *world, const char *name);
