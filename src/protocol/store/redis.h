/*
 * redis.h -- the commands that bowline sends to a Redis server, and their exact meaning.
 *
 * `key` is the key of the lock.  `token`, `lease` and the rules are those of the lock request; the
 * timestamp is an argument of the send.  `value` is made from token, timestamp and rules
 * (compat_rules.h); without rules it is the token.  The server carries out each command as one
 * step, completely or not at all.  The engine turns it into a Redis command or a script, the model
 * server of the lab executes it, and a conformance test compares the two.
 *
 *  SET_IF_ABSENT          no key            -> set it to value, to vanish after lease   YES
 *                         any key           -> nothing                                 NO
 *  SET_IF_ABSENT_OR_MINE  key is value      -> nothing: an earlier command has set it   YES
 *                         otherwise as SET_IF_ABSENT
 *  EXTEND_IF_MINE         key is value      -> it expires lease from now, or at its
 *                                              present expiry if that is later          YES
 *                         otherwise         -> nothing                                 NO
 *  DELETE_IF_MINE         key is value      -> delete it                               YES
 *                         otherwise         -> nothing                                 NO
 *
 *  ADOPT                  key is the value of the previous token
 *                                           -> set it to value, to vanish after lease   YES
 *                         key is value      -> as EXTEND_IF_MINE: an earlier command
 *                                              has adopted it                           YES
 *                         otherwise         -> nothing                                 NO
 *
 * "key is value": it exists, is a string, and is byte for byte the value.  ADOPT is also a command
 * of `queue`, whose queue it does not touch; its YES has the fence of the hold as `number`, from
 * the client and not from the server.
 *
 * The commands of the locks of other programs; one Redis command each, unless noted:
 *
 *  SETNX                  no key            -> set it to value, without an expiry       YES
 *                         any key           -> nothing                                 NO
 *  READ        (GET)      returns the value, see below
 *  SWAP        (GETSET)   key is no string  -> nothing                                FOREIGN_VALUE
 *                         otherwise         -> set it to value, without an expiry;
 *                                              returns the old value
 *  DELETE      (DEL)      key exists        -> delete it, whatever it is               YES
 *                         no key            -> nothing                                 NO
 *  EXPIRE                 key exists        -> it expires lease from now (rounded up
 *                                              to whole seconds), sooner or later than
 *                                              its present expiry                       YES
 *                         no key            -> nothing                                 NO
 *  EXPIRE_NOW (EXPIRE 0)  as DELETE
 *  READ_EXPIRY (TTL)      key with an expiry -> number: seconds left, rounded          YES
 *                         key without one   -> number: NO_EXPIRY                       YES
 *                         no key            ->                                         NO
 *  FIND_NO_EXPIRY (PTTL)  key without one   ->                                         YES
 *                         key with an expiry -> these rules do not set one            FOREIGN_VALUE
 *                         no key            ->                                         NO
 *
 * A command that returns a value replies
 *
 *                         no key                                                       NO
 *                         these rules can have written it, with a plausible timestamp
 *                         (timestamps.h): `number` is its timestamp (0 if the format
 *                         has none); the details are a bwl_redis_value                 YES
 *                         anything else: a list, other bytes, a longer value          FOREIGN_VALUE
 *
 * WATCH is a state of the connection, so only one operation at a time can use it.  The engine
 * defers a second WATCH_READ until the transaction of the first has ended: by UNWATCH, by
 * DELETE_WATCHED, by a reply to WATCH_READ without a value (RETRYABLE, REFUSED, NOT_SENT), or with
 * the connection.  Other commands are not deferred.
 *
 *  WATCH_READ (WATCH, GET) returns the value; the transaction begins
 *  UNWATCH                nothing; the transaction ends                                  YES
 *  DELETE_WATCHED         the key was not touched since WATCH_READ -> delete it: the
 *   (MULTI, DEL, EXEC)    number of keys deleted is 1                                  YES
 *                         it was touched, or has expired, or is not there -> nothing   NO
 *                         the transaction ends either way.  EXPIRE touches a key too.
 *
 * By the clock of the server (its TIME, floor of `unit_ns`), for BWL_CLOCK_OF_SERVER.  The
 * timestamp that is written is ceil((TIME + lease + extra_ns) / unit_ns) (with timestamp_is_start:
 * the floor of TIME).  The key always has an expiry, at that timestamp:
 *
 *  TAKE_TIMESTAMP         no key, or its timestamp has expired (rules->expired) and it has no
 *                         expiry -> set it to the value with that timestamp; `number`
 *                         is the timestamp                                                    YES
 *                         its timestamp has not expired -> nothing                     NO
 *                         its timestamp has expired and its expiry has not come, or
 *                         these rules cannot have written it, or its timestamp is not
 *                         plausible (timestamps.h) -> nothing                    FOREIGN_VALUE
 *  DROP_TIMESTAMP         as DELETE_IF_MINE, of the value with the timestamp of the send
 *
 * A lock that is a hash with one field for each holder and its count, the format of Redisson.  The
 * token is the field; a release publishes on the channel of the key
 * (engine/redis/wire/commands.h):
 *
 *  HASH_TAKE              the key is a hash with the field -> nothing: an earlier command has
 *                                              set it                                   YES
 *                         no key            -> set it to a hash with the field, count 1, to
 *                                              expire after lease                       YES
 *                         otherwise         -> nothing                                 NO
 *                         With rules->counts_fences the second case also increments the counter
 *                         of the key.  `number` is that counter then, and 0 without the rule.
 *  HASH_EXTEND            as EXTEND_IF_MINE, of a hash with the field
 *  HASH_RELEASE           the key is a hash with the field -> delete the key, whatever the
 *                                              count, and publish                       YES
 *                         otherwise         -> nothing                                 NO
 *
 * A lock that is a sorted set, the format of Symfony: members are tokens; scores are their ends in
 * milliseconds of the server's clock (floor of its TIME).  An exclusive holder also has the member
 * __write__.  A member counts as absent once its score is reached:
 *
 *  ZSET_TAKE              the set is the token and __write__ -> nothing: an earlier command has
 *                                              set it                                   YES
 *                         no member         -> set it to the two, to end lease from now, and the
 *                                              key to expire then                       YES
 *                         otherwise         -> nothing                                 NO
 *  ZSET_EXTEND            as EXTEND_IF_MINE, of the token in a set with __write__; both end
 *                                              then, and the key expires with its last member
 *  ZSET_RELEASE           the set has the token and __write__ -> remove the two; the key is deleted
 *                                              with its last member                     YES
 *                         it has the token alone -> remove it                           NO
 *                         otherwise         -> nothing                                 NO
 *
 * A server with replicas.  The command is not about a key, but about everything that the server
 * has carried out up to the last write of the connection on which it is sent.  So the engine
 * answers NOT_SENT if that connection has ended, and each YES of SET_IF_ABSENT,
 * SET_IF_ABSENT_OR_MINE, EXTEND_IF_MINE and ADOPT is a write.
 *
 *  REPLICATED  (WAIT)     arguments: the number of replicas, and the time limit of the server;
 *                         `number`: how many replicas have all of it
 *                         that number of replicas, or more                             YES
 *                         fewer                                                        NO
 *
 * A command or a transaction of a lock file (lock_file/program.h), sent as the file says.
 *
 *  STEP                   arguments: the operation, and the number that the client has computed
 *                         any reply but an error, with the details of a value                 YES
 *                         of a transaction, the reply to its last command; nil if it was not
 *                         carried out
 */
