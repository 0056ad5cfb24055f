-- KEYS[1] the lock, ARGV[1] our token, ARGV[2] the lease in ms.
-- 1: the key is our token, and lasts the lease from now, or longer if it would have anyway.
-- 0: the key is something else, or nothing.  Never makes a key, never shortens its time.
-- It always writes, also where the time stays as it was: from Redis 8 on, WAIT covers what its own
-- connection has written, and nothing that others wrote before (protocol/replicated.c).
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return value
end
if value ~= ARGV[1] then return 0 end
local left = redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[1], left < tonumber(ARGV[2]) and ARGV[2] or left)
return 1
