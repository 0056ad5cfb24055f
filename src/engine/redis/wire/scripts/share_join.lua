-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences, 5 who shares it.  ARGV: 1 our
-- value, 2 the lease in ms, 3 the command that publishes, 4 our entry in the queue (-: we do not wait), 5 our
-- ticket (0: a new one), 6 the longest queue that a waiter without a ticket may enter (0: no limit), 7 our
-- weight, 8 how many permits may be in use when we have ours (0: any number).
-- A number: we share the lock, with this fence, for the lease.  BUSY, PTTL, and as queue_join.  CLAIMED, FULL,
-- QUEUED: as queue_join; a QUEUED that is first gets the ms until the next of the others ends.
-- The usual cases come before the functions: to create them costs as much as the case itself.  Nobody has the
-- lock, which becomes a gate of one, or it is shared by any number; and nobody waits.
local keys = ARGV[7] == '1' and redis.call('EXISTS', KEYS[2], KEYS[1])
if keys == 0 then
  local f = redis.pcall('INCR', KEYS[4])
  if type(f) == 'number' and f >= 1e15 and f < 2^53 then
    local number = f
    -- @include queue_digits.lua
    redis.call('SET', KEYS[1], 'b1:~' .. digits .. ' ' .. ARGV[1], 'PX', ARGV[2])
    return f
  end
elseif keys == 1 and ARGV[8] == '0' then
  local v = redis.pcall('GET', KEYS[1])
  local is_gate = type(v) == 'string' and string.sub(v, 1, 4) == 'b1:~'
  local blank = is_gate and string.find(v, ' ', 5, true)
  local count = is_gate and tonumber(string.sub(v, 5, (blank or 0) - 1))
  -- PTTL before TIME: on servers whose time goes on in a script, an end may be late then, and never early.
  local left, lease = count and redis.call('PTTL', KEYS[blank and 1 or 5]) or -1, tonumber(ARGV[2])
  if left >= 0 or left == -2 and not blank then
    local t = redis.call('TIME')
    local now = t[1] * 1000 + math.floor(t[2] / 1000)
    local number = now + lease
    -- @include queue_digits.lua
    -- Ms have 13 digits, but by a clock that is before 2001.
    local ends = number >= 1e12 and string.sub(digits, 4) or string.format('%.0f', number)
    if blank then
      local first = string.format('%.0f', now + left)
      redis.call('DEL', KEYS[5])
      redis.call('ZADD', KEYS[5], first, string.sub(v, blank + 1), ends, ARGV[1])
      redis.call('SET', KEYS[1], string.sub(v, 1, blank - 1), 'PXAT', left < lease and ends or first)
      redis.call('PEXPIREAT', KEYS[5], left < lease and ends or first)
    else
      redis.call('ZADD', KEYS[5], ends, ARGV[1])
      if left < lease then -- the others end earlier
        redis.call('PEXPIREAT', KEYS[1], ends)
        redis.call('PEXPIREAT', KEYS[5], ends)
      end
    end
    return count
  end
end
local sharers = KEYS[5]
-- @include queue_fence.lua
-- @include queue_read.lua
-- @include queue_serve.lua
-- @include queue_stand.lua
local problem = wrong(2)
if problem then return problem end
local weight, limit, waits = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[4] ~= '-'
local now = clock()
local v, gate, used, waiting
local function look()
  v, waiting = read(), redis.call('ZCARD', KEYS[2])
  gate = gate_of(v)
  used = gate and in_use(now, v) or 0
end
look()
if not v and not waits and waiting > 0 then
  redis.call('PEXPIRE', KEYS[2], 60000)
  local f = fence()
  if type(f) == 'table' then return f end
  serve(nil, ARGV[3], f, now, waiting)
  look()
end
if waiting == 0 and (gate or not v) and (limit == 0 or used + weight <= limit) then
  local f = not gate and fence()
  if type(f) == 'table' then return f end
  if f then redis.call('DEL', KEYS[5]) end
  enter(ARGV[1], weight, math.floor(now / 1000) + ARGV[2])
  if f then
    gate = string.format('%.0f', f)
    redis.call('SET', KEYS[1], 'b1:~' .. gate)
  end
  keep_gate()
  return tonumber(gate)
end
if not waits then
  -- @include queue_kind.lua
  return { 'BUSY', redis.call('PTTL', KEYS[1]), kind }
end
local ticket, f = ARGV[5], nil
if v and ticket == '0' and ARGV[6] ~= '0' and waiting >= tonumber(ARGV[6]) then return { 'FULL', waiting } end
if not v or ticket == '0' then
  f = fence()
  if type(f) == 'table' then return f end
end
if ticket == '0' then ticket = string.format('%.0f', f) end
redis.call('ZADD', KEYS[2], ticket, ARGV[4])
redis.call('PEXPIRE', KEYS[2], 60000)
return stand(ARGV[1], ARGV[4], ARGV[3], not v and f, now, v, used)
