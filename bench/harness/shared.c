/*
 * shared.c -- server, proxy and directory of the measures, each made on first use.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bench/harness/bench.h"

int bench_use_server(bench *b, bench_regime regime, bench_text *ret_url, bench_failure *reterr)
{
    /* Processes start unpinned; then each is pinned. */
    bench_place(&b->machine, BENCH_FREE, b->server.pid);
    if (b->server.pid == 0) {
        bench_progress("starting redis-server");
        if (bench_server_start(&b->server, &b->janitor, reterr) < 0)
            return -1;
        (void)snprintf(b->redis, sizeof b->redis, "%s", b->server.version);
    }
    if (regime == BENCH_PROXY && b->proxy.pid == 0) {
        bench_proxy_plan plan = { .server_port = b->server.port, .delay_us = b->settings.delay_us };
        if (bench_proxy_start(&b->proxy, &plan, reterr) < 0)
            return -1;
    }
    bench_place(&b->machine, regime, b->server.pid);
    *ret_url = bench_text_of("redis://127.0.0.1:%d",
                             regime == BENCH_PROXY ? b->proxy.port : b->server.port);
    return 0;
}

int bench_use_lock_directory(bench *b, bench_text *ret_url, bench_failure *reterr)
{
    bench_text directory = bench_text_of("%s/locks", b->janitor.directory);

    if (mkdir(directory.text, 0700) != 0 && errno != EEXIST)
        return bench_fail_errno(reterr, bench_text_of("cannot make %s", directory.text));
    *ret_url = bench_text_of("file:%s", directory.text);
    return 0;
}

int bench_skip(bench_result *ret_result, const char *why)
{
    *ret_result = (bench_result){ .was_measured = false };
    (void)snprintf(ret_result->note, sizeof ret_result->note, "%s", why);
    return 0;
}
