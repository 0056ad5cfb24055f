/*
 * as_written.h -- locks exactly as articles publish them, mistakes included.
 *
 * Each is a short program: a command to the server, and the next step for each answer.  They follow
 * the articles and their listings literally; where a listing differs from its text, the text is a
 * protocol in src/protocol and the listing is here.  None of this runs against a server: these are
 * the explorer's negative controls.
 */
#pragma once

#include "core/core.h"

/* "Redis的分布式锁 / setnx", ways 1 to 6. */
extern const bwl_protocol bwl_written_way_1; /* SETNX; DEL */
extern const bwl_protocol bwl_written_way_2; /* ... and EXPIRE 0 when DEL did not succeed */
extern const bwl_protocol bwl_written_way_3; /* a timestamp; when it is over: DEL, SETNX */
extern const bwl_protocol bwl_written_way_4; /* a timestamp; when it is over: GETSET */
extern const bwl_protocol bwl_written_way_5; /* SET NX EX; DEL */
extern const bwl_protocol bwl_written_way_6; /* SET NX EX password; a script compares and deletes */
extern const bwl_protocol bwl_written_get_del; /* ... the same with GET, then DEL */

/* "Redis实现分布式锁": milliseconds, a guard before DEL. */
extern const bwl_protocol bwl_written_by_time;     /* GETSET decides by time alone */
extern const bwl_protocol bwl_written_no_sleep;    /* ... sleep_time is 0: tries again at once */
extern const bwl_protocol bwl_written_guard_meant; /* DEL if the timestamp is 3 ms ahead */
extern const bwl_protocol bwl_written_guard; /* 0.003 ms: a buffer in seconds, compared with ms */

/* "Lock / watch与锁 / 分布式锁". */
extern const bwl_protocol bwl_written_watch;            /* as its text means it */
extern const bwl_protocol bwl_written_watch_ttl;        /* TTL compared with -2: no repair */
extern const bwl_protocol bwl_written_watch_no_end;     /* the loop's variable never changes */
extern const bwl_protocol bwl_written_watch_no_sleep;   /* sleep(0.2) is sleep(0) */
extern const bwl_protocol bwl_written_watch_queued;     /* GET after MULTI: "QUEUED" is no uuid */
extern const bwl_protocol bwl_written_watch_exec_first; /* DEL after EXEC: nothing is watched */
extern const bwl_protocol bwl_written_watch_del;        /* the repair is DEL instead of EXPIRE */

/* "利用redis实现分布式锁": the Jedis lock, and the second rule of its summary. */
extern const bwl_protocol bwl_written_jedis;
extern const bwl_protocol bwl_written_jedis_numeric;
extern const bwl_protocol bwl_written_jedis_tenth;   /* a timestamp of a tenth of the lease */
extern const bwl_protocol bwl_written_jedis_minus_1; /* waits a hundred times too long */
