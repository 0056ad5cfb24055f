/*
 * 03-poll.c -- several locks awaited at once by one thread, in a loop around poll(2).
 *
 *      03-poll [URL]
 *
 * Another client holds all three, and releases them one after the other, in another order than
 * they are waited for.  Each is acquired when it becomes free, while the others are waited for.
 */
#include <bowline/async.h>
#include <bowline/bowline.h>

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 3, STEP_MS = 50 };

static const char *const names[COUNT]    = { "first", "second", "third" };
static const int         given_in[COUNT] = { 2, 0, 1 };

static void need(int status, const bowline_error *error)
{
    if (status == BOWLINE_OK)
        return;
    fprintf(stderr, "03-poll: %s\n", error->text);
    exit(1);
}

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* One turn of the loop: waits for the client, for at most wait_ms, and dispatches. */
static void turn(bowline_client *client, int64_t wait_ms)
{
    struct pollfd polled = { .fd = bowline_fd(client), .events = POLLIN };
    bowline_error error;

    (void)poll(&polled, 1, (int)wait_ms); /* the next turn repeats an interrupted wait */
    need(bowline_dispatch(client, 0, &error), &error);
}

/* Finishes the operations that have ended; returns how many are under way. */
static int look(bowline_operation *ops[COUNT], bowline_hold *holds[COUNT])
{
    bowline_error error;
    int           waiting = 0;

    for (int i = 0; i < COUNT; i++) {
        if (ops[i] != NULL && bowline_operation_done(ops[i])) {
            need(bowline_acquire_finish(&holds[i], ops[i], &error), &error);
            ops[i] = NULL;
            printf("%s is ours\n", bowline_hold_name(holds[i]));
        }
        waiting += ops[i] != NULL;
    }
    return waiting;
}

/* All at once as well.  A release may have ended already. */
static void release_all(bowline_client *client, bowline_hold *holds[COUNT])
{
    bowline_operation *ops[COUNT];
    bowline_error      error;

    for (int i = 0; i < COUNT; i++)
        need(bowline_release_start(&ops[i], holds[i], &error), &error);
    for (int i = 0; i < COUNT; i++) {
        while (!bowline_operation_done(ops[i]))
            turn(client, STEP_MS);
        need(bowline_finish(ops[i], &error), &error);
    }
    printf("%d released\n", COUNT);
}

int main(int argc, char **argv)
{
    const char        *url = argc > 1 ? argv[1] : "file:";
    bowline_client    *client, *rival;
    bowline_operation *ops[COUNT];
    bowline_hold      *holds[COUNT], *theirs[COUNT];
    bowline_error      error;
    int                given = 0;

    need(bowline_open(&rival, BOWLINE_OPTIONS(.url = url), &error), &error);
    need(bowline_open(&client, BOWLINE_OPTIONS(.url = url, .flags = BOWLINE_NO_THREAD), &error),
         &error);
    for (int i = 0; i < COUNT; i++) {
        need(bowline_acquire(&theirs[i], rival, names[i], NULL, &error), &error);
        need(bowline_acquire_start(&ops[i], client, names[i],
                                   BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
             &error);
    }
    int64_t next_ms = now_ms() + STEP_MS;
    for (int waiting = look(ops, holds); waiting > 0; waiting = look(ops, holds)) {
        /* Each is released after the one before was acquired, to show the order. */
        if (now_ms() >= next_ms && given == COUNT - waiting) {
            printf("the other client releases %s\n", names[given_in[given]]);
            need(bowline_release(theirs[given_in[given++]], &error), &error);
            next_ms = now_ms() + STEP_MS;
        }
        turn(client, STEP_MS);
    }
    release_all(client, holds);
    bowline_close(client);
    bowline_close(rival);
    return 0;
}
