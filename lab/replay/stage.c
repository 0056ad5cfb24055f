#include "lab/replay/stage.h"
#include "core/text.h"
#include "lab/model/words.h"
#include "lab/report/names.h"
#include "engine/redis/wire/value.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

bwl_ms bwl_real_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return (bwl_ms)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool bwl_stage_fails(bwl_stage *s, const char *what, bwl_text why)
{
    s->fault[0] = bwl_say("%s", what);
    s->fault[1] = why;
    s->fault[2] = bwl_say("%s", "");
    return false;
}

void bwl_stage_tells(const bwl_stage *s, unsigned step, unsigned client, const char *what)
{
    (void)printf("%4u %6" PRId64 "  %c  %s", step, bwl_real_ms() - s->began,
                 bwl_client_name(client), what);
}

void bwl_stage_tells_of_server(const bwl_stage *s, unsigned step, const char *what)
{
    (void)printf("%4u %6" PRId64 "  -  %s\n", step, bwl_real_ms() - s->began, what);
}

/* Tokens are made of their numbers, so that their bytes identify them. */
static void write_token(char ret_text[BWL_TOKEN_MAX + 1], uint16_t number)
{
    bwl_random random = bwl_token_random(number, 0);

    bwl_token_write(ret_text, &random);
}

static size_t write_value(const bwl_stage *s, int64_t value, char ret_bytes[BWL_VALUE_MAX])
{
    static const char       alien[] = "somebody-elses";
    const bwl_compat_rules *rules   = s->w.scenario->options.rules;
    char                    token[BWL_TOKEN_MAX + 1];
    uint16_t                number;

    if (value >= BWL_MODEL_FOREIGN_VALUE) {
        memcpy(ret_bytes, alien, sizeof alien - 1);
        return sizeof alien - 1;
    }
    number = bwl_model_token_of(rules, value);
    write_token(token, number != 0 ? number : bwl_token_number(0, 1));
    return bwl_value_write(ret_bytes, rules, token, bwl_model_timestamp_of(rules, value));
}

/* The visible owner of the lock: the value, the field of a hash, or the member of a set. */
static size_t write_lock(const bwl_stage *s, char ret_bytes[BWL_VALUE_MAX])
{
    const bwl_model_key *lock = bwl_model_lock(&s->w.servers[BWL_ONLY].redis);

    if (lock->kind == BWL_KIND_STRING)
        return write_value(s, lock->value, ret_bytes);
    write_token(ret_bytes, lock->writer);
    return strlen(ret_bytes);
}

bool bwl_stage_asks(bwl_stage *s, const char *command, bwl_text *ret_said)
{
    bwl_text why;

    if (bwl_line_say(&s->watcher, command, ret_said, &why))
        return true;
    return bwl_stage_fails(s, "the real server failed", why);
}

static bool is_by_server(const bwl_stage *s)
{
    const bwl_compat_rules *rules = s->w.scenario->options.rules;

    return rules != NULL && rules->clock == BWL_CLOCK_OF_SERVER;
}

bool bwl_stage_compares_key(bwl_stage *s)
{
    const bwl_model_key *lock     = bwl_model_lock(&s->w.servers[BWL_ONLY].redis);
    size_t               expected = SIZE_MAX;
    size_t               size;
    char                 model[BWL_VALUE_MAX];
    char                 real[BWL_VALUE_MAX];
    bwl_text             why;

    if (!bwl_line_get(&s->watcher, BWL_STAGE_KEY, real, sizeof real, &size, &why))
        return bwl_stage_fails(s, "the real server failed", why);
    if (lock->kind != BWL_KIND_NONE)
        expected = write_lock(s, model);
    if (is_by_server(s) && (size == SIZE_MAX) == (expected == SIZE_MAX))
        return true;
    if (size == expected && (size == SIZE_MAX || memcmp(real, model, size) == 0))
        return true;
    return bwl_stage_fails(
        s, "the real server has another key than the model",
        bwl_say("the model has %s, the server %s", bwl_key_name(&s->w).of,
                size == SIZE_MAX ? "no key" : bwl_say("%.*s", (int)size, real).of));
}

static bwl_ms real_left(const bwl_stage *s)
{
    return bwl_model_left(&s->w.servers[BWL_ONLY].redis) * s->scale / BWL_MODEL_PER_MS + 1;
}

/* Its scores are times of the real server's clock, which is this machine's clock. */
static bool puts_zset(bwl_stage *s, const char *member, size_t size)
{
    struct timespec now;
    bwl_text        said;

    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail with this clock */
    bwl_ms ends = (bwl_ms)now.tv_sec * 1000 + now.tv_nsec / 1000000 + real_left(s);
    return bwl_stage_asks(s,
                          bwl_say("ZADD %s %" PRId64 " %.*s %" PRId64 " __write__", BWL_STAGE_KEY,
                                  ends, (int)size, member, ends)
                              .of,
                          &said);
}

