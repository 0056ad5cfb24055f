-- KEYS[1] the lock, KEYS[2] the list that waiters of walrus sleep on, ARGV[1] our value.
-- As delete_if_mine; and the list has one entry.  The lock goes whatever becomes of the list.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return value
end
if value ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.pcall('LPUSH', KEYS[2], 1)
redis.pcall('LTRIM', KEYS[2], 0, 0)
return 1
