-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.  ARGV: 1 the command that
-- publishes.  If the lock is free, the next waiter gets it.  1: done.  2: 64 waiters were removed, and
-- there are more: run it again.
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
return pass(ARGV[1], redis.pcall('ZCARD', KEYS[2]))
