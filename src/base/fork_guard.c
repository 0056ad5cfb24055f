#include "base/fork_guard.h"

#include <sys/mman.h>
#include <unistd.h>

bool bwl_fork_guard_init(bwl_fork_guard *guard)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void  *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return false;
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, size);
        return false;
    }
    guard->page  = page;
    *guard->page = 1;
    return true;
}

void bwl_fork_guard_free(bwl_fork_guard *guard)
{
    if (guard->page != NULL)
        (void)munmap((void *)guard->page, (size_t)sysconf(_SC_PAGESIZE));
    guard->page = NULL;
}

bool bwl_was_at_rest(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex) != 0)
        return false;
    (void)pthread_mutex_unlock(mutex);
    return true;
}
