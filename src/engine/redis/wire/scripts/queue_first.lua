-- It is free, and nobody waits: ours, with the next fence, if that is one (queue_fence.lua).
-- The shorter key comes last: SET may keep its value in the room of what stood there before.
local is_free = redis.call('EXISTS', KEYS[2], KEYS[1]) == 0
if is_free then
  local f = redis.pcall('INCR', KEYS[4])
  if type(f) == 'number' and f >= 1e15 and f < 2^53 then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return f
  end
end
