-- It is free, and nobody waits: ours, with the next fence, if that is one (queue_fence.lua).
local is_free = redis.call('EXISTS', KEYS[1], KEYS[2]) == 0
if is_free then
  local f = redis.pcall('INCR', KEYS[4])
  if type(f) == 'number' and f >= 1e15 and f < 2^53 then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return f
  end
end
