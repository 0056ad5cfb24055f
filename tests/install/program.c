/*
 * program.c -- a user's program: acquires and releases a lock, and prints the library's version.
 */
#include <bowline/bowline.h>
#include <stdio.h>

int main(void)
{
    bowline_client *client;
    bowline_hold   *hold;
    bowline_error   error;

    if (bowline_version() != BOWLINE_VERSION_NUMBER)
        return 2;
    if (bowline_open(&client, BOWLINE_OPTIONS(.url = "thread:"), &error) < 0 ||
        bowline_acquire(&hold, client, "stranger", BOWLINE_ACQUIRE(.wait_ms = 1), &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    int status = bowline_release(hold, &error);
    bowline_close(client);
    return puts(bowline_version_string()) == EOF || status < 0;
}
