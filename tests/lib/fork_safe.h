/*
 * fork_safe.h -- fork while other threads allocate, under AddressSanitizer.
 *
 * libc keeps its allocator whole across fork; that of the sanitizer in GCC before 14 does not: a
 * child forked while another thread is inside it waits for that thread at its first malloc, for
 * ever.  Here fork waits until nobody is inside.  Without the sanitizer this does nothing.
 */
#ifndef TESTS_FORK_SAFE_H
#define TESTS_FORK_SAFE_H

/* Before the first thread is started. */
void make_fork_safe(void);

#endif
