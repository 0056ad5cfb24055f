/*
 * picture.h -- a schedule as rows, before anybody has decided what it is drawn on.
 *
 * It is built once, by walking the schedule; draw.c, svg.c and mermaid.c put it on paper.  Time
 * goes down: one row after the other.  What a row is about:
 *
 *      ASK      a client's question goes to the server        client --> server
 *      SERVED   the server carries a question out             server
 *      ANSWER   the client hears the answer                   client <-- server
 *      CLIENT   something happens to a client, or it does something
 *      SERVER   something happens to the server
 *      TIME     time passes
 *
 * A question that is carried out in the very next step is one row, ASK with an effect; what made
 * the client ask (acquire, release, an alarm) stands in its row too.  No step is left out.
 *
 * A question that is carried out later is linked: SERVED names the row of its ASK, ANSWER that
 * where the server carried it out.
 */
#ifndef BWL_LAB_REPORT_PICTURE_H
#define BWL_LAB_REPORT_PICTURE_H

#include "lab/search/explore.h"
#include "lab/base/say.h"

typedef enum bwl_row_kind {
    BWL_ROW_ASK = 1,
    BWL_ROW_SERVED,
    BWL_ROW_ANSWER,
    BWL_ROW_CLIENT,
    BWL_ROW_SERVER,
    BWL_ROW_TIME,
} bwl_row_kind;

/* What a client is during a row, and until the next. */
typedef enum bwl_lane {
    BWL_LANE_IDLE = 1,
    BWL_LANE_BUSY,     /* wants the lock, or is letting go of it */
    BWL_LANE_BELIEVES, /* that the lock is surely its own */
    BWL_LANE_OVERTIME, /* its time is over, and it works on */
} bwl_lane;

enum { BWL_NO_ROW = -1 };

typedef struct bwl_row {
    bwl_row_kind kind;
    unsigned     step; /* which transition of the schedule, from 1: more than one row may have it */
    unsigned     client;  /* ASK, SERVED, ANSWER, CLIENT */
    unsigned     server;  /* ASK, SERVED, ANSWER: of the question */
    bwl_ms       at;      /* since the beginning */
    bool         is_late; /* SERVED: by a connection that is no more */
    bool         is_bad;  /* CLIENT, SERVER, TIME: a fault */
    int          from;    /* SERVED: the row of its ASK; ANSWER: where it was carried out */
    uint32_t     tag;     /* ASK, SERVED, ANSWER: of the question ... */
    uint8_t      round;   /* ... in which round of the client */
    bwl_text     cause;   /* ASK: what made the client ask; "" if it is in the row above */
    bwl_text     what;    /* ASK, SERVED: the question; ANSWER: the answer; else what happens */
    bwl_text     effect;  /* at the server: the answer given, and what it has now; or "" */
    bwl_text     note;    /* what became of the client; or "" */
    bwl_lane     lanes[BWL_CLIENTS_MAX];
} bwl_row;

typedef struct bwl_picture {
    const bwl_scenario *scenario;
    const char         *title;
    unsigned            clients;
    unsigned            steps;
    unsigned            broken; /* invariants */
    bwl_row            *rows;
    size_t              rows_count;
    size_t              rows_capacity;
} bwl_picture;

/* Walks the schedule.  Free with bwl_picture_free. */
bwl_picture bwl_picture_of(const bwl_scenario *s, const bwl_transition *path, unsigned count,
                           unsigned broken);
void        bwl_picture_free(bwl_picture *picture);

/* "broken in 7 steps: one holder: two clients believe ..." */
bwl_text bwl_picture_moral(const bwl_picture *picture);

#endif
