/*
 * symfony_scripts.h -- the scripts of Symfony's RedisStore, as PHP sends them: symfony/lock 5.2 to
 * 7.2, Store/RedisStore.php, MIT licence, (c) Fabien Potencier.  Their comments and the width of
 * their spaces are left out.
 *
 * On a server that lets a script write after TIME.  ARGV: 1 the time of the PHP host, 2 the token,
 * 3 the ttl in ms; of DELETE 1 is the token.
 */
#pragma once

#define SYMFONY_BEGINNING                                 \
    "local key = KEYS[1] "                                \
    "local uniqueToken = ARGV[2] "                        \
    "local ttl = tonumber(ARGV[3]) "                      \
    "if redis.call(\"TYPE\", key).ok == \"string\" then " \
    "  return false "                                     \
    "end "                                                \
    "local now = redis.call(\"TIME\") "                   \
    "now = now[1] * 1000 + math.floor(now[2] / 1000) "

#define SYMFONY_REMOVE_EXPIRED "redis.call(\"ZREMRANGEBYSCORE\", key, \"-inf\", now) "

#define SYMFONY_END                                              \
    "local maxExpiration = "                                     \
    "  redis.call(\"ZREVRANGE\", key, 0, 0, \"WITHSCORES\")[2] " \
    "redis.call(\"PEXPIREAT\", key, maxExpiration) "             \
    "return true"

#define SYMFONY_SAVE                                                   \
    SYMFONY_BEGINNING                                                  \
    SYMFONY_REMOVE_EXPIRED                                             \
    "if redis.call(\"ZSCORE\", key, uniqueToken) then "                \
    "  if not redis.call(\"ZSCORE\", key, \"__write__\") and "         \
    "    redis.call(\"ZCOUNT\", key, \"-inf\", \"+inf\") > 1 then "    \
    "    return false "                                                \
    "  end "                                                           \
    "elseif redis.call(\"ZCOUNT\", key, \"-inf\", \"+inf\") > 0 then " \
    "  return false "                                                  \
    "end "                                                             \
    "redis.call(\"ZADD\", key, now + ttl, uniqueToken) "               \
    "redis.call(\"ZADD\", key, now + ttl, \"__write__\") " SYMFONY_END

#define SYMFONY_SAVE_READ                                  \
    SYMFONY_BEGINNING                                      \
    SYMFONY_REMOVE_EXPIRED                                 \
    "if not redis.call(\"ZSCORE\", key, uniqueToken) and " \
    "  redis.call(\"ZSCORE\", key, \"__write__\") then "   \
    "  return false "                                      \
    "end "                                                 \
    "redis.call(\"ZADD\", key, now + ttl, uniqueToken) "   \
    "redis.call(\"ZREM\", key, \"__write__\") " SYMFONY_END

#define SYMFONY_PUT_OFF                                      \
    SYMFONY_BEGINNING                                        \
    "if not redis.call(\"ZSCORE\", key, uniqueToken) then "  \
    "  return false "                                        \
    "end "                                                   \
    "redis.call(\"ZADD\", key, now + ttl, uniqueToken) "     \
    "if redis.call(\"ZSCORE\", key, \"__write__\") then "    \
    "  redis.call(\"ZADD\", key, now + ttl, \"__write__\") " \
    "end " SYMFONY_END

#define SYMFONY_DELETE                                           \
    "local key = KEYS[1] "                                       \
    "local uniqueToken = ARGV[1] "                               \
    "if redis.call(\"TYPE\", key).ok == \"string\" then "        \
    "  return false "                                            \
    "end "                                                       \
    "if not redis.call(\"ZSCORE\", key, uniqueToken) then "      \
    "  return false "                                            \
    "end "                                                       \
    "redis.call(\"ZREM\", key, uniqueToken) "                    \
    "redis.call(\"ZREM\", key, \"__write__\") "                  \
    "local maxExpiration = "                                     \
    "  redis.call(\"ZREVRANGE\", key, 0, 0, \"WITHSCORES\")[2] " \
    "if nil ~= maxExpiration then "                              \
    "  redis.call(\"PEXPIREAT\", key, maxExpiration) "           \
    "end "                                                       \
    "return true"

#define SYMFONY_EXISTS                                  \
    SYMFONY_BEGINNING                                   \
    SYMFONY_REMOVE_EXPIRED                              \
    "if redis.call(\"ZSCORE\", key, uniqueToken) then " \
    "  return true "                                    \
    "end "                                              \
    "return false"
