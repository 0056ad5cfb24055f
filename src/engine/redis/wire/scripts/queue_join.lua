-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.  ARGV: 1 our value, 2 the
-- lease in ms, 3 the command that publishes, 4 our entry in the queue, 5 our ticket (0: a new one), 6 the
-- longest queue that a waiter without a ticket may enter (0: no limit).
-- A number: the lock has our value, with this fence, for the lease.  CLAIMED, fence, ticket: the same, for
-- the TTL of a provisional grant.  FULL, waiters.  QUEUED, ticket, rank, PTTL of the lock, 1 if it has a
-- value of this protocol (2: the rest of a holder), the server's time in us.  Only the first waiter gets the
-- PTTL; the others get 0.
-- The usual cases come before the functions: to create them costs as much as the case itself.  The lock is
-- free, or another client holds it and we have no ticket.
-- @include queue_first.lua
if not is_free and ARGV[5] == '0' then
  -- A local name costs less than a global one.
  local redis, KEYS, ARGV, type, string = redis, KEYS, ARGV, type, string
  local v = redis.pcall('GET', KEYS[1])
  local waiting = type(v) == 'string' and (keys == 1 and 0 or redis.pcall('ZCARD', KEYS[2]))
  if type(waiting) == 'number' and (ARGV[6] == '0' or waiting < tonumber(ARGV[6])) then
    local t = redis.call('TIME')
    local ms = t[1] .. string.sub('00000' .. t[2], -6, -4)
    if type(redis.pcall('HSET', KEYS[3], ARGV[1], ms)) == 'number' then
      local f = redis.pcall('INCR', KEYS[4])
      if type(f) == 'number' and f >= 1e15 and f < 2^53 then
        local number = f
        -- @include queue_digits.lua
        if type(redis.pcall('ZADD', KEYS[2], digits, ARGV[4])) == 'number' then
          -- The others set both expiries with their first and every eighth heartbeat.  Q does not expire before B.
          if waiting == 0 or redis.call('PTTL', KEYS[3]) < 40000 then
            for i = 2, 3 do redis.call('PEXPIRE', KEYS[i], '60000') end
          end
          local left = waiting == 0 and redis.call('PTTL', KEYS[1]) or 0
          -- @include queue_kind.lua
          return { 'QUEUED', f, waiting, left, kind, t[1] * 1000000 + t[2] }
        end
      end
      redis.call('HDEL', KEYS[3], ARGV[1])
    end
  end
end
-- @include queue_fence.lua
if is_free then
  -- @include queue_grant.lua
end
-- @include queue_read.lua
local sharers = nil
-- @include queue_serve.lua
-- @include queue_stand.lua
local waiting = redis.pcall('ZCARD', KEYS[2])
local problem = wrong(type(waiting) == 'table' and 2 or 3)
if problem then return problem end
local v = read()
local is_free = not v
local ticket, f = ARGV[5], nil
if not is_free and ticket == '0' and ARGV[6] ~= '0' then
  if type(waiting) == 'table' then return waiting end
  if waiting >= tonumber(ARGV[6]) then return { 'FULL', waiting } end
end
if is_free or ticket == '0' then
  f = fence()
  if type(f) == 'table' then return f end
end
if ticket == '0' then ticket = string.format('%.0f', f) end
redis.call('ZADD', KEYS[2], ticket, ARGV[4])
redis.call('PEXPIRE', KEYS[2], 60000)
return stand(ARGV[1], ARGV[4], ARGV[3], is_free and f, clock(), v)
