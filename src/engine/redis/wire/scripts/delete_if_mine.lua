-- KEYS[1] the lock.  ARGV[1] our value.
-- 1: the key had our value, and is deleted.  0: the key has another value or type, or does not exist.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return value
end
if value ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
