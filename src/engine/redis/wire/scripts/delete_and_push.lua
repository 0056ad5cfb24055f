-- KEYS[1] the lock, KEYS[2] the list that waiters of python-redis-lock sleep on, ARGV[1] our value.
-- As delete_if_mine; and one of those who sleep wakes up.  The lock goes whatever becomes of the list.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return value
end
if value ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.pcall('DEL', KEYS[2])
redis.pcall('LPUSH', KEYS[2], 1)
redis.pcall('PEXPIRE', KEYS[2], 1000)
return 1