bool bwl_stage_puts_key(bwl_stage *s)
{
    const bwl_model_redis *r    = &s->w.servers[BWL_ONLY].redis;
    unsigned               kind = bwl_model_lock(r)->kind;
    char                   value[BWL_VALUE_MAX];
    size_t                 size;
    bwl_text               said;
    bwl_text               why;

    if (!bwl_stage_asks(s, bwl_say("DEL %s", BWL_STAGE_KEY).of, &said))
        return false;
    if (bwl_model_owner(r) == 0)
        return true;
    size = write_lock(s, value);
    if (kind == BWL_KIND_ZSET && !puts_zset(s, value, size))
        return false;
    if (kind == BWL_KIND_HASH &&
        !bwl_stage_asks(s, bwl_say("HSET %s %.*s 1", BWL_STAGE_KEY, (int)size, value).of, &said))
        return false;
    if (kind == BWL_KIND_STRING &&
        !bwl_line_say_with(&s->watcher, bwl_say("SET %s", BWL_STAGE_KEY).of, value, size, &said,
                           &why))
        return bwl_stage_fails(s, "the real server failed", why);
    return bwl_model_lock(r)->lasts ||
           bwl_stage_asks(s, bwl_say("PEXPIRE %s %" PRId64, BWL_STAGE_KEY, real_left(s)).of, &said);
}

bool bwl_stage_puts_by_hand(bwl_stage *s, unsigned step, const char *what)
{
    bwl_stage_tells_of_server(
        s, step, bwl_say("%s: put as that leaves it, %s", what, bwl_key_name(&s->w).of).of);
    return bwl_stage_puts_key(s);
}

bool bwl_stage_opens(bwl_stage *s, bwl_line *line)
{
    bwl_text why;

    if (line->fd >= 0 || bwl_line_open(line, s->server.socket.of, &why))
        return true;
    return bwl_stage_fails(s, "the real server failed", why);
}

/* The command of a mutation; "" if there is none. */
static bwl_text faulty_words(const bwl_scenario *world, const bwl_redis_command_args *q)
{
    unsigned mutations = world->mutations;
    bool     sets      = q->command == REDIS_SET_IF_ABSENT;
    bool     drops     = bwl_redis_command_releases(q->command);
    bool     renews    = bwl_redis_command_extends(q->command);

    if (drops && (mutations & BWL_MUTATION_DELETE_BLIND) != 0)
        return bwl_say("DEL %s", BWL_STAGE_KEY);
    if (renews && (mutations & BWL_MUTATION_EXTEND_BLIND) != 0)
        return bwl_say("PEXPIRE %s %" PRId64, BWL_STAGE_KEY, q->lease_ms);
    if (q->command == REDIS_EXTEND_IF_MINE && (mutations & BWL_MUTATION_EXTEND_CREATES) != 0)
        return bwl_say("SET %s %s PX %" PRId64, BWL_STAGE_KEY, q->token, q->lease_ms);
    if (sets && (mutations & BWL_MUTATION_SET_OVERWRITES) != 0)
        return bwl_say("SET %s %s PX %" PRId64, BWL_STAGE_KEY, q->token, q->lease_ms);
    if (sets && (mutations & BWL_MUTATION_SET_LASTS) != 0)
        return bwl_say("SET %s %s NX", BWL_STAGE_KEY, q->token);
    return bwl_say("%s", "");
}

bool bwl_stage_puts(bwl_stage *s, bwl_line *line, const bwl_message *message,
                    bwl_redis_reply *ret_reply, bwl_text *ret_said)
{
    const bwl_scenario    *world = s->w.scenario;
    char                   token[BWL_TOKEN_MAX + 1];
    bwl_text               faulty;
    bwl_text               why;
    bool                   is_good;
    bwl_redis_command_args q = {
        .command  = (bwl_redis_command)message->command,
        .key      = BWL_STAGE_KEY,
        .key_size = sizeof BWL_STAGE_KEY - 1,
        .token    = token,
        .lease_ms = (bwl_ms)message->lease_ms * s->scale * 100 / world->clocks.server_pace,
        .number   = message->timestamp,
        .rules    = world->options.rules,
    };

    write_token(token, message->token);
    faulty = faulty_words(world, &q);
    if (!bwl_stage_opens(s, line))
        return false;
    if (faulty.of[0] == '\0') {
        is_good = bwl_line_ask(line, &q, ret_reply, ret_said, &why);
    } else {
        is_good           = bwl_line_say(line, faulty.of, ret_said, &why);
        bool is_yes       = strcmp(ret_said->of, "OK") == 0 || strcmp(ret_said->of, "1") == 0;
        ret_reply->answer = is_yes ? BWL_YES : BWL_NO;
        ret_reply->value.is_mine = false;
    }
    return is_good || bwl_stage_fails(s, "the real server failed", why);
}

uint64_t bwl_stage_number(const bwl_stage *s, const bwl_message *served)
{
    if (!bwl_redis_shows_value((bwl_redis_command)served->command))
        return (uint64_t)served->timestamp;
    return (uint64_t)bwl_model_timestamp_of(s->w.scenario->options.rules, served->timestamp);
}

bool bwl_stage_is_same(const bwl_stage *s, const bwl_message *served, const bwl_redis_reply *real)
{
    bool shows = real->answer == BWL_YES && !is_by_server(s) && served->timestamp != 0;

    return served->answer == (uint8_t)real->answer &&
           (real->answer != BWL_YES || is_by_server(s) || served->is_mine == real->value.is_mine) &&
           (!shows || bwl_stage_number(s, served) == real->number);
}
