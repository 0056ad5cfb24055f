/*
 * zh.c -- the texts of the commands, in Chinese.  See lang.h.
 */
#include "lab/base/lang.h"

#include <inttypes.h>

static const bwl_translation list[] = {
    /* names of commands and options */
    { "list protocols, invariants and scenarios", "列出协议、不变量和场景" },
    { "find the smallest budget of faults that breaks each invariant",
      "找出打破每条不变量的最少故障" },
    { "play a schedule against a redis-server that it starts",
      "启动一个 redis-server，在它上面重演一个过程" },
    { "print a table of protocols by faults", "打印协议与故障的对照表" },
    { "visit every state of the scenarios, breadth first", "以广度优先遍历场景的所有状态" },
    { "take random walks, if there are too many states", "状态太多时，随机游走" },
    { "visit every state of a lock on several servers", "遍历多台服务器上一把锁的所有状态" },
    { "number of clients (2)", "客户端的个数（2）" },
    { "acquires of each client (1)", "每个客户端加锁几次（1）" },
    { "total number of faults at most (2)", "故障总数的上限（2）" },
    { "rate of a clock with the fault --rate, in per cent (what the drift covers)",
      "发生 --rate 故障的时钟走多快，百分数（偏差余量能容忍的极限）" },
    { "check only this invariant; list shows the names", "只检查这条不变量；名字见 list" },
    { "write the shortest schedule as a drawing", "把最短的过程画成图" },
    { "write the schedule as a diagram for Markdown", "把过程写成 Markdown 里的图" },
    { "write the schedule for replay and programs", "写出过程，供 replay 和其他程序使用" },
    { "real ms for each ms of the schedule (20, or 1)",
      "过程中的 1 ms 实际用多少毫秒（20，或 1）" },
    { "shared object with your own protocol", "你自己的协议，编译成的共享库" },
    { "the redis-server to start", "要启动的 redis-server" },
    { "memory to use at most (1G)", "最多使用多少内存（1G）" },
    { "no progress on a terminal", "不在终端上显示进度" },
    { "stop after N states of a scenario or cell (2000000)",
      "每个场景或每格走过 N 个状态后停下（2000000）" },
    { "seed of the random numbers (1)", "随机数种子（1）" },
    { "number of walks (100000)", "游走次数（100000）" },
    { "draw also if an invariant was expected to break", "不变量按预期被打破时也画出过程" },
    { "do not reduce states by symmetry", "不利用对称性减少状态" },
    { "report in the Test Anything Protocol", "以 TAP（Test Anything Protocol）格式报告" },
    { "en or zh (as LC_ALL, LC_MESSAGES or LANG say)",
      "en 或 zh（默认看 LC_ALL、LC_MESSAGES、LANG）" },
    { "show this help", "显示这份帮助" },

    /* help */
    { "bowline lab try token --loss 1     does one broken connection break the lock?\n"
      "\n"
      "usage: bowline-lab COMMAND ...\n",
      "bowline lab try token --loss 1     断线一次，这把锁会出错吗？\n"
      "\n"
      "用法：bowline-lab COMMAND ...\n" },
    { "\n"
      "options of %s:\n",
      "\n"
      "%s 的选项：\n" },
    { "\n"
      "faults, for try, matrix and servers; N is a number, or any:\n",
      "\n"
      "故障，用于 try、matrix 和 servers；N 是一个数，或 any（不限次数）：\n" },
    { "\n"
      "every command:\n",
      "\n"
      "所有命令：\n" },
    { "\n"
      "bowline lab help format shows how a lock file is written.\n"
      "\n"
      "Exit: 0 no invariant broke (run, walk, servers: every scenario had the expected "
      "result;\n"
      "replay: the server replied as the schedule says); 1 otherwise; 2 wrong usage, or a "
      "file\n"
      "with an error; 3 out of memory.\n",
      "\n"
      "bowline lab help format 说明锁文件怎么写。\n"
      "\n"
      "退出码：0，没有不变量被打破（run、walk、servers：所有场景的结果都符合预期；\n"
      "replay：服务器的回复与过程一致）；1，其他情况；2，用法不对，或文件有错；\n"
      "3，内存不足。\n" },

    /* errors of the command line */
    { "--%s %s is not a valid number", "--%s %s 不是有效的数" },
    { "it must be from 1 to %llu", "必须在 1 到 %llu 之间" },
    { "type: bowline lab --help", "请输入：bowline lab --help" },
    { "type: bowline lab --help format", "请输入：bowline lab --help format" },
    { "type: bowline lab list", "请输入：bowline lab list" },
    { "type: bowline lab %s %s", "请输入：bowline lab %s %s" },
    { "--memory %s is not an amount of memory", "--memory %s 不是内存大小" },
    { "type it as 512M or 2G", "请写成 512M 或 2G" },
    { "no invariant is called %s", "没有名为 %s 的不变量" },
    { "did you mean --invariant '%s'?", "是不是想输入 --invariant '%s'？" },
    { "did you mean --%s?", "是不是想输入 --%s？" },
    { "did you mean %s?", "是不是想输入 %s？" },
    { "%s is no option, or its value is missing", "没有选项 %s，或者它缺少值" },
    { "%s is no option of `%s`", "`%2$s` 没有选项 %1$s" },
    { "there is no command %s", "没有命令 %s" },
    { "%s takes exactly one %s", "%s 必须且只能带一个 %s" },
    { "%s takes nothing", "%s 不带参数" },
    { "--lang %s is no language of the lab", "--lang %s：实验室没有这种语言" },
    { "type: --lang en, or --lang zh", "请输入：--lang en 或 --lang zh" },

    /* list */
    { "none is installed here\n", "这里没有安装锁文件\n" },
    { "protocols, for try and matrix:\n", "协议，用于 try 和 matrix：\n" },
    { "\n"
      "lock files, for try, matrix and run, where they are installed:\n",
      "\n"
      "锁文件，用于 try、matrix 和 run（已安装的）：\n" },
    { "\n"
      "invariants:\n",
      "\n"
      "不变量，以及怎样算被打破：\n" },
    { "  %s broken when %s\n", "  %s %s\n" },
    { "\n"
      "of several servers, for servers:\n",
      "\n"
      "多台服务器的场景，用于 servers：\n" },
    { "  %-28s breaks: %s\n", "  %-28s 会出错：%s\n" },
    { "\n"
      "scenarios, for run and walk, with the invariant that each has to break:\n",
      "\n"
      "场景，用于 run 和 walk，以及应当被打破的不变量：\n" },

    /* try */
    { "%s: %s\n", "%s：%s\n" },
    { ", with a stale key at the start", "，开始时有一个过期的键" },
    { ", with 2 rounds each", "，每个客户端 2 轮" },
    { "--clients 1: no other client shares the lock", "--clients 1：只有一个客户端，没有谁来争锁" },
    { "type: --clients 2, or --clients 3", "请输入：--clients 2 或 --clients 3" },
    { "  %s BREAKS with %s, in %u steps%s%s\n", "  %s 被打破：%s，%u 步%s%s\n" },
    { " (not every smaller budget was searched to its end)", "（更少的故障组合没有全部搜索完）" },
    { "hold:", "成立：" },
    { "cut short:", "未搜索完：" },
    { "no invariant broke, so there is no schedule to write",
      "没有不变量被打破，所以没有过程可写" },
    { "at most %u of %s", "故障：%2$s，总共最多 %1$u 次" },
    { "%u clients, %u round each; %s\n", "%u 个客户端，各 %u 轮；%s\n" },
    { "%u clients, %u rounds each; %s\n", "%u 个客户端，各 %u 轮；%s\n" },
    { "lease %" PRId64 " ms, wait %" PRId64 " ms, pause %" PRId64 " ms",
      "租期 %" PRId64 " ms，等待 %" PRId64 " ms，停顿 %" PRId64 " ms" },
    { "set: %s", "设置：%s" },
    { "\n"
      "%s states in %.1f s\n"
      "\n",
      "\n"
      "%s 个状态，用时 %.1f s\n"
      "\n" },
    { "this cannot be explored in %s", "内存 %s 不够，无法遍历" },
    { "the states of %u of %s may take %s or more",
      "%2$s，总共最多 %1$u 次：全部状态可能需要 %3$s 或更多内存" },
    { "type: --faults %u, or --memory SIZE, or fewer clients",
      "请输入：--faults %u，或 --memory SIZE，或减少客户端" },
    { "no fault", "没有故障" },
    { "any %s", "任意多次 %s" },
    { "%u %s", "%u 次 %s" },
    { "%s, %s", "%s、%s" },
    { ", %s", "、%s" },
    { ",\n"
      "%*s%s",
      "、\n"
      "%*s%s" },

    /* matrix */
    { "none", "无" },
    { "\n"
      ".    no invariant breaks, with at most %u of the fault: every state was visited\n"
      "2:9  2 of them break an invariant, in 9 steps; see `bowline lab try`\n"
      "?    none was found in the states that were visited, and not all were: see "
      "--budget, --memory\n",
      "\n"
      ".    这种故障最多 %u 次，没有不变量被打破：走遍了所有状态\n"
      "2:9  2 次这种故障，9 步打破一条不变量；详见 `bowline lab try`\n"
      "?    走过的状态里没有发现问题，但没有走完：见 --budget、--memory\n" },
    { "\n"
      "%zu cells: %u hold in every state, %u break, %u cut short, at %s states or at the "
      "end of the memory\n",
      "\n"
      "共 %zu 格：%u 格在所有状态下都成立，%u 格被打破，%u 格未搜索完（到了 %s 个状态，"
      "或内存用完）\n" },
    { "%s states in %.0f s: %s a second, on one processor\n",
      "%s 个状态，用时 %.0f s：单个处理器，每秒 %s 个\n" },
    { "holds (%s states)", "成立（%s 个状态）" },
    { "cut short: %s", "未搜索完：%s" },
    { "breaks without a fault in %u steps", "没有故障，%u 步就被打破" },
    { "breaks with %u %s in %u steps", "%u 次 %s，%u 步就被打破" },
    { "there are more states than it was allowed to visit", "状态数超过了允许的上限" },
    { "there are more states than fit into the memory it was allowed",
      "状态太多，允许的内存放不下" },
    { "walks at random do not see everything", "随机游走看不到所有状态" },
    { "\r\033[K%s: %s states, %u steps deep, %s to go on from, %s%s",
      "\r\033[K%s：%s 个状态，深 %u 步，待展开 %s 个，%s%s" },
    { " of %s", "，上限 %s" },

    /* run */
    { "every state visited, no invariant broken", "走遍了所有状态，没有不变量被打破" },
    { "no invariant broken on these walks", "这些游走中没有不变量被打破" },
    { "no invariant broken, BUDGET REACHED: not every state visited",
      "没有不变量被打破，但已到上限：没有走完所有状态" },
    { "BROKEN in %u steps: %s", "%u 步后被打破：%s" },
    { ", as expected", "，符合预期" },
    { " -- EXPECTED in %u steps: %s", "——不符合预期，应当 %u 步后打破 %s" },
    { " -- EXPECTED not to break", "——不符合预期，本应不被打破" },
    { "%-28s %9" PRIu64 " walks  %10" PRIu64 " steps %7.2f s  ",
      "%-28s %9" PRIu64 " 次游走 %10" PRIu64 " 步 %7.2f s  " },
    { "%-28s %9" PRIu64 " states %10" PRIu64 " steps %7.2f s  ",
      "%-28s %9" PRIu64 " 个状态 %10" PRIu64 " 步 %7.2f s  " },
    { "no scenario is called %s", "没有名为 %s 的场景" },
    { "%-28s left out, as it has millions of states: name it, with --budget\n",
      "%-28s 跳过：它有数百万个状态；要运行它，请写出名字并加上 --budget\n" },
    { "--%s does not happen where there are several servers",
      "多台服务器的场景里没有 --%s 这种故障" },
    { "type: bowline lab servers calm --loss 1, or another of slow, loss, crash, denial, "
      "restart, jump, stop, cancel",
      "请输入：bowline lab servers calm --loss 1，或 slow、loss、crash、denial、restart、"
      "jump、stop、cancel 中的另一种" },
    { "--%s any has no end here", "--%s any 在这里永远运行不完" },
    { "type a number", "请写一个数" },

    /* replay */
    { "the real server failed", "真实的服务器出错了" },
    { "the real server has another key than the model", "真实服务器上的键与模型不同" },
    { "the model has %s, the server %s", "模型：%s；服务器：%s" },
    { ": the schedule has the server say %s, and it is not asked\n",
      "：过程规定服务器回复“%s”，所以不去问它\n" },
    { ": the server says %s (%s), the model %s\n", "：服务器回复“%s”（%s），模型“%s”\n" },
    { "the real server answers otherwise than the model", "真实服务器的回复与模型不同" },
    { "step %u, %s: the model says %s %" PRIu64 ", the server %s %" PRIu64,
      "第 %u 步，%s：模型回复“%s” %" PRIu64 "，服务器“%s” %" PRIu64 },
    { " arrives LATE, on the old connection: the server says %s, and no client reads it\n",
      " 晚到，走的是旧连接：服务器回复“%s”，没有人接收\n" },
    { "the server is killed, and started again with nothing in it",
      "服务器被杀掉，重新启动，数据全空" },
    { "%" PRId64 " ms pass, really %" PRId64, "过了 %" PRId64 " ms，实际 %" PRId64 " ms" },
    { ": %c HOLDS", "：%c 持有锁" },
    { "%s: put as that leaves it, %s", "%s：按此后的状态设置键，%s" },
    { "\n"
      "%u answers of the real server, all as the model's.  At the end, by these answers:\n",
      "\n"
      "真实服务器的 %u 个回复都与模型一致。按这些回复，最后的情况是：\n" },
    { "  %c believes that it has the lock, without an end\n", "  %c 认为自己持有锁，没有期限\n" },
    { "  %c believes that it has the lock, for %" PRId64 " ms more\n",
      "  %c 认为自己持有锁，还有 %" PRId64 " ms\n" },
    { "  %c works on, though its time is over\n", "  %c 的时间已过，仍在工作\n" },
    { "  the server has %s; it says PTTL %s\n", "  在服务器上，%s；PTTL 返回 %s\n" },
    { "=> broken on a real server: %s: %s.\n", "=> 在真实的服务器上被打破：%s。%s。\n" },
    { "the invariant is not broken on the real server", "在真实的服务器上，这条不变量没有被打破" },
    { "its stamps are made by the server, of the true time of day; the schedule's are of "
      "another day",
      "时间戳由服务器按真实时间生成，而过程用的是另一天的时间" },
    { "its clients receive pushes, and the lab does not subscribe to a real server yet",
      "它的客户端要接收推送，而实验室还不会向真实的服务器订阅" },
    { "this schedule cannot be played", "这个过程无法重演" },
    { "\nThis machine was %" PRId64 " ms late.  Once more, more slowly:\n\n",
      "\n本机迟了 %" PRId64 " 毫秒。放慢速度，重来一次：\n\n" },
    { "%s: %u steps, 1 ms of the schedule is %u ms\n"
      "\n"
      "step     ms  who\n",
      "%s：%u 步，过程中的 1 ms 相当于 %u ms\n"
      "\n"
      "  步     ms  谁\n" },
    { "no redis-server could be started", "无法启动 redis-server" },
    { "%s is not found, or not executable", "找不到 %s，或它不可执行" },
    { "type: apt-get install redis-server, or --server FILE",
      "请输入：apt-get install redis-server，或 --server FILE" },
    { "%s ended at once", "%s 立即退出了" },
    { "%s does not answer", "%s 没有响应" },
    { "the server does not take what is sent: %s", "服务器不接收发出的内容：%s" },
    { "the server does not answer", "服务器没有回复" },
    { "the server's answer is not one", "服务器的回复不符合协议" },
    { "%u items", "%u 项" },
    { "the server answers %s, which is no answer to that", "服务器回复 %s，这不是对该命令的回复" },
    { "the key is no text, or a long one", "键的值不是文本，或者太长" },

    /* schedules as JSON */
    { "the schedule cannot be used", "这个过程不能用" },
    { "line %u: %s", "第 %u 行：%s" },
    { "a %c has to be here", "这里应当是 %c" },
    { "a broken escape in a text", "文本里的转义不完整" },
    { "a character that does not belong here", "这里不该有这个字符" },
    { "a text that is not closed", "文本没有结束" },
    { "a text that is too long", "文本太长" },
    { "a number that is out of bounds", "数超出了范围" },
    { "a whole number has to be here", "这里应当是整数" },
    { "true or false has to be here", "这里应当是 true 或 false" },
    { "more than one value", "不止一个值" },
    { "\"%s\" is out of bounds", "\"%s\" 超出了范围" },
    { "a world has no \"%s\"", "世界里没有 \"%s\"" },
    { "no fault is called \"%s\"", "没有名为 \"%s\" 的故障" },
    { "a number up to %" PRId64 " has to be here", "这里应当是一个数，最大 %" PRId64 },
    { "no step is called \"%s\"", "没有名为 \"%s\" 的步骤" },
    { "no client is called \"%s\"", "没有名为 \"%s\" 的客户端" },
    { "a step has no \"%s\"", "步骤里没有 \"%s\"" },
    { "more steps than a schedule may have", "步数超过了一个过程的上限" },
    { "a step without \"do\"", "有一步缺少 \"do\"" },
    { "the file is in format %d, and this bowline reads %d",
      "文件的格式是 %d，而这个版本的 bowline 读 %d" },
    { "it is about %s, which is not loaded unless --protocol says so",
      "它用到 %s，没有 --protocol 就不会加载" },
    { "no invariant is called \"%s\"", "没有名为 \"%s\" 的不变量" },
    { "this is no schedule of bowline-lab", "这不是 bowline-lab 的过程" },
    { "\"format_version\" has to come first", "\"format_version\" 必须在前面" },
    { "\"subject\" has to come before \"world\"", "\"subject\" 必须在 \"world\" 之前" },
    { "a schedule has no \"%s\"", "过程里没有 \"%s\"" },
    { "type: bowline lab try SUBJECT --json  to find it again",
      "要重新找到它，请输入：bowline lab try SUBJECT --json" },
    { "it was written by bowline %s; in this one, %s, it does not break the invariant it "
      "names",
      "它由 bowline %s 写出；在当前版本 %s 中，它打破不了所写的不变量" },
    { "walked step by step it does not break \"%s\": it was changed since it was written",
      "逐步执行，它打破不了 \"%s\"：写出之后它被改动过" },
    { "type: bowline lab try SUBJECT --json  to write one",
      "要写出一个，请输入：bowline lab try SUBJECT --json" },
    { "it lacks its subject, its invariant or its transitions",
      "它缺少 subject、invariant 或 transitions" },
    { "%s cannot be read", "无法读取 %s" },
    { "%s is too large for one", "%s 太大，不是一个过程" },

    /* files and memory */
    { "%s cannot be written", "无法写入 %s" },
    { "standard output cannot be written", "无法写入标准输出" },
    { "out of memory", "内存不足" },
    { "bowline-lab: out of memory; a smaller --budget needs less\n",
      "bowline-lab: 内存不足；减小 --budget 可以少用内存\n" },

    /* what libc says */
    { "No such file or directory", "文件或目录不存在" },
    { "Permission denied", "权限不够" },
    { "Operation not permitted", "不允许的操作" },
    { "Is a directory", "是一个目录" },
    { "Not a directory", "不是目录" },
    { "No space left on device", "设备上没有空间" },
    { "Disk quota exceeded", "超出磁盘配额" },
    { "Read-only file system", "只读文件系统" },
    { "File name too long", "文件名太长" },
    { "File too large", "文件太大" },
    { "Too many open files", "打开的文件太多" },
    { "Input/output error", "输入输出错误" },
    { "Cannot allocate memory", "无法分配内存" },
    { "Resource temporarily unavailable", "资源暂时不可用" },
    { "Bad file descriptor", "文件描述符无效" },
    { "Broken pipe", "管道已断开" },
    { "Connection refused", "连接被拒绝" },
    { "Connection reset by peer", "连接被对方重置" },

    /* subjects that are loaded */
    { "no protocol is called %s", "没有名为 %s 的协议" },
    { "%s cannot be loaded as a protocol", "%s 无法作为协议加载" },
    { "type: cc -shared -fPIC -I include -o mine.so mine.c  (docs/how-to/lab.md)",
      "请输入：cc -shared -fPIC -I include -o mine.so mine.c（见 docs/how-to/lab.md）" },
    { "%s is no protocol that this lab can run", "%s 不是这个实验室能运行的协议" },
    { "docs/how-to/lab.md walks through one", "docs/how-to/lab.md 里有一个完整的例子" },
    { "it was compiled with the headers of another version of bowline",
      "它是用另一个版本的 bowline 头文件编译的" },
    { "its protocol has no name, init, command or event",
      "它的协议缺少 name、init、command 或 event" },
    { "its state is larger than a hold has room for", "它的状态太大，一次持有放不下" },
};

const bwl_translations bwl_zh = { list, sizeof list / sizeof list[0] };
