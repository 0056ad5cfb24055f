-- KEYS[1] the lock.  ARGV: 1 our field, 2 the lease in ms.
-- 1: the field is ours, and the key lasts the lease from now, or longer if it would have anyway.
-- 0: the key is something else, or nothing.  Never makes a key, never shortens its time.
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
