-- KEYS[1] the lock.  ARGV: 1 our value, 2 the lease in ms.
-- 1: the key has our value, from an earlier command (its expiry does not change) or from now on.
-- 0: the key has another value or type.
-- Before each 1 there is a write: extend_if_mine.lua says why.  PEXPIRE 0 would delete the key.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return value
end
if value == ARGV[1] then
  local left = redis.call('PTTL', KEYS[1])
  redis.call('PEXPIRE', KEYS[1], left < 0 and ARGV[2] or math.max(left, 1))
  return 1
end
if value then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
