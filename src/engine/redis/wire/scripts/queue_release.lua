-- KEYS: 1 the lock, 2 its queue, 3 its beats, 4 the count of fences.  ARGV: 1 our value, 2 the command
-- that tells a waiter.
-- 1: it was ours, and is the next one's, or free.  2: it is free, and there are more to be passed over.
-- 0: it is not ours.
-- The usual case comes first: before the functions are made, which cost as much as it does.
local is_ours = redis.pcall('GET', KEYS[1]) == ARGV[1]
local waiting = is_ours and redis.pcall('ZCARD', KEYS[2])
if waiting == 0 then
  redis.call('DEL', KEYS[1])
  return 1
end
if not is_ours then
  -- @include queue_read.lua
  read()
  return 0
end
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
return pass(ARGV[2], waiting)
