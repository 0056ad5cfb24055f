-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.
-- ARGV: 1 our value, 2 the command that publishes.
-- 1: the lock had our value; the next waiter has it, or it is deleted.  2: it is deleted; 64 waiters were
-- removed, and there are more.  0: the lock does not exist.  -1: it has another value.
-- The usual cases come before the functions: to create them costs as much as the case itself.  Nobody waits,
-- or the first waiter wants the lock for itself and hears of it; see queue_serve.lua.  Any other one that was
-- removed is put back, also if its heartbeat or the counter cannot be read: the rest of the script finds the
-- same error.
local is_ours = redis.pcall('GET', KEYS[1]) == ARGV[1]
local e = is_ours and redis.pcall('ZPOPMIN', KEYS[2])
if e and not e.err and not e[1] then
  redis.call('DEL', KEYS[1])
  return 1
end
if not is_ours then
  -- @include queue_read.lua
  return read() and -1 or 0
end
local value, nonce, inbox, claim = string.match(e[1] or '', '^(b1:%S+) ([^ +]+) (%S+) ([1-9]%d*)$')
if value and #claim > 9 then value = nil end
local beat = value and redis.pcall('HGET', KEYS[3], value)
local f = value and type(beat) ~= 'table' and redis.pcall('INCR', KEYS[4])
local now
if type(f) == 'number' and f >= 1e15 and f < 2^53 then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
  beat = tonumber(beat)
  if not beat or now / 1000 - beat <= 3000 or ARGV[2] == 'spublish' then
    redis.call('SET', KEYS[1], value, 'PX', claim)
    local heard = redis.pcall(ARGV[2], inbox, string.format('G %s %.0f %.0f', nonce, f, now))
    if type(heard) == 'table' or heard > 0 or string.sub(inbox, -1) == '}' then
      redis.pcall('HDEL', KEYS[3], value)
      return 1
    end
  end
elseif e[1] then
  redis.pcall('ZADD', KEYS[2], e[2], e[1])
  redis.pcall('PEXPIRE', KEYS[2], 60000)
end
local sharers = string.sub(KEYS[2], 1, -2) .. 'h'
-- @include queue_fence.lua
-- @include queue_serve.lua
local waiting = redis.pcall('ZCARD', KEYS[2])
if now then -- while a slot moves, a queue that has become empty cannot be counted
  if type(waiting) == 'table' and redis.pcall('EXISTS', KEYS[2]) == 1 then return waiting end
  return serve(nil, ARGV[2], f, now, type(waiting) == 'number' and waiting or 0, value)
end
-- @include queue_pass.lua
return pass(ARGV[2], waiting)
