/*
 * A fuzz target for the values of other programs' locks, and for the replies to the commands that
 * show or change them.
 *
 * The bytes choose the rules (all formats of values and tokens, several units, or a row of the
 * profiles), and are then a value, or the frame of a server.  It checks for any bytes:
 * - a value is ours if and only if writing could produce it: a value that is read is written
 *   again byte for byte, and a written one is read; a refused one leaves the result untouched;
 * - a float has the text that libc makes: the shortest digits of the same double, or %.14g;
 * - a frame that shows a value gives FOREIGN_VALUE for every one that is not ours, and is_mine
 *   only for the exact bytes that this request writes;
 * - no command takes the reply of another kind, and the text of an error is printable;
 * - every command is one array of texts, with the unchanged key in it, within its buffer.
 *
 * Values are checked in copies of exactly their size, so that the address sanitizer detects a read
 * beyond it.  The seeds are in corpus/value.
 */
#include "tape.h"

#include "protocol/format/token.h"
#include "engine/redis/profile.h"
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/value.h"
#include "engine/redis/wire/commands.h"

#include <stdio.h>

enum { KEY_MAX_HERE = 64, MORE = 16 * 1024 };

static const int64_t units_ns[] = { 1000000000, 1000000, 1000, 1 };

/* ---- rules ----------------------------------------------------------------------------------- */

static bool is_float(const bwl_compat_rules *rules)
{
    return rules->value == BWL_VALUE_FLOAT_PYTHON || rules->value == BWL_VALUE_FLOAT_RUBY ||
           rules->value == BWL_VALUE_FLOAT_PHP;
}

static bool has_token(const bwl_compat_rules *rules)
{
    return rules->value == BWL_VALUE_TOKEN || rules->value == BWL_VALUE_TOKEN_TIMESTAMP ||
           rules->value == BWL_VALUE_TIMESTAMP_TOKEN;
}

/* Rules of no particular program. */
static bwl_compat_rules take_rules(tape *t)
{
    static const char *const affixes[] = { NULL, "\"", "s:10:\"", "%", "" };
    uint8_t                  choice    = take(t);
    uint8_t                  more      = take(t);

    return (bwl_compat_rules){
        .value              = (bwl_value_format)(BWL_VALUE_TOKEN + choice % 9),
        .token              = (bwl_token_format)(choice / 9 % BWL_TOKEN_FORMATS),
        .literal            = "1",
        .prefix             = affixes[more % 5],
        .suffix             = affixes[more / 5 % 5],
        .unit_ns            = units_ns[more / 25 % 4],
        .whole_ns           = units_ns[more / 100 % 2],
        .expired            = BWL_TIMESTAMP_BEFORE_NOW,
        .timestamp_is_start = more >= 200,
        .lease_in_seconds   = more % 2 == 1,
    };
}

static const bwl_profile *take_profile(tape *t)
{
    size_t count = 0;

    while (bwl_profile_at(count) != NULL)
        count++;
    return bwl_profile_at(take(t) % count);
}

