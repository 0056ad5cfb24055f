-- KEYS: 1 the lock, 2 its queue, 3 its beats, 4 the count of fences.  ARGV: 1 the command that tells a
-- waiter.  If the lock is free, it goes to the next.  1; 2: there are more to be passed over.
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
return pass(ARGV[1], redis.pcall('ZCARD', KEYS[2]))
