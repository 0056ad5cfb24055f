-- KEYS[1] the lock.  Read-only.
-- Returns its type, the ms left (as PTTL), and a value: the other member of a set with __write__ and one
-- other member, or the first 161 bytes of a string.  The ms left of a set are those of its last member, and
-- not of the key; expired members do not count.
local kind = redis.call('TYPE', KEYS[1]).ok
local value = ''
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 160) end
if kind ~= 'zset' then return { kind, redis.call('PTTL', KEYS[1]), value } end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local there = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES')
if #there == 0 then return { 'none', -2, '' } end
local left = math.min(tonumber(there[#there]) - now, 2^53)
if #there == 4 and there[1] == '__write__' then value = there[3] end
if #there == 4 and there[3] == '__write__' then value = there[1] end
return { kind, left, string.sub(value, 1, 161) }
