/*
 * resp.h -- RESP, the protocol of a Redis server, versions 2 and 3.
 *
 * Three independent parts.  The scanner finds the end of a frame while its bytes arrive, and frames
 * split a stream with it.  The cursor reads the values of a frame that the scanner has accepted.
 * The writer puts a command into a buffer.  None does I/O, allocates memory or has global state.
 * Bytes are borrowed: a text is valid as long as the buffer of the caller.
 *
 * The scanner is a state machine with one byte as its input.  Its result depends only on the bytes
 * so far, not on how the network splits them.  It refuses a frame at the first byte that breaks a
 * rule, and a count or a length at the digit that exceeds a limit.
 *
 *      AT_TYPE --'+' '-' ',' '('--> AT_TEXT ----CR--+
 *         |  |---'#' '_'----------> AT_MARK ----CR--+--> AT_LINE_END --LF--> item over
 *         |  `---the other types--> AT_NUMBER --CR--+         |
 *         |                                              LF of '$' '!' '='
 *         |                                                   v
 *     item over <--LF-- AT_BULK_LF <--CR-- AT_BULK <-- [AT_PREFIX, only '=']
 *
 * The items of an array are tracked as a count of missing items for each level, without recursion.
 *
 * The scanner is stricter than most clients.  It accepts numbers only as Redis writes them.  A line
 * ends with CR LF, and has no other CR or LF.  A push is never inside another value, and has no
 * attribute.  Streamed types ("$?", "*?", ';', '.') are refused: a server sends them only on
 * request.
 *
 * It does not check that the text of ',' and '(' is a number, that text is UTF-8, or that the keys
 * of a map are different.
 *
 * Source: redis.io, "Redis serialization protocol specification".
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame exactly at a limit is accepted.  DEPTH: nested aggregates, the outermost included.
 * ELEMENTS: all values of a frame except the outermost one.  BULK: bytes of a payload.  LINE: bytes
 * between the type byte and CR LF.  FRAME: all bytes. */
enum {
    BWL_RESP_DEPTH_MAX    = 8,
    BWL_RESP_ELEMENTS_MAX = 1024,
    BWL_RESP_BULK_MAX     = 64 * 1024,
    BWL_RESP_LINE_MAX     = 1024,
    BWL_RESP_FRAME_MAX    = 256 * 1024,
};

/* MORE is 0, because { 0 } is the start of a scan. */
typedef enum bwl_resp_status {
    BWL_RESP_TOO_BIG   = -2, /* well formed so far, but it exceeds a limit */
    BWL_RESP_MALFORMED = -1, /* not RESP, with any bytes that may follow */
    BWL_RESP_MORE      = 0,  /* well formed so far, but not complete */
    BWL_RESP_OK        = 1,  /* a whole frame */
} bwl_resp_status;

/* What the next byte belongs to.  AT_TYPE is 0 for the same reason as MORE. */
typedef enum bwl_resp_state {
    BWL_RESP_AT_TYPE = 0,
    BWL_RESP_AT_TEXT,
    BWL_RESP_AT_MARK,
    BWL_RESP_AT_NUMBER,
    BWL_RESP_AT_LINE_END,
    BWL_RESP_AT_PREFIX,
    BWL_RESP_AT_BULK,
    BWL_RESP_AT_BULK_LF,
} bwl_resp_state;

/* Begin with { 0 }.  Callers read `size` and `status`; the other fields are private. */
typedef struct bwl_resp_scan {
    size_t          size;                     /* bytes read; after OK, the length of the frame */
    bwl_resp_status status;                   /* final, except MORE */
    bwl_resp_state  state;                    /* in the present item */
    char            type;                     /* first byte of the present item */
    bool            negative;                 /* its number has a sign */
    uint64_t        number;                   /* magnitude of its number so far */
    uint32_t        taken;                    /* bytes read of its line or prefix */
    uint32_t        bulk_left;                /* bytes missing of its payload */
    uint32_t        elements;                 /* values in all aggregates of the frame so far */
    uint32_t        depth;                    /* aggregates with missing items */
    uint16_t        left[BWL_RESP_DEPTH_MAX]; /* missing items of each of them */
} bwl_resp_scan;

/* Scans a frame that begins at `bytes`.  `size` is the number of all bytes that have arrived, old
 * and new; the buffer may have moved, and only new bytes are read.  After OK, scan->size is the
 * length of the frame; bytes after it belong to the next frame.  After TOO_BIG or MALFORMED,
 * scan->size counts the bytes up to the refused one, inclusive. */
