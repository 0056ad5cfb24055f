"""Random programs for differential.py: each kind is a function of a random.Random and a version.

No reply depends on time: an expiry is in the past, or further away than a test runs.
"""

import pathlib
import re

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "src/engine/redis/wire/scripts"
LINKS = 3
STEPS = 40
KEYS = [b"k1", b"k2", b"k3", b"k4"]
FIELDS = [b"f1", b"f2", b"f3", b"17"]
VALUES = [b"", b"0", b"1", b"-7", b"12", b"abc", b"a\r\nb", b"9223372036854775807", b"3.5", b"x" * 60, b"01", b"\0z"]
NUMBERS = [b"0", b"1", b"-1", b"2", b"-2", b"5", b"x", b"100", b"9223372036854775807", b"-9223372036854775808", b"1.5"]
# No expiry: a key that ends during the test would be a matter of time.
NO_EXPIRY = [b"0", b"-1", b"x", b"9223372036854775807", b"-9223372036854775808", b"1.5", b""]
SCORES = [b"0", b"1", b"2", b"-1.5", b"3", b"inf", b"-inf", b"1e3", b"0.1", b"nan", b"x", b"17179869184", b"1e17"]
BOUNDS = [b"0", b"1", b"(1", b"-inf", b"+inf", b"(2", b"x", b"1e3"]
CHANNELS = [b"c1", b"c2", b"{x}c3"]
PATTERNS = [b"c*", b"*", b"c[12]", b"c?"]
PAST = [b"-1", b"0", b"-5"]
FAR_S = [b"5000", b"100000"]
FAR_MS = [b"5000000", b"100000000"]
AT_S = [b"4000000000", b"1", b"5000000000"]
AT_MS = [b"4000000000000", b"1", b"5000000000000"]

SETUP = [[b"DEBUG", b"SET-ACTIVE-EXPIRE", b"0"], [b"FLUSHALL"], [b"SCRIPT", b"FLUSH"], [b"CONFIG", b"SET", b"maxmemory", b"0"]]