#pragma once

#include "core/core.h"

typedef enum bwl_redis_command {
    REDIS_SET_IF_ABSENT = 1,
    REDIS_SET_IF_ABSENT_OR_MINE,
    REDIS_EXTEND_IF_MINE,
    REDIS_DELETE_IF_MINE,
    REDIS_SETNX,
    REDIS_READ,
    REDIS_SWAP,
    REDIS_DELETE,
    REDIS_EXPIRE,
    REDIS_EXPIRE_NOW,
    REDIS_READ_EXPIRY,
    REDIS_FIND_NO_EXPIRY,
    REDIS_WATCH_READ,
    REDIS_UNWATCH,
    REDIS_DELETE_WATCHED,
    REDIS_TAKE_TIMESTAMP,
    REDIS_DROP_TIMESTAMP,
    REDIS_HASH_TAKE,
    REDIS_HASH_EXTEND,
    REDIS_HASH_RELEASE,
    REDIS_ZSET_TAKE,
    REDIS_ZSET_EXTEND,
    REDIS_ZSET_RELEASE,
    REDIS_QUEUE_TAKE, /* from here: see protocol/store/queue.h */
    REDIS_QUEUE_JOIN,
    REDIS_QUEUE_HEARTBEAT,
    REDIS_QUEUE_EXTEND,
    REDIS_QUEUE_RELEASE,
    REDIS_QUEUE_REST,
    REDIS_QUEUE_CANCEL,
    REDIS_QUEUE_DISPATCH_NEXT,
    REDIS_QUEUE_REQUEUE,
    REDIS_SHARE_TAKE,
    REDIS_SHARE_JOIN,
    REDIS_SHARE_HEARTBEAT,
    REDIS_SHARE_EXTEND,
    REDIS_SHARE_LEAVE,
    REDIS_SHARE_DOWNGRADE,
    REDIS_SHARE_UPGRADE, /* the last of protocol/store/queue.h */
    REDIS_REPLICATED,
    REDIS_STEP,
    REDIS_ADOPT,
} bwl_redis_command;

