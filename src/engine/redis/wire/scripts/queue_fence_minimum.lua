-- KEYS: 1 the count of fences, 2 who we are.  ARGV: 1 for how many ms that is kept, and behind it fields
-- and what they say.  The count is not below the server's time in microseconds from now on: 1.
-- In a cluster KEYS[2] comes before ARGV: while a slot moves it need not be where the count is.
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
