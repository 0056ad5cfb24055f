-- KEYS: 1 the counter of fences, 2 our client info.  ARGV: 1 ms until the client info expires, then
-- its fields and values.
-- Raises the counter to the server's time in microseconds, at least, and stores the client info.  1.
-- In a cluster the second key is ARGV[1], before the others: while a slot moves, the two keys may be on
-- different nodes, and the server would refuse KEYS.
local who = KEYS[2] or table.remove(ARGV, 1)
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local f = redis.pcall('GET', KEYS[1])
if type(f) == 'table' then return redis.error_reply(f.err .. ' (' .. KEYS[1] .. ')') end
f = tonumber(f or 0)
if not f then return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is no number') end
redis.call('PERSIST', KEYS[1]) -- allowed when memory is full, and so is all behind it
if f < now then redis.call('SET', KEYS[1], string.format('%.0f', now)) end
redis.pcall('HSET', who, unpack(ARGV, 2))
redis.pcall('PEXPIRE', who, ARGV[1])
return 1
