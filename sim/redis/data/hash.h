/*
 * hash.h -- SHA-1 (FIPS 180-4) for the names of scripts, SHA-256 for passwords, CRC-16 for slots.
 */
#pragma once

#include "sim/redis/data/bytes.h"

enum { MODEL_SHA1_TEXT = 40, MODEL_SHA256_TEXT = 64, MODEL_SLOTS = 16384 };

/* In hexadecimal, with a NUL. */
void model_sha1(char ret_text[MODEL_SHA1_TEXT + 1], model_text text);
void model_sha256(char ret_text[MODEL_SHA256_TEXT + 1], model_text text);
/* Of a key, with regard to its hash tag. */
unsigned model_slot_of(model_text key);
