/*
 * hash.c -- see hash.h.
 */
#include "sim/redis/data/hash.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, LENGTH_AT = 56, SHA1_WORDS = 5, SHA256_WORDS = 8 };

static uint32_t rotate_left(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

static uint32_t rotate_right(uint32_t word, unsigned by)
{
    return word >> by | word << (32 - by);
}

static uint32_t word_at(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void sha1_block(uint32_t state[], const unsigned char *block)
{
    uint32_t w[80];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

    for (unsigned i = 0; i < 16; i++)
        w[i] = word_at(block + 4 * i);
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < 80; i++) {
        uint32_t f    = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999u
                        : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1u
                        : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu
                                 : (b ^ c ^ d) + 0xca62c1d6u;
        uint32_t next = rotate_left(a, 5) + f + e + w[i];
        e             = d;
        d             = c;
        c             = rotate_left(b, 30);
        b             = a;
        a             = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha256_block(uint32_t state[], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t s[SHA256_WORDS];

    memcpy(s, state, sizeof s);
    for (unsigned i = 0; i < 16; i++)
        w[i] = word_at(block + 4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3) +
               (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10);
    }
    for (unsigned i = 0; i < 64; i++) {
        uint32_t one = s[7] +
                       (rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha256_constants[i] + w[i];
        uint32_t two = (rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22)) +
                       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (unsigned i = 0; i < SHA256_WORDS; i++)
        state[i] += s[i];
}

/* Both pad in the same way: a bit, zeros, the length in bits. */
static void digest(uint32_t state[], model_text text,
                   void (*block)(uint32_t state[], const unsigned char *block))
{
    unsigned char        last[2 * BLOCK] = { 0 };
    const unsigned char *at              = (const unsigned char *)text.at;
    size_t               left            = text.size;
    uint64_t             bits            = (uint64_t)text.size * 8;

    for (; left >= BLOCK; left -= BLOCK, at += BLOCK)
        block(state, at);
    if (left != 0)
        memcpy(last, at, left);
    last[left]  = 0x80;
    size_t size = left < LENGTH_AT ? BLOCK : 2 * BLOCK;
    for (unsigned i = 0; i < 8; i++)
        last[size - 1 - i] = (unsigned char)(bits >> (8 * i));
    for (size_t i = 0; i < size; i += BLOCK)
        block(state, last + i);
}

static void write_words(char *ret_text, const uint32_t state[], unsigned words)
{
    for (unsigned i = 0; i < words * 8; i++)
        ret_text[i] = "0123456789abcdef"[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    ret_text[words * 8] = '\0';
}

void model_sha1(char ret_text[MODEL_SHA1_TEXT + 1], model_text text)
{
    uint32_t state[SHA1_WORDS] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };

    digest(state, text, sha1_block);
    write_words(ret_text, state, SHA1_WORDS);
}

void model_sha256(char ret_text[MODEL_SHA256_TEXT + 1], model_text text)
{
    uint32_t state[SHA256_WORDS] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

    digest(state, text, sha256_block);
    write_words(ret_text, state, SHA256_WORDS);
}

/* XMODEM, bit by bit: the algorithm that the cluster specification names. */
static unsigned crc16(model_text text)
{
    unsigned crc = 0;

    for (size_t i = 0; i < text.size; i++) {
        crc ^= (unsigned)(unsigned char)text.at[i] << 8;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000u) != 0 ? crc << 1 ^ 0x1021u : crc << 1;
        crc &= 0xffffu;
    }
    return crc;
}

unsigned model_slot_of(model_text key)
{
    const char *open = key.size != 0 ? memchr(key.at, '{', key.size) : NULL;

    if (open != NULL) {
        size_t      behind = key.size - (size_t)(open + 1 - key.at);
        const char *close  = behind != 0 ? memchr(open + 1, '}', behind) : NULL;
        if (close != NULL && close != open + 1)
            key = (model_text){ open + 1, (size_t)(close - open - 1) };
    }
    return crc16(key) % MODEL_SLOTS;
}
