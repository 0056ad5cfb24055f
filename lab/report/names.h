/*
 * names.h -- names for diagrams and files.
 */
#pragma once

#include "lab/draw/diagram.h"
#include "lab/base/say.h"
#include "lab/world/world.h"

bwl_text bwl_token_name(uint16_t token); /* A2: the second token of A */

/* The label; in Chinese with its meaning behind it. */
bwl_text bwl_invariant_words(unsigned invariant);

/* The same in a column of so many, of more in Chinese. */
bwl_text bwl_invariant_column(unsigned invariant, int width);

const char *bwl_answer_name(unsigned answer);
const char *bwl_hold_state_name(bwl_hold_state state);

bwl_text bwl_message_name(const bwl_world *w, const bwl_message *message);
bwl_text bwl_reply_name(const bwl_world *w, const bwl_message *message);
bwl_text bwl_key_name(const bwl_world *w);

/* "2 slow, 1 loss"; or "no fault". */
bwl_text bwl_budget_words(const uint8_t budget[BWL_BUDGETS_COUNT]);

bwl_text bwl_count_words(uint64_t count);

bwl_text bwl_memory_words(size_t bytes);

bwl_text bwl_transition_words(const bwl_world *w, bwl_transition transition);
