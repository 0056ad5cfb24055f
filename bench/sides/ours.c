/*
 * ours.c -- see ours.h.
 */
#include <stdbool.h>
#include <string.h>

#include "bench/sides/ours.h"

int bench_ours_failed(const char *call, const bowline_error *error, bench_failure *reterr)
{
    return bench_fail(
        reterr, (bench_failure){
                    .what = bench_text_of("%s failed in the middle of a measure", call),
                    .why  = bench_text_of("%s", error->text),
                    .type = bench_text_of("type: bowline-bench --list, and leave it out by --only"),
                });
}

bench_text bench_ours_url(const char *url)
{
    bool is_redis = strncmp(url, "redis:", strlen("redis:")) == 0;
    bool chooses  = strstr(url, "protocol=") != NULL || strstr(url, "profile=") != NULL;

    if (!is_redis || chooses)
        return bench_text_of("%s", url);
    return bench_text_of("%s%sprotocol=token", url, strchr(url, '?') != NULL ? "&" : "?");
}

int bench_ours_open(bench_ours *ret_ours, const char *url, bench_failure *reterr)
{
    bench_text    chosen = bench_ours_url(url);
    bowline_error error;
    bench_ours    ours = { .name = BENCH_NAME };

    if (bowline_open(&ours.client, BOWLINE_OPTIONS(.url = chosen.text), &error) < 0)
        return bench_ours_failed("bowline_open", &error, reterr);
    *ret_ours = ours;
    return 0;
}

void bench_ours_close(bench_ours *ours)
{
    bowline_close(ours->client);
    ours->client = NULL;
}

static int pair(const bench_ours *ours, const bowline_acquire_options       *options,
                int (*release)(bowline_hold *, bowline_error *), const char *call,
                bench_failure *reterr)
{
    bowline_hold *hold;
    bowline_error error;

    if (bowline_acquire(&hold, ours->client, ours->name, options, &error) < 0)
        return bench_ours_failed("bowline_acquire", &error, reterr);
    return release(hold, &error) < 0 ? bench_ours_failed(call, &error, reterr) : 0;
}

int bench_ours_pair(void *arg, bench_failure *reterr)
{
    return pair(arg, NULL, bowline_release, "bowline_release", reterr);
}

int bench_ours_pair_nowait(void *arg, bench_failure *reterr)
{
    return pair(arg, NULL, bowline_release_nowait, "bowline_release_nowait", reterr);
}

int bench_ours_shared_pair(void *arg, bench_failure *reterr)
{
    return pair(arg, BOWLINE_ACQUIRE(.mode = BOWLINE_SHARED), bowline_release, "bowline_release",
                reterr);
}
