/*
 * stage.h -- where a schedule is played with a real server: the world, whose clients hear what that
 * answers, the server, the connections; and the comparison with the model.
 */
#ifndef BWL_LAB_REPLAY_STAGE_H
#define BWL_LAB_REPLAY_STAGE_H

#include "lab/replay/line.h"
#include "lab/replay/real_server.h"
#include "lab/report/record.h"

#define BWL_STAGE_KEY "bowline:{lab}"

typedef struct bwl_stage {
    const bwl_record *record;
    bwl_world         w; /* its clients hear the real server */
    bwl_real_server   server;
    bwl_line          watcher; /* asks what there is, and puts there what must be by hand */
    bwl_line          lines[BWL_CLIENTS_MAX];
    bwl_line late[BWL_CLIENTS_MAX][BWL_MESSAGES_MAX]; /* as the clients' own late messages */
    unsigned scale;
    bwl_ms   began; /* really */
    bwl_ms   started;
    unsigned answers; /* compared */
    bwl_text fault[3];
} bwl_stage;

/* Milliseconds on a clock of this machine. */
bwl_ms bwl_real_ms(void);

/* Always false: keeps what went wrong, for the end. */
bool bwl_stage_fails(bwl_stage *s, const char *what, bwl_text why);

/* A line of the log begins, or is written whole. */
void bwl_stage_tells(const bwl_stage *s, unsigned step, unsigned client, const char *what);
void bwl_stage_tells_of_server(const bwl_stage *s, unsigned step, const char *what);

/* A command of the lab's own, beside the clients. */
bool bwl_stage_asks(bwl_stage *s, const char *command, bwl_text *ret_said);

/* Is the real key what the model's is?  Its time is compared by what the server answers later. */
bool bwl_stage_compares_key(bwl_stage *s);

/* Makes the real key what the model's is; and says so. */
bool bwl_stage_puts_key(bwl_stage *s);
bool bwl_stage_puts_by_hand(bwl_stage *s, unsigned step, const char *what);

/* Opens the line, unless it is. */
bool bwl_stage_opens(bwl_stage *s, bwl_line *line);

/* Puts a client's question to the real server. */
bool bwl_stage_puts(bwl_stage *s, bwl_line *line, const bwl_message *message,
                    bwl_redis_reply *ret_reply, bwl_text *ret_said);

/* Did both say the same, in all that a machine looks at?  `served` is the model's; its number. */
bool bwl_stage_is_same(const bwl_stage *s, const bwl_message *served, const bwl_redis_reply *real);
uint64_t bwl_stage_number(const bwl_stage *s, const bwl_message *served);

#endif
