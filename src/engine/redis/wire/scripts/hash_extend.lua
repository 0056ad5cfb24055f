-- KEYS[1] the lock.  ARGV: 1 our field, 2 the lease in ms.
-- 1: the hash has our field, and expires the lease from now, or at its present expiry if that is later.
-- 0: the key has no such field, is not a hash, or does not exist.
local mine = redis.pcall('HEXISTS', KEYS[1], ARGV[1])
if type(mine) == 'table' then
  if string.sub(mine.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return mine
end
if mine == 0 then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
