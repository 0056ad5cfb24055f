-- @include queue_share.lua
-- An error if KEYS[2] or KEYS[3], from KEYS[first] on, has a wrong type.  Called before any write.
local function wrong(first)
  for i = first, 3 do
    local is = redis.call('TYPE', KEYS[i]).ok
    if is ~= (i == 2 and 'zset' or 'hash') and is ~= 'none' then
      return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' is a ' .. is .. ', not a queue of bowline')
    end
  end
end
local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
-- Gives the lock to the waiters at the head of the queue, as long as the head fits: to one for itself, or to
-- those who share it.  Each gets it for the TTL in its entry, and a push by the command `say`.  me: our value,
-- or nil.  f: a fence; nil: it is drawn when it is needed.  waiting: entries in the queue, at least 1.
-- gone: the value of a waiter that the caller has removed and not reached, or nil.  gate: the count of the gate
-- that the lock is, with `used` permits in use; nil: nobody has the lock, or its holder gives it up now.
-- Without `sharers` every waiter counts as one that wants the lock for itself: it lets the others in when it
-- confirms its grant.  So does the first one if that key cannot be written here, because the slot moves.
-- 1: a waiter has the lock, or the head does not fit, or there is no waiter and the lock is deleted.  2: 64
-- waiters were removed, and there are more.  3, count: we have the lock, with this fence.  A table: an error.
-- The caller has done a write before.  A server that is out of memory refuses the first write of a script,
-- so it refuses none here.
-- While a slot moves, the server refuses commands on a key that does not exist any more.  So this uses no
-- key that it may have deleted.
-- A waiter is dead without a heartbeat for 3 seconds, or without a subscriber.  In a cluster (a channel
-- with a hash tag) a waiter without a subscriber counts as live: its slot may have moved a moment ago,
-- and its heartbeat finds the grant.  If our client has just learned of the slot (`say` is in lower case),
-- a waiter without a heartbeat counts as live too.
local function serve(me, say, f, now, waiting, gone, gate, used)
  local served, is_ours, is_alone, waits = { gone }, false, false, false
  local looked = math.min(waiting, 64)
  used = used or 0
  for i = 1, looked do
    if used == 0 and not f then
      f = fence()
      if type(f) == 'table' then return f end
    end
    -- Everything fits while nobody shares the lock.
    local e = used == 0 and redis.call('ZPOPMIN', KEYS[2])[1] or redis.call('ZRANGE', KEYS[2], 0, 0)[1]
    local value, nonce, inbox, claim = string.match(e, '^(b1:%S+) (%S+) (%S+) ([1-9]%d*)$')
    local weight, limit = string.match(sharers and nonce or '', '%+([1-9]%d?%d?)/(%d+)$')
    weight, limit = tonumber(weight), tonumber(limit)
    if weight and not gate and type(redis.pcall('EXISTS', sharers)) == 'table' then weight = nil end
    local is_live = false
    if value and #claim < 10 then
      local beat = not served[value] and tonumber(redis.call('HGET', KEYS[3], value))
      is_live = not beat or now / 1000 - beat <= 3000 or say == 'spublish'
    end
    if is_live and used > 0 and (not weight or limit > 0 and used + weight > limit) then
      waits = true
      break
    end
    if used > 0 then redis.call('ZREM', KEYS[2], e) end
    if value then served[#served + 1], served[value] = value, true end
    if is_live then
      if not weight then
        redis.call('SET', KEYS[1], value, 'PX', claim)
        gate = nil
      else
        if not gate then redis.call('DEL', sharers) end
        enter(value, weight, math.floor(now / 1000) + claim)
        if not gate then
          gate = string.format('%.0f', f)
          redis.call('SET', KEYS[1], 'b1:~' .. gate, 'PX', claim)
        end
      end
      local is_reached = value == me
      is_ours = is_ours or is_reached
      if not is_reached then
        local grant = string.format(' %s %.0f', weight and gate or string.format('%.0f', f), now)
        local heard = redis.pcall(say, inbox, 'G ' .. nonce .. grant)
        is_reached = type(heard) == 'table' or heard > 0 or string.sub(inbox, -1) == '}'
      end
      if is_reached and not weight then
        is_alone = true
        break
      end
      if is_reached then
        used = used + weight
      elseif weight then
        redis.call('ZREM', sharers, unpack(members(value, weight)))
      end
    end
  end
  local is_empty = not waits and not is_alone and waiting <= looked
  if not is_alone and used == 0 then
    if is_empty then
      redis.call('DEL', KEYS[1], KEYS[3])
      return 1
    end
    redis.call('DEL', KEYS[1])
  elseif not is_alone then
    keep_gate()
  end
  if #served > 0 then redis.call('HDEL', KEYS[3], unpack(served)) end
  if is_ours then return 3, tonumber(not is_alone and gate or f) end
  return (is_alone or waits or is_empty) and 1 or 2
end