# %k key, %f field, %v value, %n number, %s score, %b bound, %c channel, %p pattern; %e... an expiry; a word in
# brackets may be left out; a star repeats the word before it up to three times.
FORMS = """
GET %k|SET %k %v|SET %k %v NX|SET %k %v XX|SET %k %v GET|SET %k %v NX GET|SET %k %v EX %eS|SET %k %v PX %eM
SET %k %v EXAT %eA|SET %k %v PXAT %eB|SET %k %v KEEPTTL|SET %k %v EX %i|SET %k %v PX %i NX|SET %k %v FOO|SET %k
SETNX %k %v|SETEX %k %eS %v|PSETEX %k %eM %v|SETEX %k %i %v|GETSET %k %v|GETDEL %k|MGET %k %k %k|MSET %k %v %k %v
MSET %k %v %k|STRLEN %k|GETRANGE %k %n %n|APPEND %k %v|INCR %k|DECR %k|INCRBY %k %n|DECRBY %k %n
DEL %k|DEL %k %k|UNLINK %k|EXISTS %k %k|TYPE %k|TOUCH %k|EXPIRE %k %eS|PEXPIRE %k %eM|EXPIREAT %k %eA|PEXPIREAT %k %eB
EXPIRE %k %eP|PEXPIRE %k %eP|EXPIRE %k %i|PERSIST %k|TTL %k|PTTL %k|KEYS *|DBSIZE|RENAME %k %k
HSET %k %f %v|HSET %k %f %v %f %v|HSET %k %f|HMSET %k %f %v|HSETNX %k %f %v|HGET %k %f|HMGET %k %f %f|HGETALL %k
HKEYS %k|HVALS %k|HLEN %k|HEXISTS %k %f|HDEL %k %f|HDEL %k %f %f %f %f|HINCRBY %k %f %n
SADD %k %v %v|SREM %k %v|SCARD %k|SISMEMBER %k %v|SMEMBERS %k
ZADD %k %s %f|ZADD %k %s %f %s %f|ZADD %k NX %s %f|ZADD %k XX %s %f|ZADD %k GT CH %s %f|ZADD %k LT %s %f
ZADD %k INCR %s %f|ZADD %k NX XX %s %f|ZADD %k %s|ZADD %k GT NX %s %f|ZADD %k XX INCR %s %f|ZINCRBY %k %s %f
ZREM %k %f|ZREM %k %f %f|ZSCORE %k %f|ZCARD %k|ZRANK %k %f|ZREVRANK %k %f|ZPOPMIN %k|ZPOPMAX %k|ZPOPMIN %k %n
ZRANGE %k %n %n|ZRANGE %k %n %n WITHSCORES|ZREVRANGE %k %n %n WITHSCORES|ZRANGEBYSCORE %k %b %b
ZRANGEBYSCORE %k %b %b WITHSCORES LIMIT %n %n|ZREVRANGEBYSCORE %k %b %b|ZRANGE %k %b %b BYSCORE REV
ZCOUNT %k %b %b|ZREMRANGEBYSCORE %k %b %b|ZREMRANGEBYRANK %k %n %n|ZRANGE %k %n %n REV WITHSCORES
LPUSH %k %v|RPUSH %k %v %v|LPUSHX %k %v|RPUSHX %k %v|LPOP %k|RPOP %k|LPOP %k %n|LLEN %k|LRANGE %k %n %n
LTRIM %k %n %n|LINDEX %k %n
PING|PING %v|ECHO %v|SELECT 0|SELECT 1|SELECT 99|SELECT x|FLUSHDB|FLUSHALL|SWAPDB 0 1|FOO %k|FOO|GET|GET %k %k
"""
LINK_FORMS = """
HELLO 3|HELLO 2|HELLO|HELLO 4|HELLO x|HELLO 3 SETNAME n|CLIENT SETNAME n|CLIENT SETNAME a_b|CLIENT GETNAME
CLIENT FOO|CLIENT ID x|CLIENT REPLY ON|CLIENT TRACKING ON|CLIENT TRACKING OFF|CLIENT TRACKING ON NOLOOP|CLIENT TRACKING ON OPTIN
CLIENT CACHING YES|CLIENT CACHING NO|CLIENT CACHING x|RESET|QUIT
AUTH x|AUTH default x|ACL WHOAMI|SCRIPT EXISTS x|SCRIPT FOO|CONFIG GET maxmemory|CONFIG SET foo 1|WAIT 0 0|WAIT x 0
WAIT 0 -1|ASKING|CLUSTER SLOTS|READONLY|ROLE x
"""
PUBSUB_FORMS = """
SUBSCRIBE %c|SUBSCRIBE %c %c|UNSUBSCRIBE %c|UNSUBSCRIBE|PSUBSCRIBE %p|PUNSUBSCRIBE %p|PUNSUBSCRIBE|SSUBSCRIBE %c
SUNSUBSCRIBE %c|SUNSUBSCRIBE|PUBLISH %c %v|PUBLISH %c %v|SPUBLISH %c %v|PUBSUB CHANNELS|PUBSUB NUMSUB %c
PUBSUB NUMPAT|PUBSUB SHARDCHANNELS|PUBSUB SHARDNUMSUB %c|PING|GET %k|SET %k %v|HELLO 3|HELLO 2|RESET
"""
MULTI_FORMS = "MULTI|MULTI|EXEC|EXEC|EXEC|DISCARD|WATCH %k|WATCH %k %k|UNWATCH|WATCH"


def split(text):
    return [form.split(" ") for line in text.strip().splitlines() for form in line.split("|")]


DATA, LINK, PUBSUB, MULTI = map(split, (FORMS, LINK_FORMS, PUBSUB_FORMS, MULTI_FORMS))
CHOICES = {"%k": KEYS, "%f": FIELDS, "%v": VALUES, "%n": NUMBERS, "%i": NO_EXPIRY, "%s": SCORES, "%b": BOUNDS, "%c": CHANNELS,
           "%p": PATTERNS, "%eS": FAR_S, "%eM": FAR_MS, "%eA": AT_S, "%eB": AT_MS, "%eP": PAST}
SINCE_7 = {b"SSUBSCRIBE", b"SUNSUBSCRIBE", b"SPUBLISH"}


def filled(rng, form):
    return [rng.choice(CHOICES[word]) if word in CHOICES else word.encode() for word in form]


def data(rng, version):
    """Strings, hashes, lists, sets, sorted sets, expiry."""
    return [(rng.randrange(LINKS), filled(rng, rng.choice(DATA))) for _ in range(STEPS)]


