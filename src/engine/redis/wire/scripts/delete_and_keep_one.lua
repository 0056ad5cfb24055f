-- KEYS[1] the lock, KEYS[2] the list on which waiters of walrus block.  ARGV[1] our value.
-- As delete_if_mine; and the list then has one entry.  The lock is deleted even if that fails.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return -1 end
  return value
end
if value ~= ARGV[1] then return value and -1 or 0 end
redis.call('DEL', KEYS[1])
redis.pcall('LPUSH', KEYS[2], 1)
redis.pcall('LTRIM', KEYS[2], 0, 0)
return 1
