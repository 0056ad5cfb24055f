/*
 * test_entropy.c -- random bits from the kernel, drawn in blocks.
 *
 * A test cannot show that the bits are random.  It can show that no bits are drawn twice, that none
 * stay in the pool, and that none are read from beyond the pool.
 */
#include "base/entropy.h"
#include "tests/lib/suite.h"

#include <stdlib.h>

enum { DRAWS = 4096 };

static int by_bytes(const void *one, const void *two)
{
    return memcmp(one, two, sizeof(bwl_random));
}

TEST(entropy_never_draws_the_same_bytes_twice)
{
    static bwl_random drawn[DRAWS];
    bwl_entropy       pool  = { 0 };
    bwl_entropy       other = { 0 };

    for (unsigned i = 0; i < DRAWS; i++)
        assert_true(bwl_entropy_draw(i % 2 == 0 ? &pool : &other, &drawn[i]));
    qsort(drawn, DRAWS, sizeof drawn[0], by_bytes);
    for (unsigned i = 1; i < DRAWS; i++)
        assert_memory_not_equal(&drawn[i - 1], &drawn[i], sizeof drawn[0]);
}

TEST(entropy_every_byte_of_a_draw_is_random)
{
    bwl_entropy pool                   = { 0 };
    uint8_t     seen[BWL_RANDOM_BYTES] = { 0 };

    for (unsigned i = 0; i < 256; i++) {
        bwl_random random = { { 0 } };
        assert_true(bwl_entropy_draw(&pool, &random));
        for (unsigned j = 0; j < BWL_RANDOM_BYTES; j++)
            seen[j] |= random.bytes[j];
    }
    for (unsigned j = 0; j < BWL_RANDOM_BYTES; j++)
        assert_int_equal(seen[j], 255); /* a bit is 0 in 256 draws once in 2^256 runs */
}

TEST(entropy_draw_leaves_no_bytes_in_the_pool)
{
    static const uint8_t nothing[BWL_ENTROPY_BLOCK];
    bwl_entropy          pool = { 0 };
    bwl_random           random;

    for (size_t given = BWL_RANDOM_BYTES; given <= BWL_ENTROPY_BLOCK; given += BWL_RANDOM_BYTES) {
        assert_true(bwl_entropy_draw(&pool, &random));
        assert_int_equal(pool.left, BWL_ENTROPY_BLOCK - given);
        assert_memory_equal(pool.block, nothing, given);
        assert_memory_not_equal(random.bytes, nothing, sizeof random.bytes);
    }
    assert_int_equal(pool.left, 0);
    assert_true(bwl_entropy_draw(&pool, &random));
    assert_int_equal(pool.left, BWL_ENTROPY_BLOCK - BWL_RANDOM_BYTES);
}
