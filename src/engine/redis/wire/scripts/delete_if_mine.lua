-- KEYS[1] the lock, ARGV[1] our token.
-- 1: the key was our token and is gone.  0: the key is something else, or nothing.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return value
end
if value ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
