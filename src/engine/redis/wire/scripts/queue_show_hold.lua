-- KEYS[1] our client info.  ARGV: 1 ms until it expires, 2 the field of the hold, 3 ms since its grant,
-- 4 the fence, 5 the pid of its command; then the fields and values of the client info.
-- Publishes the hold.  1.
local t = redis.call('TIME')
local since = t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[3]
local hold = string.format('%.0f %s %s', since, ARGV[4], ARGV[5])
redis.call('HSET', KEYS[1], ARGV[2], hold, unpack(ARGV, 6))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
