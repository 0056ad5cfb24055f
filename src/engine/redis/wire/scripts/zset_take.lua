-- KEYS[1] the lock.  ARGV: 1 our member, 2 the lease in ms.
-- 1: the set is ours alone, from an earlier question (its scores stay as they were) or from now on.
-- 0: the key is something else, or has a member whose score has not come, which is left as it is.
-- A score is when its member ends, in ms by the server's clock.  PEXPIREAT comes before the key is made: a
-- user who may not give it an end gets no lock.
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
