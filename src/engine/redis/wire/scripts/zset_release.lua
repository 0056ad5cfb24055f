-- KEYS[1] the lock.  ARGV: 1 our member.
-- 1: our member and __write__ are removed; the key is deleted with its last member.  0: the key has no such
-- member, is not a sorted set, does not exist, or our member has expired; or our member was there without
-- __write__, and is removed.  Members of others stay, and the key expires with the last of them.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mine = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if type(mine) == 'table' then
  if string.sub(mine.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return mine
end
if not mine or tonumber(mine) <= now then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
local was = redis.call('ZREM', KEYS[1], '__write__')
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
if last then redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', last)) end
return was