/* True for a command that only takes a lock or a place in its queue; extends it; releases it. */
static inline bool bwl_redis_command_takes(bwl_redis_command command)
{
    return command == REDIS_SET_IF_ABSENT || command == REDIS_SET_IF_ABSENT_OR_MINE ||
           command == REDIS_SETNX || command == REDIS_HASH_TAKE || command == REDIS_ZSET_TAKE ||
           command == REDIS_QUEUE_TAKE || command == REDIS_QUEUE_JOIN ||
           command == REDIS_SHARE_TAKE || command == REDIS_SHARE_JOIN || command == REDIS_ADOPT;
}

static inline bool bwl_redis_command_extends(bwl_redis_command command)
{
    return command == REDIS_EXTEND_IF_MINE || command == REDIS_HASH_EXTEND ||
           command == REDIS_ZSET_EXTEND;
}

static inline bool bwl_redis_command_releases(bwl_redis_command command)
{
    return command == REDIS_DELETE_IF_MINE || command == REDIS_HASH_RELEASE ||
           command == REDIS_ZSET_RELEASE;
}

#define REDIS_NO_EXPIRY UINT64_MAX /* the number of READ_EXPIRY */

/* Indexes of bwl_send.args.  An argument that a command does not have is 0. */
enum {
    REDIS_ARG_TIMESTAMP   = 0, /* of the value, in the unit of the rules */
    REDIS_ARG_TICKET      = 0, /* QUEUE_JOIN: 0: a new one.  QUEUE_HEARTBEAT: 0: not known */
    REDIS_ARG_OTHER_TOKEN = 0, /* QUEUE_RELEASE, SHARE_LEAVE: 1: that of the hold */
    REDIS_ARG_REST_MS     = 0, /* QUEUE_REST: what is left of the rest */
    REDIS_ARG_FENCE       = 0, /* SHARE_EXTEND: of the grant */
    REDIS_ARG_REPLICAS    = 0, /* REPLICATED */
    REDIS_ARG_TTL_MS      = 1, /* JOIN, HEARTBEAT, REQUEUE: of a provisional grant */
    REDIS_ARG_CONFIRMS    = 1, /* EXTEND: 1: it confirms a provisional grant, for the rest too */
    REDIS_ARG_LIMIT_MS    = 1, /* REPLICATED */
    REDIS_ARG_STEP        = 0, /* STEP: the operation */
    REDIS_ARG_COMPUTED    = 1, /* STEP: the number that the client has computed */
};

/* The server keeps the lock for so long: for the rest too, if the command makes it ours. */
static inline bwl_ms bwl_redis_ttl_ms(const bwl_send *send, const bwl_lock_request *request)
{
    bool confirms = send->command == REDIS_QUEUE_EXTEND && send->args[REDIS_ARG_CONFIRMS] != 0;
    bool takes    = confirms || bwl_redis_command_takes((bwl_redis_command)send->command);
    return takes ? bwl_ms_max(request->lease_ms, request->rest_ms) : request->lease_ms;
}

static inline bool bwl_redis_uses_other_token(const bwl_send *send)
{
    bool releases = send->command == REDIS_QUEUE_RELEASE || send->command == REDIS_SHARE_LEAVE;
    return releases && send->args[REDIS_ARG_OTHER_TOKEN] != 0;
}

/* The last reply to a STEP.  ERROR and DOWN are no replies that a value can have. */
typedef enum bwl_reply_kind {
    BWL_REPLY_NIL = 1,
    BWL_REPLY_OK, /* a status */
    BWL_REPLY_VALUE,
    BWL_REPLY_ERROR,
    BWL_REPLY_DOWN,
} bwl_reply_kind;

/* The details of a YES that shows a value. */
typedef struct bwl_redis_value {
    bool           is_mine;   /* the value is, byte for byte, what this lock request writes */
    uint64_t       hash;      /* of the bytes: equal if and only if the bytes are equal; never 0 */
    bwl_reply_kind kind;      /* STEP only, as the next; nil has no hash */
    bool           is_number; /* the event's number is the value */
} bwl_redis_value;
