/*
 * 01-acquire.c -- acquire a lock, work, release it.
 *
 *      01-acquire [URL [NAME]]
 *
 * Waits for five seconds at most.  Run it twice at the same time.
 */
#include <bowline/bowline.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

static int complain(const bowline_error *error)
{
    fprintf(stderr, "01-acquire: %s: %s\n", bowline_status_name(error->status), error->text);
    return 1;
}

/* What can be asked about a hold. */
static void describe(bowline_hold *hold)
{
    int64_t left_ms = bowline_hold_left_ms(hold);

    if (bowline_hold_fence(hold) != 0)
        printf("%s is ours, with fence %" PRIu64 "\n", bowline_hold_name(hold),
               bowline_hold_fence(hold));
    else
        printf("%s is ours, without a fence\n", bowline_hold_name(hold));
    if (left_ms == INT64_MAX)
        puts("until we release it");
    else
        printf("for the next %" PRId64 " ms, and renewed before they are over\n", left_ms);
}

int main(int argc, char **argv)
{
    const char     *url  = argc > 1 ? argv[1] : "file:";
    const char     *name = argc > 2 ? argv[2] : "example";
    bowline_client *client;
    bowline_hold   *hold;
    bowline_error   error;

    if (bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error) < 0)
        return complain(&error);
    if (bowline_acquire(&hold, client, name, BOWLINE_ACQUIRE(.wait_ms = 5000), &error) < 0) {
        bowline_close(client);
        return complain(&error);
    }
    describe(hold);
    /* ... the work ... */
    int status = bowline_release(hold, &error);
    bowline_close(client);
    /* LOST: the hold ended before the release, and another holder may have worked meanwhile. */
    if (status < 0)
        return complain(&error);
    puts("released");
    return 0;
}
