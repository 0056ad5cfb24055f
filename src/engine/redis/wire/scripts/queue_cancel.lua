-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.  ARGV: 1 our value, 2 the
-- command that publishes, 3 and following: the entries that we may have in the queue.
-- As queue_release; and 1 also if our entry was in the queue, and is removed.
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
