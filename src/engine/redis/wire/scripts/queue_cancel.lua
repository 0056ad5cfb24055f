-- KEYS: 1 the lock, 2 its queue, 3 its beats, 4 the count of fences.  ARGV: 1 our value, 2 the command
-- that tells a waiter, 3 and after it how we may stand in the queue.
-- As queue_release; and 1: we stood in the queue, and do not any more.
-- @include queue_read.lua
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
if read() == ARGV[1] then return pass(ARGV[2], redis.pcall('ZCARD', KEYS[2])) end
local problem = wrong(2)
if problem then return problem end
local gone = redis.call('ZREM', KEYS[2], unpack(ARGV, 3)) > 0 and 1 or 0
redis.call('HDEL', KEYS[3], ARGV[1])
return gone
