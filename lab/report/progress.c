#include "lab/report/progress.h"
#include "lab/report/names.h"
#include <stdio.h>
#include <unistd.h>

bwl_meter bwl_meter_start(bool quiet)
{
    return (bwl_meter){ .is_on = !quiet && isatty(STDERR_FILENO) == 1, .what = "" };
}

void bwl_meter_show(const bwl_progress *progress, void *arg)
{
    bwl_meter *meter = arg;
    bwl_text   bound = bwl_say("%s", "");

    if (!meter->is_on)
        return;
    if (progress->memory_max != 0)
        bound = bwl_say(" of %s", bwl_memory_words(progress->memory_max).of);
    (void)fprintf(stderr, "\r\033[K%s: %s states, %u steps deep, %s to go on from, %s%s",
                  meter->what, bwl_count_words(progress->states).of, progress->depth,
                  bwl_count_words(progress->frontier).of, bwl_memory_words(progress->memory).of,
                  bound.of);
    (void)fflush(stderr); /* a display only */
    meter->is_drawn = true;
}

void bwl_meter_wipe(bwl_meter *meter)
{
    if (meter->is_drawn)
        (void)fputs("\r\033[K", stderr);
    meter->is_drawn = false;
}
