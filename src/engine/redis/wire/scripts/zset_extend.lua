-- KEYS[1] the lock.  ARGV: 1 our member, 2 the lease in ms.
-- 1: the set has our member and __write__; both end the lease from now, or at their present end if that is
-- later; the key expires with its last member.  0: it does not have both, is not a sorted set, does not
-- exist, or our member has expired.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mine = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if type(mine) == 'table' then
  if string.sub(mine.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return mine
end
if not mine or tonumber(mine) <= now or not redis.call('ZSCORE', KEYS[1], '__write__') then return 0 end
local ends = math.max(now + ARGV[2], tonumber(mine))
redis.call('ZADD', KEYS[1], ends, ARGV[1], ends, '__write__')
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', last))
return 1
