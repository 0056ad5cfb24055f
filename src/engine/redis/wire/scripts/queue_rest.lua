-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.
-- ARGV: 1 our value, 2 the command that publishes, 3 what is left of the rest in ms, 4 our user and host.
-- 1: the lock is a rest of our value, from an earlier command or from now on.  If nothing is left, and if
-- the lock has another value: as queue_release.
-- The rest is `b1:=`, the rest of our value, the ms that were left when it began, and ARGV[4].  It ends when
-- the lock would have, or after ARGV[3] if that is sooner.
-- @include queue_read.lua
local v = read()
if v and string.sub(v, 1, 4) == 'b1:=' and string.match(v, '^b1:=(%S+)') == string.sub(ARGV[1], 4) then
  return 1
end
if v ~= ARGV[1] then return v and -1 or 0 end
local left = redis.call('PTTL', KEYS[1])
left = left < 0 and tonumber(ARGV[3]) or math.min(left, tonumber(ARGV[3]))
if left > 0 then
  local ms = string.format('%.0f', left)
  redis.call('PEXPIRE', KEYS[1], ms) -- allowed when memory is full, and so is all behind it
  redis.call('SET', KEYS[1], 'b1:=' .. string.sub(ARGV[1], 4) .. ' ' .. ms .. ' ' .. ARGV[4], 'PX', ms)
  return 1
end
local sharers = string.sub(KEYS[2], 1, -2) .. 'h'
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
return pass(ARGV[2], redis.pcall('ZCARD', KEYS[2]))
