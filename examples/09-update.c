/*
 * 09-update.c -- change a value in Redis without a lock: take a seat, if there is one left.
 *
 *      09-update URL [KEY [SEATS]]
 *
 * KEY holds how many seats are left; without the key there are SEATS (3).  INCR and DECR cannot do
 * this alone, because they have no limit.  Run many at once: no seat is sold twice.
 */
#include <bowline/update.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct sale {
    long seats; /* at the beginning */
    long left;  /* after this one; -1: there was none */
    char text[24];
} sale;

/* Uses the old value and nothing else: it may be called several times. */
static int take_seat(bowline_change *change, void *context)
{
    sale *s    = context;
    long  left = change->old_value != NULL ? strtol(change->old_value, NULL, 10) : s->seats;

    s->left = left - 1;
    if (left <= 0)
        return BOWLINE_UPDATE_LEAVE;
    change->value_size = (size_t)snprintf(s->text, sizeof s->text, "%ld", s->left);
    change->value      = s->text;
    return BOWLINE_UPDATE_WRITE;
}

int main(int argc, char **argv)
{
    const char     *url       = argc > 1 ? argv[1] : "file:";
    const char     *key       = argc > 2 ? argv[2] : "seats";
    sale            s         = { .seats = argc > 3 ? strtol(argv[3], NULL, 10) : 3 };
    uint32_t        conflicts = 0;
    bowline_client *client;
    bowline_error   error;

    int status = bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error);
    if (status == BOWLINE_OK) {
        status =
            bowline_update(client, key, take_seat, &s,
                           BOWLINE_UPDATE(.wait_ms = 5000, .ret_conflicts = &conflicts), &error);
        bowline_close(client);
    }
    if (status < 0) {
        /* UNKNOWN: the seat may be ours.  A program that has to know stores names instead of a
         * number, and reads the key. */
        fprintf(stderr, "09-update: %s: %s\n", bowline_status_name(status), error.text);
        return 2;
    }
    if (s.left < 0) {
        puts("sold out");
        return 1;
    }
    printf("a seat is ours, %ld left (%" PRIu32 " conflicts)\n", s.left, conflicts);
    return 0;
}
