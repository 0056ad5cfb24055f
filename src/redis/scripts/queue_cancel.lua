-- KEYS: 1 the lock, 2 its queue, 3 its beats, 4 the count of fences.  ARGV: 1 our value, 2 the command
-- that tells a waiter, 3 and after it how we may stand in the queue.
-- As queue_release; and 1: we stood in the queue, and do not any more.
-- @include queue_read.lua
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
if read() == ARGV[1] then return pass(ARGV[2]) end
local problem = wrong()
if problem then return problem end
local gone = 0
for i = 3, #ARGV do
  if redis.call('ZREM', KEYS[2], ARGV[i]) == 1 then gone = 1 end
end
redis.call('HDEL', KEYS[3], ARGV[1])
return gone
