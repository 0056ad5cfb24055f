/*
 * zh.c -- the texts of the lab in Chinese, by their English ones.  See lang.h.
 */
#include "lab/base/lang.h"

const bwl_translation bwl_zh[] = {
    { "no fault", "没有故障" },
};

const size_t bwl_zh_count = sizeof bwl_zh / sizeof bwl_zh[0];
