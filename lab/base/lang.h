/*
 * lang.h -- the language of what the lab writes: English or Chinese.
 *
 * The English text in the source is the key, with its conversions: bwl_say, bwl_put and
 * bwl_complain look their formats up.  What is passed as an argument, or comes from a table, is
 * looked up by bwl_tr where it is written.  The files zh*.c have the Chinese texts; a test compares
 * the conversions of each pair.  Names that are typed (commands, options, faults, invariants,
 * locks) stay as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum bwl_lang {
    BWL_LANG_EN = 1,
    BWL_LANG_ZH,
} bwl_lang;

/* "en" or "zh".  False: neither of them. */
bool bwl_lang_set(const char *name);

/* As LC_ALL, LC_MESSAGES or LANG say, the first of them that is set; any but Chinese is English. */
void bwl_lang_set_by_environment(void);

bwl_lang bwl_lang_now(void);

/* The text in the language that is set; `english` if that language has none. */
const char *bwl_tr(const char *english) __attribute__((format_arg(1)));

/* The tables, one per file: zh.c has the texts of the commands. */
typedef struct bwl_translation {
    const char *english;
    const char *chinese;
} bwl_translation;

typedef struct bwl_translations {
    const bwl_translation *list;
    size_t                 count;
} bwl_translations;

extern const bwl_translations bwl_zh;
extern const bwl_translations bwl_zh_diagrams;
extern const bwl_translations bwl_zh_explain;
extern const bwl_translations bwl_zh_lock_files;
extern const bwl_translations bwl_zh_locks;
extern const bwl_translations bwl_zh_pages;
extern const bwl_translations bwl_zh_scenarios;
extern const bwl_translations bwl_zh_settings;
