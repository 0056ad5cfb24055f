-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.  ARGV: 1 our value, 2 the
-- command that publishes.
-- 1: the lock had our value; the next waiter has it, or it is deleted.  2: it is deleted; 64 waiters were
-- removed, and there are more.  0: the lock does not exist.  -1: it has another value.
-- The usual case comes before the functions: to create them costs as much as the case itself.
local is_ours = redis.pcall('GET', KEYS[1]) == ARGV[1]
local waiting = is_ours and redis.pcall('ZCARD', KEYS[2])
if waiting == 0 then
  redis.call('DEL', KEYS[1])
  return 1
end
if not is_ours then
  -- @include queue_read.lua
  return read() and -1 or 0
end
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
return pass(ARGV[2], waiting)
