-- Our members in `sharers` end the lease from now, ARGV[2], or at their present end if that is later; the lock
-- expires with the last member of all.  Returns 1; -1: we have none.
local t = redis.call('TIME')
local ends = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[2])
local items = { ends, ARGV[1] }
for i = 2, tonumber(ARGV[4]) do items[2 * i - 1], items[2 * i] = ends, ARGV[1] .. ':' .. i end
local changed = redis.pcall('ZADD', sharers, 'XX', 'CH', 'GT', unpack(items))
if type(changed) == 'table' then
  redis.call('ZREM', sharers, '') -- allowed when memory is full, and so is all behind it
  changed = redis.call('ZADD', sharers, 'XX', 'CH', 'GT', unpack(items))
end
if changed == 0 and not redis.call('ZSCORE', sharers, ARGV[1]) then return -1 end
local last = redis.call('ZRANGE', sharers, -1, -1, 'WITHSCORES')[2]
redis.call('PEXPIREAT', KEYS[1], last)
redis.call('PEXPIREAT', sharers, last)
return 1
