/*
 * zh_pages.c -- the words of the HTML pages, in Chinese.  See lang.h.
 */
#include "lab/base/lang.h"

#include <inttypes.h>

static const bwl_translation list[] = {
    /* every page */
    { "write a page that steps through each schedule", "写出可逐步查看每个时序的网页" },
    { "the steps of the schedule", "时序的各步" },
    { "to the beginning", "回到开头" },
    { "one step back", "后退一步" },
    { "step", "步" },
    { "one step on", "前进一步" },
    { "to the end", "到末尾" },
    { "The clients", "客户端" },
    { "On the server", "服务器上" },
    { "On the way", "途中的消息" },
    { "Keys: left and right for one step, Home and End. A click on the diagram goes to that step. "
      "The address names the step.",
      "按键：左右键走一步，Home 和 End 到头尾。点击图中某处，跳到那一步。网址记着当前步。" },
    { "In a diagram", "怎样看图" },
    { "Time goes down. A bar on a client's line is the time in which it believes that the lock is "
      "surely its own: two bars side by side are two holders. A hollow bar is a client that works "
      "on after its time. An arrow that leans is a message that took its time; a broken one "
      "arrives after its connection was given up.",
      "时间自上而下。客户端线上的实心条，是它确信锁归自己的时间：两条并排，就是两个持有者。"
      "空心条是租期过后仍在工作的客户端。斜的箭头是路上花了时间的消息；虚线的箭头在连接被放弃之后才到。" },

    /* a step */
    { "step %u of %u, at %" PRId64 " ms", "第 %u 步，共 %u 步，时刻 %" PRId64 " ms" },
    { "the beginning", "开始" },
    { "%c: %s", "%c：%s" },
    { "redis: %s", "redis：%s" },
    { "believes it holds the lock, without an end", "认为自己持有锁，没有期限" },
    { "believes it holds the lock for %" PRId64 " ms more", "认为自己还持有锁 %" PRId64 " ms" },
    { "works past the end of its lease", "租期已过，仍在工作" },
    { "acquires the lock", "正在加锁" },
    { "has crashed", "已崩溃" },
    { "entries in the queue: %u", "队列中的条目：%u" },
    { "it is stopped", "已停住" },
    { "%c → redis: %s", "%c → redis：%s" },
    { "redis → %c: %s", "redis → %c：%s" },
    { "redis → %c: push", "redis → %c：推送" },
    { "%c → redis, on a broken connection: %s", "%c → redis，在断开的连接上：%s" },
    { "nothing", "没有" },

    /* one lock */
    { "bowline lab: %s", "bowline lab：%s" },
    { "breaks with %s, in %u steps%s", "被打破：%s，%u 步%s" },
    { "not known: the search was cut short", "未知：未搜索完" },
    { "holds", "成立" },
    { "It is broken when %s.", "何时算被打破：%s。" },
    { "back to the invariants", "回到不变式" },
    { "%u clients, %u round; faults: %s", "%u 个客户端，各 %u 轮；%s" },
    { "%u clients, %u rounds; faults: %s", "%u 个客户端，各 %u 轮；%s" },

    /* the matrix */
    { "bowline lab: protocols by faults", "bowline lab：各协议与各种故障" },
    { "Protocols by faults", "各协议与各种故障" },
    { "the table", "表" },
    { "cut short", "未搜索完" },
    { "%s states", "%s 个状态" },
    { "breaks", "被打破" },
    { "by itself, %u steps: %s", "没有故障，%u 步：%s" },
    { "%u %s, %u steps: %s", "%u 次 %s，%u 步：%s" },
    { "%s: %s.", "%s：%s。" },
    { "back to the table", "回到表" },
    { "Every order of events is tried, with at most %u of one kind of fault.",
      "尝试事件的每一种顺序，一种故障最多 %u 次。" },
    { "Holds: no invariant breaks in any state.", "成立：任何状态都不打破不变式。" },
    { "Breaks: the fewest faults that break an invariant, and the fewest steps. The cell leads to "
      "the schedule, in which each step can be looked at.",
      "被打破：打破不变式的最少故障和最少步数。单元格链接到时序，可逐步查看。" },
    { "Cut short: no invariant was found to break in the first %s states, and there are more.",
      "未搜索完：前 %s 个状态中没有不变式被打破，但还有更多状态。" },
    { "bowline-lab %s, %u clients, a lease of %lld ms, or 2 s where time is counted in seconds. %s "
      "states in %.0f s.",
      "bowline-lab %s，%u 个客户端，租期 %lld ms；按秒计时的是 2 s。%s 个状态，用时 %.0f s。" },
    { "What goes wrong", "故障" },
    { "The protocols", "协议" },
};

const bwl_translations bwl_zh_pages = { list, sizeof list / sizeof list[0] };
