/*
 * A fuzz target for lock files: a text, a zero byte, and the replies that its program gets.
 *
 * It checks for any bytes:
 * - an error has a place inside the file, and a text;
 * - parsing is a function: the same text gives the same program, or the same error;
 * - a program sends one command at a time, of its own file, or waits, or ends; it ends once.
 *
 * The seeds are files of lab/locks.
 */
#include "fuzz.h"

#include "protocol/lock_file/lock_file.h"

enum { STEPS_MAX = 200, LEASE_MS = 30, NOW_MS = 1000000 };

static void answer(bwl_event *ret_ev, bwl_redis_value *ret_value, uint8_t byte, uint32_t tag)
{
    *ret_value = (bwl_redis_value){ .is_mine   = (byte & 8) != 0,
                                    .hash      = byte,
                                    .kind      = (bwl_reply_kind)(1 + byte % 3),
                                    .is_number = (byte & 16) != 0 };
    *ret_ev    = (bwl_event){ .kind    = byte == 0 ? BWL_DOWN : BWL_REPLY,
                              .answer  = byte == 1 ? BWL_REFUSED : BWL_YES,
                              .tag     = tag,
                              .number  = byte,
                              .details = ret_value };
}

static void run(const bwl_lock_program *program, bwl_verb verb, const uint8_t *data, size_t size)
{
    const bwl_protocol    *p       = &program->protocol;
    const bwl_lock_request request = { .lease_ms = LEASE_MS, .options = &program->options };
    bwl_lock_file_state    state;
    bwl_effects            fx;
    bwl_redis_value        value;
    bwl_event              ev;

    bwl_no_effects(&fx);
    p->init(&state, 1);
    p->command(&state, &request, &(bwl_command){ .verb = verb, .now = NOW_MS }, &fx);
    for (size_t i = 0; i < STEPS_MAX; i++) {
        bool ends = fx.outcome.kind != BWL_PENDING;
        require(fx.send_count + ends + (fx.wake_at != 0) == 1);
        if (ends)
            return;
        if (fx.send_count == 1) {
            int64_t at = fx.sends[0].args[REDIS_ARG_STEP];
            require(at >= 0 && at < program->ops_count && program->ops[at].kind == BWL_OP_CALL);
            answer(&ev, &value, i < size ? data[i] : 0, fx.sends[0].tag);
        } else {
            ev = (bwl_event){ .kind = BWL_ALARM };
        }
        ev.now = NOW_MS + (bwl_ms)i;
        bwl_no_effects(&fx);
        p->event(&state, &request, &ev, &fx);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bwl_lock_program program, again;
    const uint8_t          *zero      = size > 0 ? memchr(data, 0, size) : NULL;
    size_t                  text_size = zero != NULL ? (size_t)(zero - data) : size;
    const char             *text      = size > 0 ? (const char *)data : "";
    bwl_lock_file_error     error = { 0 }, same = { 0 };

    bool is_good = bwl_lock_program_parse(&program, "fuzz", text, text_size, &error);
    require(bwl_lock_program_parse(&again, "fuzz", text, text_size, &same) == is_good);
    require(error.line == same.line && strcmp(error.text, same.text) == 0);
    require(is_good == (error.line == 0));
    require(is_good || (error.column > 0 && error.text[0] != '\0'));
    if (!is_good)
        return 0;
    require(memcmp(program.ops, again.ops, sizeof program.ops) == 0);
    size_t rest = zero != NULL ? size - text_size - 1 : 0;
    for (unsigned verb = BWL_ACQUIRE; verb <= BWL_RELEASE; verb++)
        if (verb != BWL_EXTEND || program.protocol.extends)
            run(&program, (bwl_verb)verb, zero != NULL ? zero + 1 : data, rest);
    return 0;
}
