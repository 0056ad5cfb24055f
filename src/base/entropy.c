#include "base/entropy.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

static bool refill(bwl_entropy *pool)
{
    size_t size = 0;

    while (size < sizeof pool->block) {
        ssize_t got = getrandom(pool->block + size, sizeof pool->block - size, 0);
        if (got < 0 && errno != EINTR)
            return false;
        if (got > 0)
            size += (size_t)got;
    }
    pool->left = size;
    return true;
}

bool bwl_entropy_draw(bwl_entropy *pool, bwl_random *ret_random)
{
    if (pool->left < sizeof ret_random->bytes && !refill(pool))
        return false;
    uint8_t *from = pool->block + sizeof pool->block - pool->left;
    memcpy(ret_random->bytes, from, sizeof ret_random->bytes);
    explicit_bzero(from, sizeof ret_random->bytes);
    pool->left -= sizeof ret_random->bytes;
    return true;
}