static int64_t take_stamp(tape *t)
{
    uint64_t timestamp = 0;

    for (unsigned i = 0; i < 8; i++)
        timestamp = timestamp << 8 | take(t);
    return (int64_t)(timestamp & INT64_MAX);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool read_copy(int64_t *ret_timestamp, const bwl_compat_rules *rules, const char *bytes,
                      size_t size)
{
    char *copy    = copy_of(bytes, size);
    bool  is_ours = bwl_value_read(ret_timestamp, rules, copy, size);
    free(copy);
    return is_ours;
}

/* The text without its prefix and suffix. */
static void strip(const bwl_compat_rules *rules, const char **bytes, size_t *size)
{
    size_t before = rules->prefix != NULL ? strlen(rules->prefix) : 0;
    size_t after  = rules->suffix != NULL ? strlen(rules->suffix) : 0;

    require(*size >= before + after);
    *bytes += before;
    *size -= before + after;
}

/* The token that must be in an accepted value. */
static void find_token(char ret_token[BWL_TOKEN_MAX + 1], const bwl_compat_rules *rules,
                       const char *bytes, size_t size)
{
    const char *mark;

    strip(rules, &bytes, &size);
    if (rules->value == BWL_VALUE_TOKEN_TIMESTAMP) {
        mark = memrchr(bytes, ':', size);
        require(mark != NULL);
        size = (size_t)(mark - bytes);
    }
    if (rules->value == BWL_VALUE_TIMESTAMP_TOKEN) {
        mark = memchr(bytes, '-', size);
        require(mark != NULL);
        size -= (size_t)(mark - bytes) + 1;
        bytes = mark + 1;
    }
    require(size <= BWL_TOKEN_MAX && bwl_token_is_of(rules->token, bytes, size));
    memcpy(ret_token, bytes, size);
    ret_token[size] = '\0';
}

/* libc, in the C locale of a fuzzer, decides about the text of a float. */
static void check_float(const bwl_compat_rules *rules, const char *bytes, size_t size)
{
    char text[BWL_VALUE_MAX + 1];
    char wanted[BWL_VALUE_MAX];

    strip(rules, &bytes, &size);
    memcpy(text, bytes, size);
    text[size]   = '\0';
    double value = strtod(text, NULL);
    if (rules->value == BWL_VALUE_FLOAT_PHP) {
        (void)snprintf(wanted, sizeof wanted, "%.14g", value);
    } else {
        int digits = 0;
        do
            (void)snprintf(wanted, sizeof wanted, "%.*f", ++digits, value);
        while (strtod(wanted, NULL) != value);
    }
    require(strcmp(wanted, text) == 0);
}

static void check_read(const bwl_compat_rules *rules, const char *bytes, size_t size)
{
    char    token[BWL_TOKEN_MAX + 1] = "";
    char    again[BWL_VALUE_MAX];
    int64_t timestamp = -4711;
    int64_t back;

    if (!read_copy(&timestamp, rules, bytes, size)) {
        require(timestamp == -4711);
        return;
    }
    require(size <= BWL_VALUE_MAX && timestamp >= 0);
    if (has_token(rules))
        find_token(token, rules, bytes, size);
    size_t written = bwl_value_write(again, rules, token, timestamp);
    if (!is_float(rules)) {
        require(written == size && memcmp(again, bytes, size) == 0);
        return;
    }
    check_float(rules, bytes, size);
    require(written == 0 || (read_copy(&back, rules, again, written) && back == timestamp));
}

static void check_write(const bwl_compat_rules *rules, const char *token, int64_t timestamp)
{
    char    bytes[BWL_VALUE_MAX];
    char    again[BWL_VALUE_MAX];
    int64_t back;
    size_t  size = bwl_value_write(bytes, rules, token, timestamp);

    require(size <= BWL_VALUE_MAX);
    require(size > 0 || is_float(rules));
    if (size == 0)
        return;
    require(read_copy(&back, rules, bytes, size));
    if (is_float(rules)) {
        check_float(rules, bytes, size);
        size_t written = bwl_value_write(again, rules, token, back);
        require(written == 0 || (written == size && memcmp(bytes, again, size) == 0));
    } else {
        require(back == timestamp || rules->value == BWL_VALUE_TOKEN ||
                rules->value == BWL_VALUE_LITERAL);
    }
    for (size_t cut = 0; cut < size;
         cut++) /* a part of it may be ours, and then it is equal to the token */
        check_read(rules, bytes, cut);
}

/* ---- replies --------------------------------------------------------------------------------- */

/* A value in the frame that shows it. */
static void check_shown(bwl_redis_command_args *q, const char *bytes, size_t size)
{
    static char     frame[MORE];
    char            mine[BWL_VALUE_MAX];
    bwl_redis_reply reply;
    int64_t         timestamp;
    int             head = snprintf(frame, sizeof frame, "$%zu\r\n", size);

    require((size_t)head + size + 2 <= sizeof frame);
    memcpy(frame + head, bytes, size);
    memcpy(frame + head + size, "\r\n", 2);
    size_t whole   = (size_t)head + size + 2;
    bool   is_ours = bwl_value_read(&timestamp, q->rules, bytes, size);
    bool   is_lock = bwl_value_read_plausible(&timestamp, q->rules, bytes, size);
    size_t written = bwl_value_write(mine, q->rules, q->token, q->number);

    q->command = REDIS_READ;
    require(bwl_redis_read(q, 0, frame, whole, &reply) == BWL_REDIS_ANSWER);
    require(is_ours || !is_lock);
    require(reply.answer == (is_lock ? BWL_YES : BWL_FOREIGN_VALUE));
    require(!is_lock || reply.number == (uint64_t)timestamp);
    require(reply.value.is_mine == (is_lock && written == size && memcmp(mine, bytes, size) == 0));
    q->command                = REDIS_TAKE_TIMESTAMP;
    bwl_redis_verdict verdict = bwl_redis_read(q, 0, frame, whole, &reply);
    require(verdict == (is_ours ? BWL_REDIS_ANSWER : BWL_REDIS_STRANGE));
    require(!is_ours || (reply.answer == BWL_YES && reply.number == (uint64_t)timestamp));
}

/* The frame that is a YES for each command; a shown value may also be FOREIGN_VALUE. */
static const char *yes_begins_with(bwl_redis_command command, unsigned nth)
{
    switch (command) {
    case REDIS_SET_IF_ABSENT:
    case REDIS_UNWATCH: return "+";
    case REDIS_READ:
    case REDIS_SWAP:
    case REDIS_TAKE_TIMESTAMP: return "$";
    case REDIS_WATCH_READ: return nth == 0 ? "+" : "$";
    case REDIS_DELETE_WATCHED: return nth < 2 ? "+" : "*";
    case REDIS_SET_IF_ABSENT_OR_MINE:
    case REDIS_EXTEND_IF_MINE:
    case REDIS_DELETE_IF_MINE:
    case REDIS_SETNX:
    case REDIS_DELETE:
    case REDIS_EXPIRE:
    case REDIS_EXPIRE_NOW:
    case REDIS_READ_EXPIRY:
    case REDIS_FIND_NO_EXPIRY:
    case REDIS_HASH_TAKE:
    case REDIS_HASH_EXTEND:
    case REDIS_HASH_RELEASE:
    case REDIS_ZSET_TAKE:
    case REDIS_ZSET_EXTEND:
    case REDIS_ZSET_RELEASE:
    case REDIS_QUEUE_EXTEND:
    case REDIS_REPLICATED:
    case REDIS_DROP_TIMESTAMP: break;
    case REDIS_QUEUE_TAKE: /* a fence alone, or with more fields */
    case REDIS_QUEUE_JOIN:
    case REDIS_QUEUE_HEARTBEAT:
    case REDIS_QUEUE_RELEASE:
    case REDIS_QUEUE_CANCEL:
    case REDIS_QUEUE_DISPATCH_NEXT:
    case REDIS_QUEUE_REQUEUE: return ":*+$";
    }
    return ":";
}

static void check_answer(const bwl_redis_command_args *q, const char *frame, size_t size)
{
    for (unsigned nth = 0; nth < bwl_redis_frames(q->command); nth++) {
        bwl_redis_reply   reply   = { 0 };
        bwl_redis_verdict verdict = bwl_redis_read(q, nth, frame, size, &reply);
        bool              failed  = bwl_redis_is_error(frame, size);

        require(verdict != BWL_REDIS_NOSCRIPT || failed);
        if (verdict != BWL_REDIS_ANSWER)
            continue;
        require(reply.answer >= BWL_YES && reply.answer <= BWL_FOREIGN_VALUE);
        require(reply.answer != BWL_NOT_SENT);
        require(!failed || (reply.answer != BWL_YES && reply.answer != BWL_NO));
        require(failed || (reply.answer != BWL_RETRYABLE && reply.answer != BWL_REFUSED));
        require(!reply.value.is_mine || reply.answer == BWL_YES);
        if (reply.answer == BWL_YES && frame[0] != '|')
            require(strchr(yes_begins_with(q->command, nth), frame[0]) != NULL);
    }
}

/* A push through a channel that its first bytes may name. */
static void check_push(const char *bytes, size_t size)
{
    char   push_channel[BWL_QUEUE_CHANNEL_SIZE + 1] = BWL_QUEUE_CHANNEL;
    size_t skip                                     = sizeof "*3\r\n$8\r\nsmessage\r\n$32\r\n" - 1;

    for (size_t i = sizeof BWL_QUEUE_CHANNEL - 1; i < BWL_QUEUE_CHANNEL_SIZE; i++)
        push_channel[i] = skip + i < size ? bytes[skip + i] : 'i';
    bwl_queue_push push = bwl_queue_read_push(push_channel, bytes, size);
    require(push.kind >= BWL_PUSH_OTHER && push.kind <= BWL_PUSH_GRANT);
    require(push.kind != BWL_PUSH_GRANT || bytes[0] == '>');
    require(push.fence == 0 || push.kind == BWL_PUSH_GRANT);
}

static void check_frame(bwl_redis_command_args *q, const char *bytes, size_t size)
{
    bwl_resp_scan    scan = { 0 };
    bwl_holder_reply look = { 0 };
    bwl_answer       answer;
    char             text[64];

    if (bwl_resp_scan_bytes(&scan, bytes, size) != BWL_RESP_OK)
        return;
    for (q->command = REDIS_SET_IF_ABSENT; q->command <= REDIS_SHARE_UPGRADE; q->command++)
        check_answer(q, bytes, scan.size);
    check_push(bytes, scan.size);
    if (bwl_redis_read_holder_query(bytes, scan.size, &answer, &look) == BWL_REDIS_ANSWER)
        require(strlen(look.kind) < sizeof look.kind &&
                look.value_size <= BWL_HOLDER_REPLY_VALUE_MAX);
    bwl_redis_error_text(text, sizeof text, bytes, scan.size);
    require(strlen(text) < sizeof text);
    for (const char *c = text; *c != '\0'; c++)
        require(*c >= 0x20 && *c < 0x7f);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void check_command(const bwl_redis_command_args *q)
{
    static char     bytes[MORE];
    size_t          room   = bwl_redis_size_max(q->command, q->key_size);
    bwl_resp_writer writer = { .bytes = bytes,
                               .capacity =
                                   room + q->signal.names[0].size + q->signal.names[1].size };
    bool            is_key = q->key_size == 0;
    size_t          at     = 0;
    unsigned        frames = 0;

    require(writer.capacity <= sizeof bytes);
    bwl_redis_write(&writer, q);
    require(!writer.overflowed);
    for (; at < writer.size; frames++) {
        bwl_resp_scan  scan = { 0 };
        bwl_resp_value value;
        require(bwl_resp_scan_bytes(&scan, bytes + at, writer.size - at) == BWL_RESP_OK);
        bwl_resp_cursor cursor = bwl_resp_begin(bytes + at, scan.size);
        require(bwl_resp_next(&cursor, &value) && value.type == '*');
        while (bwl_resp_next(&cursor, &value)) {
            require(value.type == '$');
            is_key = is_key ||
                     (value.size == q->key_size && memcmp(value.text, q->key, q->key_size) == 0);
        }
        at += scan.size;
    }
    require(is_key || q->command == REDIS_UNWATCH);
    require(frames == bwl_redis_frames(q->command));
}

static bool can_be_asked(const bwl_redis_command_args *q)
{
    if (bwl_queue_is(q->command))
        return q->rules->token == BWL_TOKEN_OURS && q->rules->value == BWL_VALUE_TOKEN;
    bool has_timestamp = q->rules->value != BWL_VALUE_TOKEN && q->rules->value != BWL_VALUE_LITERAL;

    return q->command != REDIS_TAKE_TIMESTAMP || has_timestamp;
}

static void check_commands(bwl_redis_command_args *q)
{
    for (q->command = REDIS_SET_IF_ABSENT; q->command <= REDIS_SHARE_UPGRADE; q->command++)
        for (unsigned use_eval = 0; use_eval < 2; use_eval++) {
            q->use_eval = use_eval == 1;
            if (can_be_asked(q))
                check_command(q);
        }
}

/* The waiter that a release of this name wakes. */
static void add_signal(bwl_redis_command_args *q, const bwl_profile *profile)
{
    static bwl_signal_names names;
    char template[BWL_KEY_TEMPLATE_MAX];

    if (profile->signal == BWL_SIGNAL_NONE)
        return;
    (void)snprintf(template, sizeof template, "%s%s", profile->takes_prefix ? "word" : "",
                   profile->key);
    q->signal = bwl_profile_signal(&names, profile, template, (bwl_bytes){ q->key, q->key_size });
}

/* The waiter of a request of protocol queue: with up to two push channels. */
static bwl_queue_self take_self(tape *t)
{
    uint8_t        what = take(t);
    bwl_queue_self self = {
        .uses_sharded_pubsub = (what & 1) != 0,
        .slot                = take(t),
        .generation          = (uint64_t)take(t) * UINT64_C(0x0101010101010101),
        .provisional_ttl_ms  = 1 + take(t),
        .queue_max           = take(t),
    };

    memset(self.session, 's', BWL_QUEUE_SESSION_SIZE);
    for (unsigned i = 0; i < BWL_QUEUE_CHANNELS; i++)
        if (i == 0 || (what & 1u << i) != 0) {
            memcpy(self.push_channels[i], BWL_QUEUE_CHANNEL, sizeof BWL_QUEUE_CHANNEL - 1);
            memset(self.push_channels[i] + sizeof BWL_QUEUE_CHANNEL - 1, 'a' + (int)i,
                   BWL_QUEUE_BITS_SIZE);
        }
    return self;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tape                   t         = { .bytes = data, .left = size };
    uint8_t                mode      = take(&t);
    bwl_compat_rules       rules     = take_rules(&t);
    const bwl_profile     *profile   = take_profile(&t);
    int64_t                timestamp = take_stamp(&t);
    bwl_random             random    = { { take(&t), take(&t), take(&t) } };
    char                   token[BWL_TOKEN_MAX + 1];
    bwl_redis_command_args q    = { .lease_ms       = take_lease(&t),
                                    .number         = timestamp,
                                    .token          = token,
                                    .previous_token = token,
                                    .who            = token,
                                    .share          = { .weight = 1 + (uint16_t)(size % 256),
                                                        .limit  = (uint32_t)size * 4096 },
                                    .moving         = size % 2 == 1 };
    bwl_queue_self         self = take_self(&t);

    if (size > MORE / 4)
        return 0;
    if (mode % 4 == 0 && profile->rules != NULL)
        rules = *profile->rules;
    q.rules = &rules;
    q.self  = &self;
    bwl_token_write_as(token, rules.token, &random, timestamp);
    q.key      = (const char *)t.bytes;
    q.key_size = t.left < KEY_MAX_HERE ? t.left : KEY_MAX_HERE;
    add_signal(&q, profile);
    check_read(&rules, (const char *)t.bytes, t.left);
    check_write(&rules, token, timestamp);
    check_shown(&q, (const char *)t.bytes, t.left);
    check_frame(&q, (const char *)t.bytes, t.left);
    check_commands(&q);
    return 0;
}
