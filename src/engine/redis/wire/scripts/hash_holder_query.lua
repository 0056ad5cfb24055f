-- KEYS[1] the lock.  Its type, its time left (-1: for ever, -2: no key), the name of its field if it is a
-- hash with one field, the first 161 bytes if it is a string.  Changes nothing.
local kind = redis.call('TYPE', KEYS[1]).ok
local value = ''
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 160) end
if kind == 'hash' and redis.call('HLEN', KEYS[1]) == 1 then
  value = string.sub(redis.call('HKEYS', KEYS[1])[1], 1, 161)
end
return { kind, redis.call('PTTL', KEYS[1]), value }
