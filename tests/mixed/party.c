/*
 * party.c -- one client of an older bowline or of this one, which takes and releases a lock as it
 * is asked to.  The older one (-DOLDER) knows exclusive holds only.  See order.py.
 *
 *      party URL
 *
 * Each line of its input is answered by one line when the command is done:
 *
 *      take WEIGHT LIMIT WAIT_MS   held FENCE, or the name of a status.  WEIGHT 0: an exclusive
 *                                  hold; LIMIT 0: a shared one; else so many permits of LIMIT.
 *      release                     released, or the name of a status
 */
#include <bowline/bowline.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bowline_hold *hold;

static void take(bowline_client *client, const char *words)
{
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    char                   *rest;
    unsigned long           weight = strtoul(words, &rest, 10);
    unsigned long           limit  = strtoul(rest, &rest, 10);

    options.wait_ms = strtoll(rest, NULL, 10);
#ifdef OLDER
    if (weight > 0 || limit > 0)
        exit(2);
#else
    if (weight > 0)
        options.mode = limit > 0 ? BOWLINE_PERMITS : BOWLINE_SHARED;
    if (limit > 0)
        options.permits = (uint32_t)weight;
    options.limit = (uint32_t)limit;
#endif
    int status = bowline_acquire(&hold, client, "x", &options, NULL);
    if (status == BOWLINE_OK)
        (void)printf("held %llu\n", (unsigned long long)bowline_hold_fence(hold));
    else
        (void)printf("%s\n", bowline_status_name(status));
}

int main(int argc, char **argv)
{
    bowline_client *client;
    char            line[100];

    if (argc != 2 || bowline_open(&client, BOWLINE_OPTIONS(.url = argv[1]), NULL) < 0)
        return 2;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "take ", 5) == 0) {
            take(client, line + 5);
        } else if (strcmp(line, "release\n") == 0 && hold != NULL) {
            int status = bowline_release(hold, NULL);
            hold       = NULL;
            (void)puts(status == BOWLINE_OK ? "released" : bowline_status_name(status));
        } else {
            return 2;
        }
    }
    bowline_close(client);
    return EXIT_SUCCESS;
}
