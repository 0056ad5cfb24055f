-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.  ARGV: 1 the
-- command that publishes.  The waiters at the head of the queue get the lock, if it is free, or is shared and
-- they may share it.  1: done.  2: 64 waiters were removed, and there are more: run it again.
local sharers = string.sub(KEYS[2], 1, -2) .. 'h'
-- @include queue_read.lua
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
local v = read()
local gate = gate_of(v)
if v and not gate then return 1 end
if not gate then return pass(ARGV[1], redis.pcall('ZCARD', KEYS[2])) end
local now = clock()
local used = in_use(now, v)
return used and (serve(nil, ARGV[1], nil, now, redis.call('ZCARD', KEYS[2]), nil, gate, used)) or 1
