-- KEYS[1] the lock, ARGV[1] our value, ARGV[2] the channel that waiters of Spring listen to.
-- As delete_if_mine; and the channel hears the key.  The lock goes whatever becomes of that.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return value
end
if value ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', ARGV[2], KEYS[1])
return 1
