/*
 * resp.h -- RESP, the protocol of a Redis server, versions 2 and 3.
 *
 * Three independent parts.  The scanner finds the end of a frame while its bytes arrive.  The
 * cursor reads the values of a frame that the scanner has accepted.  The writer puts a command
 * into a buffer.  None does I/O, allocates memory or has global state.  Bytes are borrowed: a text
 * is valid as long as the buffer of the caller.
 *
 * The scanner is a state machine with one byte as its input.  Its result depends only on the bytes
 * so far, not on how the network splits them.  It refuses a frame at the first byte that breaks a
 * rule, and a count or a length at the digit that exceeds a limit: it never waits for more bytes
 * than that.
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
 * The codec is stricter than most clients.  Numbers are written in the one way redis writes them;
 * every line ends with CR LF and holds neither before that; a push is never inside another value
 * nor annotated.  Streamed types ("$?", "*?", ';', '.') are refused: no server sends them unasked.
 *
 * Not promised: the text of ',' and '(' is not checked to be a number, text is not checked to be
 * UTF-8, and the keys of a map are not checked to differ.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_RESP_H
#define BWL_ENGINE_REDIS_WIRE_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame exactly at a limit is accepted.  DEPTH counts open aggregates, the outermost included.
   ELEMENTS counts every value of a frame but the outermost one.  BULK is the payload alone, LINE
   what stands between the type byte and CR LF, FRAME everything. */
enum {
    BWL_RESP_DEPTH_MAX    = 8,
    BWL_RESP_ELEMENTS_MAX = 1024,
    BWL_RESP_BULK_MAX     = 64 * 1024,
    BWL_RESP_LINE_MAX     = 1024,
    BWL_RESP_FRAME_MAX    = 256 * 1024,
};

/* MORE is 0 because a scan that is all zeros has seen nothing and wants more. */
typedef enum bwl_resp_status {
    BWL_RESP_TOO_BIG   = -2, /* well formed so far, but over one of the limits */
    BWL_RESP_MALFORMED = -1, /* not RESP, whatever may follow */
    BWL_RESP_MORE      = 0,  /* a good beginning */
    BWL_RESP_OK        = 1,  /* a whole frame */
} bwl_resp_status;

/* What the next byte is to be.  AT_TYPE is 0 for the same reason as MORE. */
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

/* = { 0 } starts a frame.  Callers read `size` and `status`; the rest is the machine's. */
typedef struct bwl_resp_scan {
    size_t          size;      /* bytes judged; once OK, the length of the frame */
    bwl_resp_status status;    /* the verdict; final unless it is MORE */
    bwl_resp_state  state;     /* in the item that is being read ... */
    char            type;      /* ... whose first byte was this, */
    bool            negative;  /* whose number has a sign, */
    uint64_t        number;    /* and this magnitude so far, */
    uint32_t        taken;     /* with this many bytes of the line or prefix behind us, */
    uint32_t        bulk_left; /* and these of the payload ahead. */
    uint32_t        elements;  /* claimed by all aggregates of the frame so far */
    uint32_t        depth;     /* aggregates that miss items, */
    uint16_t        left[BWL_RESP_DEPTH_MAX]; /* and how many each of them misses */
} bwl_resp_scan;

/* Judges a frame that begins at `bytes`.  `size` is all that has arrived, not what is new: call it
   again with more bytes (the buffer may have moved) and only the new ones are looked at.  On OK
   scan->size is the length of the frame; bytes behind it belong to the next frame.  On a refusal
   it counts the bytes up to and including the one that was refused, whose `state` is kept. */
bwl_resp_status bwl_resp_scan_bytes(bwl_resp_scan *scan, const char *bytes, size_t size);

/*
 * One value.  `type` is its first byte on the wire, except that both nulls of RESP2 ("$-1" and
 * "*-1") are '_' as in RESP3.
 *
 *      + - , (     text: the line                 : #     integer; for '#' it is 0 or 1
 *      $ ! =       text: the payload              _       nothing
 *      * ~ > % |   count: the values inside
 *
 * For '%' and '|' count is twice the number of pairs: keys and values are counted alike.  A '|'
 * (attribute) is a remark on the value that comes after it: it is not an item of the aggregate it
 * stands in, and the value it remarks on is not in its count.  In the scanner it takes up a level
 * of depth until that value is over.  The text of '=' keeps its prefix, three bytes and a colon.
 */
typedef struct bwl_resp_value {
    char        type;
    int64_t     integer;
    uint32_t    count;
    const char *text; /* NULL for a type without text; borrowed from the frame, no NUL behind it */
    size_t      size;
} bwl_resp_value;

typedef struct bwl_resp_cursor {
    const char *bytes;
    size_t      size;
    size_t      at; /* the type byte of the next value, or size */
} bwl_resp_cursor;

/* Starts a walk over one frame: `size` must be the scan->size of a scan that said OK. */
bwl_resp_cursor bwl_resp_begin(const char *bytes, size_t size);

/* Reads the next value in wire order, an aggregate before what it holds.  False at the end. */
bool bwl_resp_next(bwl_resp_cursor *cursor, bwl_resp_value *ret_value);

/* As bwl_resp_next, for callers that have no use for attributes: passes over them. */
bool bwl_resp_next_bare(bwl_resp_cursor *cursor, bwl_resp_value *ret_value);

/* Passes over all that is inside `aggregate`, which must be the value read last.  For a value that
   holds nothing this does nothing; for a '|' the annotated value is next. */
void bwl_resp_skip(bwl_resp_cursor *cursor, const bwl_resp_value *aggregate);

/* Is the text of the value exactly this?  False for a value without text, such as a null. */
bool bwl_resp_text_is(const bwl_resp_value *value, const char *text);

/* A command being written into memory of the caller, who sets bytes and capacity.  An item that
   does not fit is left out whole, and so is all that comes after it: a command with a hole would
   be a different command.  Send nothing from a writer that has overflowed. */
typedef struct bwl_resp_writer {
    char  *bytes;
    size_t size;
    size_t capacity;
    bool   overflowed;
} bwl_resp_writer;

/* A command is an array of `count` items, the name of the command among them. */
void bwl_resp_write_array(bwl_resp_writer *writer, uint32_t count);
void bwl_resp_write_bulk(bwl_resp_writer *writer, const char *bytes, size_t size);
void bwl_resp_write_text(bwl_resp_writer *writer, const char *text);

/* Commands carry numbers as text: this writes a bulk string of decimal digits. */
void bwl_resp_write_integer(bwl_resp_writer *writer, int64_t integer);

#endif
