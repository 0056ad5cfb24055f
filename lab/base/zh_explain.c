/*
 * zh_explain.c -- the texts of `explain`, in Chinese.  See lang.h.
 */
#include "lab/base/lang.h"

static const bwl_translation list[] = {
    { "explain a lock, what breaks it, and what to use instead",
      "讲解一把锁：什么情况下会出错，用什么代替" },
    { "no lock is called %s", "没有叫 %s 的锁" },
    { "What breaks it", "什么情况下会出错" },
    { "Two holders at once: %s.", "同时有两个持有者：%s。" },
    { "Blocked for ever: %s.", "永远锁死：%s。" },
    { "What the article says", "文章怎么说" },
    { "In practice", "实际中" },
    { "What to use instead", "改用什么" },
    { "How to move a running fleet", "怎样迁移正在运行的程序" },
    { "How to see it", "怎样亲眼看到" },
    { "What the file says to the lab", "文件对实验室说的" },
    { "the usual world", "通常的环境" },
    { "- %s: it breaks `%s`, and %s.lock does not", "- %s：它打破 `%s`，%s.lock 不会" },
    { "- %s: it breaks `%s`", "- %s：它打破 `%s`" },
    { "- %s: it keeps `%s`", "- %s：`%s` 保持成立" },
    { "`%s` is broken when %s.", "`%s` 被打破，就是%s。" },
    { "%s.lock: %s", "%s.lock：%s" },
    { "bowline shares it by `?profile=%s%s`; its protocol is `%s`.",
      "bowline 用 `?profile=%s%s` 和它共用；协议是 `%s`。" },
    { "At risk: %s.", "风险：%s。" },
    { "The catalogue has no lock of this name. How to see what breaks it:",
      "锁的目录里没有这个名字。看它什么情况下会出错：" },
};

const bwl_translations bwl_zh_explain = { list, sizeof list / sizeof list[0] };
