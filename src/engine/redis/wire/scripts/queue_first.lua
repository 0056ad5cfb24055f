-- If the lock is free and the queue is empty: sets the lock to our value, and returns the next fence.
-- Not if the counter was lost, or is too large: queue_fence.lua handles that.
-- EXISTS has the shorter key last: SET then stores the value in a smaller block (docs/design/bytes.md).
local keys = redis.call('EXISTS', KEYS[2], KEYS[1])
local is_free = keys == 0
if is_free then
  local f = redis.pcall('INCR', KEYS[4])
  if type(f) == 'number' and f >= 1e15 and f < 2^53 then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return f
  end
end
