/*
 * diagram.h -- what happened between clients and a server, as rows: independent of the output
 * format.
 *
 * text.c, mermaid.c and svg.c render it.  Time goes down.  A row is one of:
 *
 *      ASK      a client sends a command                      client --> server
 *      SERVED   the server executes a command                 server
 *      ANSWER   the client receives the answer                client <-- server
 *      CLIENT   an event of a client
 *      SERVER   an event of the server
 *      TIME     time passes
 *
 * A request that is executed in the next step is one row, ASK with an effect; its cause (acquire,
 * release, an alarm) is in the row too.
 *
 * A request that is executed later is linked: SERVED has the row of its ASK, ANSWER the row of its
 * execution.
 */
#pragma once

#include "lab/base/say.h"

#include <stdint.h>
#include <stdio.h>

enum { BWL_LANES_MAX = 8 };

typedef enum bwl_row_kind {
    BWL_ROW_ASK = 1,
    BWL_ROW_SERVED,
    BWL_ROW_ANSWER,
    BWL_ROW_CLIENT,
    BWL_ROW_SERVER,
    BWL_ROW_TIME,
} bwl_row_kind;

/* The state of a client from a row to the next. */
typedef enum bwl_lane {
    BWL_LANE_IDLE = 1,
    BWL_LANE_BUSY,     /* acquires or releases */
    BWL_LANE_BELIEVES, /* believes that it holds the lock */
    BWL_LANE_OVERTIME, /* works after its lease */
} bwl_lane;

enum { BWL_NO_ROW = -1 };

typedef struct bwl_row {
    bwl_row_kind kind;
    unsigned     step;    /* the step of the schedule, from 1; several rows may share it */
    unsigned     client;  /* ASK, SERVED, ANSWER, CLIENT */
    unsigned     server;  /* ASK, SERVED, ANSWER: of the command */
    int64_t      at;      /* milliseconds since the beginning */
    bool         is_late; /* SERVED: on a broken connection */
    bool         is_bad;  /* CLIENT, SERVER, TIME: a fault */
    bool         is_held; /* the note says that the client has got the lock */
    int          from;    /* SERVED: the row of its ASK; ANSWER: the row of its execution */
    uint32_t     tag;     /* ASK, SERVED, ANSWER: of the command ... */
    uint8_t      round;   /* ... in which round of the client */
    bwl_text     cause;   /* ASK: the cause; "" if it is in the row above */
    bwl_text     what;    /* ASK, SERVED: the command; ANSWER: the answer; else the event */
    bwl_text     effect;  /* at the server: the answer and the key; or "" */
    bwl_text     clock;   /* what a clock decides here, or that it steps; or "" */
    bwl_text     note;    /* the effect on the client; or "" */
    bwl_lane     lanes[BWL_LANES_MAX];
} bwl_row;

typedef struct bwl_picture {
    const char *title;
    const char *server;                    /* the head of its lane */
    unsigned    clients;                   /* lanes */
    bwl_text    clocks[BWL_LANES_MAX + 1]; /* how each clock is wrong, the server's last; or "" */
    bwl_row    *rows;
    size_t      rows_count;
    size_t      rows_capacity;
    bwl_text    moral; /* the result; "": nothing is broken */
} bwl_picture;

/* The head of its lane: A, B, C ... */
char bwl_client_name(unsigned client);

/* A new row at the end; valid until the next one is added. */
bwl_row *bwl_picture_add(bwl_picture *picture, bwl_row row);
void     bwl_picture_free(bwl_picture *picture);

/* Text inside XML and HTML: with & < > " ' escaped, control characters as a space, and bytes that
 * are no character as U+FFFD. */
void bwl_put_escaped(FILE *out, const char *text);

/* ---- text.c: as text ------------------------------------------------------------------------- */

/* A diagram of characters: time goes down, a lane for each client and one for the server.
 *
 *      ms  A                       B                       redis
 *       0  |--- acquire: SET A1 ----------------------------->| yes; key A1 for 30 ms
 *          #<-------- yes ------------------------------------|   <== A HOLDS, for 28 ms
 *
 * In a client's lane, # means that it believes it holds the lock, ! that it works after its lease,
 * | that it acquires or releases, : that it does nothing.  Each line begins with `prefix`; the last
 * ones are the result.  With two clients it has 100 columns: a longer text goes on in the next
 * line. */
void bwl_draw_picture(FILE *out, const char *prefix, const bwl_picture *picture);

/* ---- mermaid.c: a sequence diagram of Mermaid, which GitHub and others draw in a page -------- */

void bwl_mermaid(FILE *out, const bwl_picture *picture);

/* ---- svg.c: as SVG, for light and dark screens and for phones -------------------------------- */

/* A bar on a client's line is the time in which it believes that it holds the lock: two bars at the
 * same time are two holders.  A hollow bar is a client that works after its lease.  `is_alone`: a
 * file of its own; otherwise without the style, for a page that has it once. */
void              bwl_svg(FILE *out, const bwl_picture *picture, bool is_alone);
extern const char bwl_svg_style[];
