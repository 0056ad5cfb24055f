-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences, 5 who shares it.  ARGV: 1 our
-- value, 2 the lease in ms, 3 the command that publishes.
-- A number: the lock was ours alone, or an earlier command has done this.  Now any number of clients may share
-- it, we do, and so do the waiters at the head of the queue that want to.  The number is the fence of all of
-- them.  Ours ends after the lease, or at its present end if that is later.
-- 0: the lock does not exist.  -1: it has another value or type, or is shared by others.
local sharers = KEYS[5]
-- @include queue_read.lua
-- @include queue_fence.lua
-- @include queue_serve.lua
local v = read()
local gate, only = gate_of(v)
if v ~= ARGV[1] and not gate then return v and -1 or 0 end
if gate and only ~= '' and only ~= ARGV[1] then return -1 end
local problem = wrong(2)
if problem then return problem end
redis.call('PERSIST', KEYS[4]) -- allowed when memory is full, and so is all behind it
local now = clock()
if gate and only == '' then
  if not redis.call('ZSCORE', KEYS[5], ARGV[1]) then return -1 end
  redis.call('ZADD', KEYS[5], 'XX', 'GT', string.format('%.0f', math.floor(now / 1000) + ARGV[2]), ARGV[1])
  keep_gate()
  return tonumber(gate)
end
local left = math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2]))
if gate then
  redis.call('PEXPIRE', KEYS[1], left)
  return tonumber(gate)
end
local f = fence()
if type(f) == 'table' then return f end
gate = string.format('%.0f', f)
v = 'b1:~' .. gate .. ' ' .. ARGV[1]
redis.call('SET', KEYS[1], v, 'PX', left)
local waiting = redis.call('ZCARD', KEYS[2])
if waiting > 0 then serve(nil, ARGV[3], nil, now, waiting, nil, gate, in_use(now, v)) end
return f
