-- KEYS[1] the lock.  ARGV: 1 our value, 2 the lease in ms, 3 who shares it: KEYS[5] of share_extend, 4 our weight.
-- For share_extend while a slot moves: the server would refuse a call of which some KEYS do not exist, as the
-- queue often does.  So it names the lock alone, and looks whether the other key is here.
-- As share_extend; but a lock that is ours alone is extended, and nobody is let in.  TRYAGAIN: that key is on
-- the other node.
local v = redis.pcall('GET', KEYS[1])
if type(v) == 'table' then return string.sub(v.err, 1, 9) == 'WRONGTYPE' and -1 or v end
if not v then return 0 end
local is_gate = string.sub(v, 1, 4) == 'b1:~'
local only = is_gate and string.match(v, ' (.+)$')
if v == ARGV[1] or only == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2])))
  return 1
end
if only or not is_gate then return -1 end
local sharers = ARGV[3]
if redis.pcall('EXISTS', sharers) ~= 1 then return redis.error_reply('TRYAGAIN ' .. sharers .. ' is on another node') end
-- @include share_members.lua