def links(rng, version):
    """What concerns one link, with RESP2 and RESP3, transactions and data between."""
    # Inside EXEC, an order that is not defined could not be sorted.
    defined = [form for form in DATA if form[0] not in ("KEYS", "SMEMBERS")]
    kinds = [defined] * 3 + [LINK] * 2 + [MULTI] * 3
    return [(rng.randrange(LINKS), filled(rng, rng.choice(rng.choice(kinds)))) for _ in range(STEPS)]


def pubsub(rng, version):
    # Inside EXEC, an order that is not defined could not be sorted.
    has_multi = rng.random() < 0.5
    forms = [form for form in PUBSUB if not has_multi or (form[0] != "PUBSUB" and len(form) > 1)]
    kinds = [forms] * 6 + ([MULTI] if has_multi else [])
    return [(rng.randrange(LINKS), filled(rng, rng.choice(rng.choice(kinds)))) for _ in range(STEPS)]


# Scripts.


def text_of(name):
    """A script as the library sends it: with the parts that it includes, without comments."""
    text = (SCRIPTS / f"{name}.lua").read_text()
    text = re.sub(r"^ *-- @include (\w+)\.lua$", lambda match: text_of(match.group(1)), text, flags=re.M)
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))


PARTS = set(re.findall(r"-- @include (\w+)\.lua", "".join(path.read_text() for path in SCRIPTS.glob("*.lua"))))
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.lua") if path.stem not in PARTS)
TEXTS = {name: text_of(name).encode() for name in NAMES}

SESSION = [b"b1:%s" % (b"%s%02d" % (b"s" * 20, i)) for i in range(3)]
LEASES = [b"50000", b"90000000", b"120000"]
PUBLISH = [b"PUBLISH", b"SPUBLISH", b"spublish", b"publish", b"FOO"]


def member(i):
    return b"%s %d.0000000000000001 inbox%d 60000" % (SESSION[i], i, i)


def script_arguments(rng, name):
    """(keys, arguments) that the library could send, or nearly."""
    i = rng.randrange(3)
    say = rng.choice(PUBLISH[: 2 if rng.random() < 0.9 else 5])
    lease = rng.choice(LEASES)
    queue = [b"{q}", b"{q}:bwl.q", b"{q}:bwl.b", b"bowline:f"]
    one = [rng.choice([b"{q}", b"{q}", b"k1", b"k2"])]
    value = SESSION[i]
    if name == "queue_take":
        return queue, [value, lease, say]
    if name == "queue_join":
        return queue, [value, lease, say, member(i), rng.choice([b"0", b"0", b"5"]), rng.choice([b"0", b"2"])]
    if name == "queue_heartbeat":
        return queue, [value, say, rng.choice([b"0", b"5"]), member(i), member(rng.randrange(3)), member(i)]
    if name == "queue_heartbeat_each":
        waiters = [i, rng.randrange(3)]
        return queue[:3] * 2, [word for at in waiters for word in (SESSION[at], member(at))]
    if name == "queue_take_each":
        return [queue[3], *queue[:2], b"k1", b"{k1}:bwl.q"], [value, SESSION[rng.randrange(3)], lease]
    if name == "queue_release":
        return queue, [value, say]
    if name == "queue_cancel":
        return queue, [value, say, member(i)]
    if name == "queue_dispatch_next":
        return queue, [say]
    if name == "queue_requeue":
        return queue, [value, lease, say, member(i), SESSION[rng.randrange(3)]]
    if name == "queue_fence_minimum":
        return ([b"bowline:f", b"who"], [lease, b"uid", b"1", b"pid", b"2"])
    if name == "queue_holder_query":
        return one, []
    if name == "queue_holders":
        return queue[:2], [b"who:", rng.choice([b"0", b"5"]), rng.choice([b"0", b"1"])]
    if name == "hash_take":
        return rng.choice([[b"h1"], [b"h1", b"h1:f"]]), [rng.choice(FIELDS), lease]
    if name == "hash_extend":
        return [b"h1"], [rng.choice(FIELDS), lease]
    if name == "hash_release":
        return [b"h1"], [rng.choice(FIELDS), b"c1", say]
    if name in ("zset_take", "zset_extend"):
        return [b"z1"], [rng.choice(FIELDS), lease]
    if name == "zset_release":
        return [b"z1"], [rng.choice(FIELDS)]
    if name == "take_timestamp":
        form = rng.choice([b"d", b"f", b"p", b"l", b"d"])
        unit, whole = rng.choice([(b"1000000", b"1000000"), (b"1000", b"1000000"), (b"0", b"1"), (b"1", b"1000000")])
        return [b"t1"], [form, b"", b"", unit, whole, b"90000000", b"<", rng.choice([b"0", b"1"]), b"", b""]
    if name.startswith("delete_and_p") or name == "delete_and_keep_one":
        keys = one if name == "delete_and_publish" else one + [b"signal"]
        return keys, [value] + ([b"c1", b"c2"] if name == "delete_and_publish" else [])
    if name == "extend_each_if_mine":
        keys = [rng.choice(KEYS + [b"{q}"]) for _ in range(rng.randrange(1, 4))]
        return keys, [value for _ in keys] + [lease]
    return one, [value, lease]


