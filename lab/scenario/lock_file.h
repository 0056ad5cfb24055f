/*
 * lock_file.h -- a lock that a text file describes, as a subject of `try`: docs/lock-files.md.
 */
#pragma once

#include "lab/base/say.h"
#include "lab/world/scenario.h"

/* True for a name that ends in .lock. */
bool bwl_names_lock_file(const char *name);

/* The bytes of the file, and a NUL; for a name without a directory, perhaps of the one that is
 * installed.  The caller frees them.  NULL: errno. */
char *bwl_lock_file_read(const char *path, size_t *ret_size);

/* Its world.  The program stays in memory: machines refer to it.  False: reterr has what, why, and
 * what to type. */
bool bwl_lock_file_load(const char *path, bwl_scenario *ret_world, bwl_text reterr[3]);

/* Calls `each` with the name and the story of every lock file that is installed, in order. */
void bwl_lock_files_installed(void (*each)(const char *name, const char *story));

/* The corrected lock that holds in the same world, as the file says: a file beside it.  NULL: it
 * names none. */
const char *bwl_lock_file_twin(const bwl_scenario *world);
