-- Several heartbeats of one connection.  KEYS: of each, the lock, its queue, its heartbeats.  ARGV: of each, our
-- value, our entry in the queue.  Only the usual case of queue_heartbeat: the lock has another value, our
-- entry is in the queue, and the server has an earlier heartbeat of ours.
-- For each three numbers: rank, PTTL of the lock, and what it is, as in queue_join; or -1 0 0: send this
-- one alone.  Then the server's time in us.
local keys, arguments, call, pcall, replies = KEYS, ARGV, redis.call, redis.pcall, {}
local t = call('TIME')
local ms = math.floor(t[1] * 1000 + t[2] / 1000)
pcall('HDEL', keys[3], '') -- allowed when memory is full, and so is all behind it
for i = 1, #keys / 3 do
  local at, value = 3 * i, arguments[2 * i - 1]
  local v = pcall('GET', keys[at - 2])
  local rank = type(v) == 'string' and v ~= value and pcall('ZRANK', keys[at - 1], arguments[2 * i])
  local is_new = type(rank) == 'number' and pcall('HSET', keys[at], value, ms)
  if is_new == 1 then pcall('HDEL', keys[at], value) end -- as before
  if is_new == 0 then
    -- @include queue_kind.lua
    replies[at - 2], replies[at - 1], replies[at] = rank, rank == 0 and call('PTTL', keys[at - 2]) or 0, kind
  else
    replies[at - 2], replies[at - 1], replies[at] = -1, 0, 0
  end
end
replies[#replies + 1] = t[1] * 1000000 + t[2]
return replies
