-- KEYS[1] the lock.  Read-only.
-- Returns its type, its PTTL, and a value: the field of a hash with one field, or the first 161 bytes of a
-- string.
local kind = redis.call('TYPE', KEYS[1]).ok
local value = ''
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 160) end
if kind == 'hash' and redis.call('HLEN', KEYS[1]) == 1 then
  value = string.sub(redis.call('HKEYS', KEYS[1])[1], 1, 161)
end
return { kind, redis.call('PTTL', KEYS[1]), value }
