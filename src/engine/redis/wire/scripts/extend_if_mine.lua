-- KEYS[1] the lock.  ARGV: 1 our value, 2 the lease in ms.
-- 1: the key has our value, and expires the lease from now, or at its present expiry if that is later.
-- 0: the key does not exist.  -1: it has another value or type.
-- Before each 1 there is a write, also if the expiry does not change: from Redis 8 on, WAIT covers the
-- writes of its own connection, and no others (protocol/replicated.c).
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return -1 end
  return value
end
if value ~= ARGV[1] then return value and -1 or 0 end
local left = redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[1], left < tonumber(ARGV[2]) and ARGV[2] or left)
return 1
