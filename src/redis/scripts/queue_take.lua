-- KEYS: 1 the lock, 2 its queue, 3 its beats, 4 the count of fences.  ARGV: 1 our value, 2 the lease in
-- ms, 3 the command that tells a waiter.
-- A number: it is ours, with this fence.  BUSY, ms left, 1 if it is held by this protocol.
-- The usual case comes first: before the functions are made, which cost as much as it does.
local is_free = redis.call('EXISTS', KEYS[1], KEYS[2]) == 0
if is_free then
  local f = redis.pcall('INCR', KEYS[4])
  if type(f) == 'number' and f >= 1e15 and f < 2^53 then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return f
  end
end
-- @include queue_fence.lua
if is_free then
  local f = fence()
  if type(f) == 'table' then return f end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return f
end
-- @include queue_read.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
if not read() then
  local passed = pass(ARGV[3])
  if type(passed) == 'table' then return passed end
  if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then -- all who waited are dead
    local f = fence()
    if type(f) == 'table' then return f end
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return f
  end
end
local v = read()
return { 'BUSY', redis.call('PTTL', KEYS[1]), v and string.sub(v, 1, 3) == 'b1:' and 1 or 0 }
