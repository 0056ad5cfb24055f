-- KEYS[1] the lock.  ARGV[1] our value, ARGV[2] and following: the channels of waiters of Spring.
-- As delete_if_mine; and the key is published on each channel.  The lock is deleted even if that fails.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return -1 end
  return value
end
if value ~= ARGV[1] then return value and -1 or 0 end
redis.call('DEL', KEYS[1])
for i = 2, #ARGV do redis.pcall('PUBLISH', ARGV[i], KEYS[1]) end
return 1
