-- KEYS[1] the lock, KEYS[2] the list on which waiters of python-redis-lock block.  ARGV[1] our value.
-- As delete_if_mine; and one waiter wakes up.  The lock is deleted even if that fails.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return -1 end
  return value
end
if value ~= ARGV[1] then return value and -1 or 0 end
redis.call('DEL', KEYS[1])
redis.pcall('DEL', KEYS[2])
redis.pcall('LPUSH', KEYS[2], 1)
redis.pcall('PEXPIRE', KEYS[2], 1000)
return 1
