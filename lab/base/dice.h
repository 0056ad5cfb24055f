/*
 * dice.h -- reproducible random numbers: SplitMix64 (Sebastiano Vigna, public domain).
 */
#pragma once

#include <stdint.h>

static inline uint64_t bwl_dice_draw(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
