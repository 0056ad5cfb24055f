-- Several locks.  KEYS: the counter of fences; of each, the lock, its queue.  ARGV: our value of each, then
-- the lease in ms.  Only the usual cases of queue_take: neither the lock nor its queue exists, and the counter
-- was not lost; or the lock has another value.
-- For each the fence; or PTTL, and as queue_join; or -1: send this one alone.  No error ends it: the replies
-- about those before would be lost.  EXISTS as in queue_first.
local keys, values, pcall, replies = KEYS, ARGV, redis.pcall, {}
local count = #values - 1
local lease = values[count + 1]
for i = 1, count do
  local lock, reply = keys[2 * i], -1
  local there = pcall('EXISTS', keys[2 * i + 1], lock)
  if there == 0 then
    local f = pcall('INCR', keys[1])
    if type(f) == 'number' and f >= 1e15 and f < 2^53 and pcall('SET', lock, values[i], 'PX', lease).ok then reply = f end
  else
    local v = pcall('GET', lock)
    local left = type(v) == 'string' and pcall('PTTL', lock)
    if type(left) == 'number' then
      -- @include queue_kind.lua
      reply = { left, kind }
    end
  end
  replies[i] = reply
end
return replies
