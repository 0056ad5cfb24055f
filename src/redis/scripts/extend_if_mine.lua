-- KEYS[1] the lock, ARGV[1] our token, ARGV[2] the lease in ms.
-- 1: the key is our token, and lasts the lease from now, or longer if it would have anyway.
-- 0: the key is something else, or nothing.  Never makes a key, never shortens its time.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return value
end
if value ~= ARGV[1] then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