def noise(rng, keys):
    """A command that puts one of the keys into another state."""
    key = rng.choice(keys) if keys else b"k1"
    i = rng.randrange(3)
    return rng.choice([
        [b"SET", key, SESSION[i]], [b"SET", key, b"foreign", b"PX", b"90000000"], [b"DEL", key], [b"HSET", key, b"f1", b"1"],
        [b"ZADD", key, b"5", member(i)], [b"ZADD", key, b"4000000000000", rng.choice(FIELDS)], [b"RPUSH", key, b"1"],
        [b"PEXPIRE", key, b"1"] if rng.random() < 0.0 else [b"PERSIST", key], [b"EXPIRE", key, b"-1"],
        [b"SET", key, b"9007199254740993"], [b"SET", key, b"1795000000000000"], [b"GET", key], [b"ZADD", key, b"4000000000000", b"__write__"],
        [b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"], [b"HGETALL", key], [b"PTTL", key], [b"SET", key, b"4000000000.0"],
        [b"SUBSCRIBE", b"inbox%d" % i], [b"SSUBSCRIBE", b"inbox%d" % i], [b"SUBSCRIBE", b"c1"],
    ])


def scripts(rng, version):
    """The scripts of the library; one link is of RESP3, as the library's own."""
    family = rng.choice(["queue", "queue", "hash", "zset", ""])
    names = [name for name in NAMES if name.startswith(family)]
    steps = [(link, [b"HELLO", b"3"]) for link in range(LINKS)]
    if rng.random() < 0.2:
        steps.append((0, [b"CLIENT", b"TRACKING", b"ON"] + [b"OPTIN"] * rng.randrange(2)))
    used = [b"k1"]
    mess = 0.25
    if family == "queue" and rng.random() < 0.7:
        # A queue that works: waiters are subscribed, and little disturbs it.
        names = ["queue_join"] * 4 + ["queue_release", "queue_heartbeat", "queue_heartbeat_each", "queue_cancel", "queue_requeue", "queue_take", "queue_take_each"]
        steps += [(rng.randrange(LINKS), [b"SUBSCRIBE", b"inbox%d" % i]) for i in range(3)]
        mess = 0.05
    for _ in range(STEPS):
        link = rng.randrange(LINKS)
        if rng.random() < mess:
            words = noise(rng, used)
            if version == "6.2" and words[0] in SINCE_7:
                continue
            steps.append((link, words))
            continue
        name = rng.choice(names)
        keys, arguments = script_arguments(rng, name)
        used = keys
        if rng.random() < 0.03:
            arguments = arguments[:-1]
        if rng.random() < 0.02:
            keys = keys[:-1]
        steps.append((link, [b"EVAL", TEXTS[name], b"%d" % len(keys), *keys, *arguments]))
    return steps


LUA = """
return 1|return 3.99|return -3.99|return 'x'|return nil|return false|return true|return {1,2,nil,4}|return {1,{2,{3}}}
return {ok='fine'}|return {err='BAD thing'}|return {err='bad'}|return redis.error_reply('My error')|return redis.error_reply('-X y')
return redis.error_reply('ERR x')|return redis.status_reply('S')|return redis.error_reply('one')|return {1,2,x=3}|return {}
return redis.call('GET', KEYS[1])|return redis.pcall('GET', KEYS[1])|return redis.call('INCR', KEYS[1])
return redis.pcall('INCR', KEYS[1]).err|return redis.call('FOO')|return redis.pcall('FOO')|return redis.call('GET')
return redis.pcall('GET')|return redis.call()|return redis.call({})|return redis.call('SUBSCRIBE','x')|return x
x = 1|return redis.call('ZSCORE', KEYS[1], 'f1')|return redis.call('HGETALL', KEYS[1])|return redis.call('TYPE', KEYS[1])
return redis.call('TYPE', KEYS[1]).ok|error('boom')|error({err='E x'})|return redis.sha1hex('')|return #ARGV|return ARGV
return KEYS|return tostring(redis.call('GET','nokey'))|return redis.call('SET', KEYS[1], 1.5)|return redis.call('SET', KEYS[1], 2^53)
return redis.call('SET', KEYS[1], 1e17)|return redis.call('SET', KEYS[1], 0.1)|return 2^53|return 1e30|return {1.9, -1.9}
return redis.call('ZADD', KEYS[1], 1.5, 'm')|return redis.call('SELECT', 1)|return redis.call('PUBLISH','c1','m')
redis.call('SET', KEYS[1], 'a'); return redis.call('GET', KEYS[1])|redis.call('SET', KEYS[1], 'a'); redis.call('HGET', KEYS[1], 'x')
return string.format('%.17g', 0.1)|return pcall(error, 'x')
return {pcall(redis.call, 'FOO')}|local function f() return redis.call('HGET', KEYS[1], 'x') end return f()|return struct.pack('<i8', 258)
return struct.unpack('<i8', ARGV[1])|return {struct.unpack('>I2h', 'abcdef')}|return tonumber('0x10')|return {false, true, 1}
return (|return redis.replicate_commands()|return redis.call('EVAL', 'return 1', 0)|return redis.call('TIME')[1] + 0 > 0
return redis.setresp(2)|return type(redis.LOG_NOTICE)|return redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
return redis.call('LRANGE', KEYS[1], 0, -1)|return redis.pcall('HSET', KEYS[1])|return {redis.pcall('INCR', KEYS[1])}|return loadstring('return 7')()
"""


def lua(rng, version):
    """Small scripts: conversions, errors and their words."""
    bodies = [body.encode() for line in LUA.strip().splitlines() for body in line.split("|")]
    if version == "6.2":  # its handler of errors fails with a table
        bodies = [body for body in bodies if not body.startswith(b"error({")]
    steps = [(0, [b"HELLO", b"3"])]
    for _ in range(STEPS):
        link = rng.randrange(LINKS)
        chance = rng.random()
        if chance < 0.3:
            steps.append((link, filled(rng, rng.choice(DATA))))
        elif chance < 0.36:
            steps.append((link, filled(rng, rng.choice(MULTI))))
        elif chance < 0.4:
            steps.append((link, [b"EVALSHA", rng.choice([b"x", b"0" * 40, b"E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"]), b"0"]))
        else:
            count = rng.choice([b"1", b"1", b"1", b"1", b"1", b"3", b"-1", b"x"])
            steps.append((link, [b"EVAL", rng.choice(bodies), count, rng.choice(KEYS), rng.choice(VALUES)]))
    return steps


# Users, and a server whose memory is full.

RULES = ["on", "off", "nopass", "resetpass", ">p", ">q", "<p", "~*", "~k1", "resetkeys", "allkeys", "&*", "&c1", "resetchannels",
         "+@all", "-@all", "+get", "-get", "+set", "+@read", "-@write", "+eval", "+client|id", "-client", "+incr", "+publish",
         "+subscribe", "+psubscribe", "+@scripting", "+multi", "+exec", "+foo", "+@foo", "foo", "+acl|whoami", "-@all", "+@all", "reset"]
USER_FORMS = """
AUTH u p|AUTH u q|AUTH u x|AUTH default x|HELLO 3 AUTH u p|HELLO 2 AUTH u x|ACL WHOAMI|GET %k|SET %k %v|DEL %k|INCR %k|MGET %k %k
PUBLISH %c x|SUBSCRIBE %c|PSUBSCRIBE %p|CLIENT ID x|CLIENT SETNAME x|CONFIG GET maxmemory|EVAL R0 1 %k|EVAL R1 1 %k|EVAL R2 1 %k
MULTI|EXEC|EXEC|RESET|ACL DELUSER nobody|ACL SETUSER|ACL GETUSER nobody|UNSUBSCRIBE|WATCH %k|TIME x
"""
READERS = {b"R0": b"return redis.call('GET', KEYS[1])", b"R1": b"return redis.pcall('SET', KEYS[1], 'x')",
           b"R2": b"return redis.call('PUBLISH', 'c2', 'x')"}


def with_scripts(words):
    return [READERS.get(word, word) for word in words]


def users(rng, version):
    """ACL: link 0 stays the user default and changes the rules of u, the others become u."""
    # Which of their messages name the user is not modelled.
    forms = split(USER_FORMS)
    steps = [(0, [b"ACL", b"SETUSER", b"u", b"reset", b"on", b">p", b"+@all", b"~*", b"&*"])]
    for _ in range(STEPS):
        if rng.random() < 0.3:
            rules = [rng.choice(RULES).encode() for _ in range(rng.randrange(1, 4))]
            steps.append((0, [b"ACL", b"SETUSER", b"u", *rules]))
        else:
            steps.append((rng.randrange(1, LINKS), with_scripts(filled(rng, rng.choice(forms)))))
    return steps + [(0, [b"ACL", b"SETUSER", b"u", b"reset"]), (0, [b"ACL", b"DELUSER", b"nobody"])]


def full(rng, version):
    """Memory is full from some step on, and is not full later: what is refused, and what a script may still do."""
    forms = DATA + MULTI * 4
    steps = [(link, [b"HELLO", b"3"]) for link in range(LINKS)]
    for _ in range(STEPS):
        chance = rng.random()
        if chance < 0.1:
            steps.append((0, [b"CONFIG", b"SET", b"maxmemory", rng.choice([b"1", b"1", b"0"])]))
        elif chance < 0.5:
            name = rng.choice(NAMES)
            keys, arguments = script_arguments(rng, name)
            steps.append((rng.randrange(LINKS), [b"EVAL", TEXTS[name], b"%d" % len(keys), *keys, *arguments]))
        else:
            steps.append((rng.randrange(LINKS), filled(rng, rng.choice(forms))))
    return steps


# "b" is in slot 3300, which goes to the other node; "a" in 15495, which comes from it; "k3" is ours, "k2" is not.
SLOT_KEYS = [b"b", b"{b}1", b"{b}2", b"a", b"{a}1", b"k3", b"{k3}1", b"k2", b"{k2}1"]
CLUSTER_FORMS = """
GET %K|SET %K %v|DEL %K|MGET %K %K|MGET {b}1 {b}2|MGET {a}1 a|MGET k3 {k3}1|EXISTS b {b}1|MSET %K x %K y|INCR %K|ASKING|ASKING|ASKING
MULTI|MULTI|EXEC|EXEC|DISCARD|WATCH %K|SSUBSCRIBE %K|SSUBSCRIBE %K %K|SUNSUBSCRIBE|SPUBLISH %K m|PUBLISH %K m|SUBSCRIBE %K|READONLY
READWRITE|SELECT 0|SELECT 1|CLUSTER KEYSLOT %K|CLUSTER FOO|DBSIZE|HELLO 3|HELLO 2|EVAL R0 1 %K|EVAL R1 1 %K|EVAL R3 1 %K|EVAL R4 2 %K %K
EVAL R5 1 %K|PING|SET b 1|SET {b}1 1|DEL b {b}1 {b}2|FLUSHALL|WAIT 0 0|RESET
"""
READERS.update({b"R3": b"return redis.call('GET', 'k3')", b"R4": b"return redis.call('MGET', KEYS[1], KEYS[2])",
                b"R5": b"return redis.pcall('GET', 'b')"})


def cluster(rng, version):
    """One node of two, while two slots move."""
    forms = [form for form in split(CLUSTER_FORMS)
             if version != "6.2" or form[0] not in ("SSUBSCRIBE", "SUNSUBSCRIBE", "SPUBLISH")]
    return [(rng.randrange(LINKS), with_scripts([rng.choice(SLOT_KEYS) if word == b"%K" else word
                                                 for word in filled(rng, rng.choice(forms))])) for _ in range(STEPS)]


KINDS = {"data": data, "links": links, "pubsub": pubsub, "scripts": scripts, "lua": lua, "users": users, "full": full, "cluster": cluster}
