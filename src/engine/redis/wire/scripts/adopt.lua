-- KEYS[1] the lock.  ARGV: 1 our value, 2 the lease in ms, 3 the value of the client that has given it up.
-- 1: the key had that value, and has ours now; or it has ours from an earlier command, and expires the lease
-- from now, or at its present expiry if that is later.  0: the key does not exist.  -1: another value or type.
-- Before each 1 there is a write: extend_if_mine.lua says why.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return -1 end
  return value
end
if value == ARGV[1] then
  local left = redis.call('PTTL', KEYS[1])
  redis.call('PEXPIRE', KEYS[1], left < tonumber(ARGV[2]) and ARGV[2] or left)
  return 1
end
if value ~= ARGV[3] then return value and -1 or 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
