/*
 * fork_safe.h -- fork while other threads allocate, under AddressSanitizer.
 *
 * The allocator of libc is safe across fork; that of the sanitizer in GCC before 14 is not: a child
 * forked while another thread is inside it blocks for ever in its first malloc.  Here fork waits
 * until no thread is inside.  Without the sanitizer this does nothing.
 */
#pragma once

/* Call before the first thread is started. */
void make_fork_safe(void);
