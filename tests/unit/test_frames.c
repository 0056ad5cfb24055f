/*
 * test_frames.c -- which frames are skipped, and which bytes are none.
 */
#include "engine/redis/wire/resp.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* Feeds the bytes in pieces of `step`.  Writes how each frame ended as one letter: W whole, P
 * skipped, X malformed, B too big. */
static void read_in_pieces(char *ret_letters, bwl_frames *frames, const char *bytes, size_t size,
                           size_t step)
{
    static const char letters[] = "?.WPXB";
    size_t            begin     = 0;
    size_t            end       = 0;

    while (end < size) {
        bwl_frame_status status = BWL_FRAME_MORE;
        size_t           consumed;
        end += step < size - end ? step : size - end;
        do {
            status = bwl_frames_next(frames, bytes + begin, end - begin, &consumed);
            assert_in_range(consumed, 0, end - begin);
            begin += consumed;
            if (status != BWL_FRAME_MORE)
                *ret_letters++ = letters[status];
        } while (status == BWL_FRAME_WHOLE || status == BWL_FRAME_PASSED);
        if (status != BWL_FRAME_MORE)
            break;
    }
    *ret_letters = '\0';
}

TEST(frames_other_bytes_are_malformed)
{
    bwl_frames frames = { .passes_long = false };
    char       letters[4];

    read_in_pieces(letters, &frames, "HTTP/1.1 400\r\n", 14, 14);
    assert_string_equal(letters, "X");
}

/* A bulk string longer than a frame, and the frame after it. */
TEST(frames_long_value_is_skipped_only_where_it_is_allowed)
{
    size_t length = (size_t)BWL_RESP_FRAME_MAX * 2;
    size_t room   = length + 64;
    char  *bytes  = malloc(room);
    char   letters[8];

    assert_non_null(bytes);
    int head = snprintf(bytes, room, "$%zu\r\n", length);
    memset(bytes + head, 'x', length);
    size_t size = (size_t)head + length;
    memcpy(bytes + size, "\r\n+OK\r\n", 7);
    size += 7;
    for (size_t step = 1; step <= size; step = step * 7 + 1) {
        bwl_frames frames = { .passes_long = true };
        read_in_pieces(letters, &frames, bytes, size, step);
        assert_string_equal(letters, "PW");
    }
    bwl_frames frames = { .passes_long = false };
    read_in_pieces(letters, &frames, bytes, size, size);
    assert_string_equal(letters, "B");
    free(bytes);
}

TEST(frames_long_line_that_is_no_length_is_too_big)
{
    bwl_frames frames = { .passes_long = true };
    char       letters[4];

    read_in_pieces(letters, &frames, "$99999999999999999999999999\r\n", 29, 29);
    assert_true(strcmp(letters, "B") == 0 || strcmp(letters, "X") == 0);
}

TEST(frames_reset_drops_half_a_frame)
{
    bwl_frames frames = { .passes_long = false };
    size_t     consumed;

    assert_int_equal(bwl_frames_next(&frames, "$5\r\nab", 6, &consumed), BWL_FRAME_MORE);
    frames = (bwl_frames){ .long_left = 0 };
    assert_int_equal(bwl_frames_next(&frames, "+OK\r\n", 5, &consumed), BWL_FRAME_WHOLE);
    assert_int_equal(consumed, 5);
}
