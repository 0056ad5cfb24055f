-- KEYS[1] the count of fences.  It is not below the server's time in microseconds from now on: 1.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local f = redis.pcall('GET', KEYS[1])
if type(f) == 'table' then return redis.error_reply(f.err .. ' (' .. KEYS[1] .. ')') end
f = tonumber(f or 0)
if not f then return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is no number') end
if f < now then
  redis.call('PERSIST', KEYS[1])
  redis.call('SET', KEYS[1], string.format('%.0f', now))
end
return 1
