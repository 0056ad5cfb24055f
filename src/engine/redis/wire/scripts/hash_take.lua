-- KEYS: 1 the lock, 2 its counter, only if it has fences.  ARGV: 1 our field, 2 the lease in ms.
-- A number: the hash has our field, from an earlier command (its expiry does not change) or from now on;
-- the number is the counter, or 0 without one.  -1: the key exists without our field.
-- HEXISTS and PEXPIRE come before the write: a user without permission to extend gets no lock.
local mine = redis.pcall('HEXISTS', KEYS[1], ARGV[1])
if type(mine) == 'table' then
  if string.sub(mine.err, 1, 9) == 'WRONGTYPE' then return -1 end
  return mine
end
if mine == 1 then return KEYS[2] and tonumber(redis.call('GET', KEYS[2]) or 0) or 0 end
if redis.call('EXISTS', KEYS[1]) == 1 then return -1 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local fence = 0
if KEYS[2] then
  fence = redis.pcall('INCR', KEYS[2])
  if type(fence) == 'table' then return redis.error_reply(fence.err .. ' (' .. KEYS[2] .. ')') end
  if fence < 1 or fence >= 2^53 then return redis.error_reply('ERR ' .. KEYS[2] .. ' is no fence') end
end
redis.call('HSET', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return fence
