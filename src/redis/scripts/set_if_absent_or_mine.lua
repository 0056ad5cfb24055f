-- KEYS[1] the lock, ARGV[1] our token, ARGV[2] the lease in ms.
-- 1: the key is our token, from an earlier question (its time goes on as it was) or from now on.
-- 0: the key is something else.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return value
end
if value == ARGV[1] then return 1 end
if value then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