bwl_resp_status bwl_resp_scan_bytes(bwl_resp_scan *scan, const char *bytes, size_t size);

/* Splits a stream into frames.  For a new stream, set all but passes_long to 0. */
typedef struct bwl_frames {
    bwl_resp_scan scan;
    uint64_t      long_left;   /* bytes of a long value that are still to be skipped */
    bool          passes_long; /* set by the owner: a value longer than a frame may come */
} bwl_frames;

typedef enum bwl_frame_status {
    BWL_FRAME_MORE = 1,  /* no whole frame yet */
    BWL_FRAME_WHOLE,     /* one frame */
    BWL_FRAME_PASSED,    /* the end of a value that was skipped */
    BWL_FRAME_MALFORMED, /* not RESP */
    BWL_FRAME_TOO_BIG,   /* longer than BWL_RESP_FRAME_MAX */
} bwl_frame_status;

/* Scans the `size` bytes that are not consumed yet.  *ret_consumed: how many of them are consumed
 * now; for WHOLE that is the frame, which begins at `bytes`.  While passes_long is set, a bulk
 * string that is too long for a frame is consumed in pieces, up to 1 TiB. */
bwl_frame_status bwl_frames_next(bwl_frames *frames, const char *bytes, size_t size,
                                 size_t *ret_consumed);

typedef struct bwl_bytes {
    const char *at;
    size_t      size;
} bwl_bytes;

/*
 * One value.  `type` is its first byte on the wire, except that both nulls of RESP2 ("$-1" and
 * "*-1") are '_' as in RESP3.
 *
 *      + - , (     text: the line                 : #     integer; for '#' it is 0 or 1
 *      $ ! =       text: the payload              _       nothing
 *      * ~ > % |   count: the values inside
 *
 * For '%' and '|' count is twice the number of pairs: keys and values both count.  A '|'
 * (attribute) annotates the value that follows it.  It is not an item of the aggregate around it,
 * and the value that it annotates is not in its count.  In the scanner it is a level of depth until
 * that value ends.  The text of '=' includes its prefix, three bytes and a colon.
 */
typedef struct bwl_resp_value {
    char        type;
    int64_t     integer;
    uint32_t    count;
    const char *text; /* NULL for a type without text; borrowed from the frame, without a NUL */
    size_t      size;
} bwl_resp_value;

typedef struct bwl_resp_cursor {
    const char *bytes;
    size_t      size;
    size_t      at; /* the type byte of the next value, or size */
} bwl_resp_cursor;

/* A cursor at the start of a frame.  `size` is the scan->size of a scan with OK. */
bwl_resp_cursor bwl_resp_begin(const char *bytes, size_t size);

/* Reads the next value in wire order: an aggregate, then its items.  False at the end. */
bool bwl_resp_next(bwl_resp_cursor *cursor, bwl_resp_value *ret_value);

/* As bwl_resp_next, but skips attributes. */
bool bwl_resp_next_bare(bwl_resp_cursor *cursor, bwl_resp_value *ret_value);

/* Skips all values inside `aggregate`, which must be the last value read.  Nothing for a value
 * without items.  After a '|', the annotated value is next. */
void bwl_resp_skip(bwl_resp_cursor *cursor, const bwl_resp_value *aggregate);

/* True if the text of the value is exactly this.  False for a value without text, such as a
 * null. */
bool bwl_resp_text_is(const bwl_resp_value *value, const char *text);

/* Writes a command into a buffer of the caller, which sets bytes and capacity.  An item that does
 * not fit is omitted as a whole, and so are all later items: a command with a missing item would be
 * another command.  Send nothing from a writer that has overflowed. */
typedef struct bwl_resp_writer {
    char  *bytes;
    size_t size;
    size_t capacity;
    bool   overflowed;
} bwl_resp_writer;

/* A command is an array of `count` items; its name is the first. */
void bwl_resp_write_array(bwl_resp_writer *writer, uint32_t count);
void bwl_resp_write_bulk(bwl_resp_writer *writer, const char *bytes, size_t size);
void bwl_resp_write_text(bwl_resp_writer *writer, const char *text);

/* Writes a bulk string of decimal digits: commands have numbers as text. */
void bwl_resp_write_integer(bwl_resp_writer *writer, int64_t integer);

/* Writes a whole command: its words, with one space between two.  The word %s is a text, %.*s are
 * bytes and their size, %lld is a number. */
__attribute__((format(printf, 2, 3))) void bwl_resp_write(bwl_resp_writer *writer,
                                                          const char      *format, ...);
void bwl_resp_write_list(bwl_resp_writer *writer, const char *format, va_list list);
