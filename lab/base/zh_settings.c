/*
 * zh_settings.c -- the settings of lock files, in Chinese.  See lang.h.
 */
#include "lab/base/lang.h"

#include <inttypes.h>

static const bwl_translation list[] = {
    /* settings and sections of lock files */
    { "numbers and times, as lab: in a lock file has them: 'lease 5s skew 3s'",
      "数和时间，写法同锁文件里的 lab: 行：'lease 5s skew 3s'" },
    { "--set: %s %s is not possible here", "--set：这里不能设置 %s %s" },
    { "it takes the numbers and the times of a line with lab:, each with its value",
      "它接受 lab: 行里的数和时间，每项后面跟一个值" },
    { "type: --set 'lease 5s skew 3s', or bowline lab --help format",
      "请输入：--set 'lease 5s skew 3s'，或 bowline lab --help format" },
    { " -- BUT it breaks with %s too", "——但 %s 也会打破它" },
    { "%s: its twin %s is of no use", "%s：它的对照 %s 用不了" },
    { " -- BUT no client gets the lock, which proves nothing",
      "——但没有客户端得到锁，这什么也证明不了" },
    { "%s:%u: the script of this EVAL is wrong", "%s:%u：这个 EVAL 的脚本有错" },
    { "%s: no invariant is called %s", "%s：没有名为 %s 的不变量" },
    { "did you mean %s \"%s\"?", "是不是想写 %s \"%s\"？" },
    { "type: bowline lab list  to see their names", "要看它们的名字，请输入：bowline lab list" },
    { "%s: the lab does not understand this value of %s", "%s：实验室不认识 %s 的这个值" },
    { "a setting stands once in a line, and its value has bounds",
      "一项设置在一行里只写一次，值有范围" },
    { "%s: the lab has no setting %s", "%s：实验室没有设置 %s" },
    { "--start %s is not possible with %s", "--start %s 不能用于 %s" },
    { "its values are no times", "它的值不是时间" },
    { "a value is for the key of a lock file", "值只能用于锁文件的键" },
    { "type: bowline lab try FILE.lock --start VALUE",
      "请输入：bowline lab try FILE.lock --start VALUE" },
    { "--start: %s is not the time that a value has left", "--start：%s 不是值的剩余时间" },
    { "type: --start 'VALUE ttl 5s'", "请输入：--start 'VALUE ttl 5s'" },
    { "what the key has at the start: nothing, stale, a value, 'VALUE ttl 5s'",
      "开始时键里有什么：nothing、stale、一个值、'VALUE ttl 5s'" },
    { "the key has %s at the start, without an expiry", "开始时键的值是 %s，没有过期时间" },
    { "the key has %s at the start, for %" PRId64 " ms", "开始时键的值是 %s，还剩 %" PRId64 " ms" },
    { "a file has at most %d lines of lab:", "一个文件最多有 %d 行 lab:" },
    { "a name has no dot here: %.*s, without .lock", "这里的名字不带点：%.*s，不写 .lock" },
    { "a format of tokens, such as bowline, uuid or hex",
      "一种令牌格式，例如 bowline、uuid 或 hex" },
    { "%.*s: is no section: did you mean %s:? (a label needs another name)",
      "%.*s: 不是一节：是不是想写 %s:？（标签要取别的名字）" },
    { "%.*s: is no section: did you mean %s:?", "%.*s: 不是一节：是不是想写 %s:？" },
};

const bwl_translations bwl_zh_settings = { list, sizeof list / sizeof list[0] };
