-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.
-- ARGV: 1 our new value, 2 the lease in ms, 3 the command that publishes, 4 our entry in the queue, 5 our
-- previous value.
-- A number: the queue is empty, and the lock has our new value, with this fence.  0: the lock does not have
-- our previous value.  CLAIMED, QUEUED: the first waiter has the lock, and our entry is the last in the
-- queue; see queue_join.
-- @include queue_read.lua
if read() ~= ARGV[5] then return 0 end
-- @include queue_fence.lua
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2]) -- allowed when memory is full, and so is all behind it
  -- @include queue_grant.lua
end
local sharers = string.sub(KEYS[2], 1, -2) .. 'h'
-- @include queue_serve.lua
-- @include queue_stand.lua
local problem = wrong(2)
if problem then return problem end
redis.call('PEXPIRE', KEYS[2], 60000)
local f = fence()
if type(f) == 'table' then return f end
redis.call('ZADD', KEYS[2], string.format('%.0f', f), ARGV[4])
return stand(ARGV[1], ARGV[4], ARGV[3], f, clock())
