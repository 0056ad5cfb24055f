-- KEYS[1] the lock.  ARGV: 1 our member, 2 the lease in ms.
-- 1: the set has our member and __write__ alone, from an earlier command (its scores do not change) or from
-- now on.  0: the key is not a sorted set, or another member has not expired.
-- A score is the end of its member, in ms of the server's clock.  PEXPIREAT comes before the write: a user
-- without permission for it gets no lock.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local over = redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if type(over) == 'table' then
  if string.sub(over.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return over
end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return redis.call('ZSCORE', KEYS[1], '__write__') and redis.call('ZCARD', KEYS[1]) == 2 and 1 or 0
end
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local ends = now + ARGV[2]
redis.call('PEXPIREAT', KEYS[1], ends)
redis.call('ZADD', KEYS[1], ends, ARGV[1], ends, '__write__')
redis.call('PEXPIREAT', KEYS[1], ends)
return 1
