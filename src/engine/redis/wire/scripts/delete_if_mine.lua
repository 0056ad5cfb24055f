-- KEYS[1] the lock.  ARGV[1] our value.
-- 1: the key had our value, and is deleted.  0: the key does not exist.  -1: it has another value or type.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return -1 end
  return value
end
if value ~= ARGV[1] then return value and -1 or 0 end
redis.call('DEL', KEYS[1])
return 1
