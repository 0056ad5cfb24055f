-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.
-- ARGV: 1 our value, 2 the command that publishes, 3 and following: the entries that we may have in the queue.
-- As queue_release; and 1 also if our entry was in the queue, and is removed.  Those behind it may share the
-- lock now, if others do.
local sharers = string.sub(KEYS[2], 1, -2) .. 'h'
-- @include queue_read.lua
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
local v = read()
if v == ARGV[1] then return pass(ARGV[2], redis.pcall('ZCARD', KEYS[2])) end
local problem = wrong(2)
if problem then return problem end
local gate = gate_of(v)
local now = gate and clock()
local waiting, used = gate and redis.call('ZCARD', KEYS[2]), gate and in_use(now, v)
local gone = redis.call('ZREM', KEYS[2], unpack(ARGV, 3))
redis.call('HDEL', KEYS[3], ARGV[1])
if used and gone > 0 then
  local served = serve(nil, ARGV[2], nil, now, waiting - gone, nil, gate, used)
  if type(served) == 'number' then return served end
end
return gone > 0 and 1 or 0
