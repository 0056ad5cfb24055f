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
-- Gives the lock to the first live waiter, for the TTL in its entry, with the fence f, and publishes that
-- by the command `say`.  waiting: entries in the queue.  me: our value, or nil.  gone: the value of a waiter
-- that the caller has removed and not reached, or nil.
-- 1: a waiter has the lock, or there is none and the lock is deleted.  2: 64 waiters were removed, there
-- are more, and the lock is deleted.  3: we have the lock.
-- The caller has done a write before.  A server that is out of memory refuses the first write of a script,
-- so it refuses none here.
-- While a slot moves, the server refuses commands on a key that does not exist any more.  So this uses no
-- key that it may have deleted.
-- A waiter is dead without a heartbeat for 3 seconds, or without a subscriber.  In a cluster (a channel
-- with a hash tag) a waiter without a subscriber counts as live: its slot may have moved a moment ago,
-- and its heartbeat finds the grant.  If our client has just learned of the slot (`say` is in lower case),
-- a waiter without a heartbeat counts as live too.
local function serve(me, say, f, now, waiting, gone)
  local grant = string.format(' %.0f %.0f', f, now)
  local served, told = { gone }, nil
  for i = 1, math.min(waiting, 64) do
    local e = redis.call('ZPOPMIN', KEYS[2])[1]
    local value, nonce, inbox, claim = string.match(e, '^(b1:%S+) (%S+) (%S+) ([1-9]%d*)$')
    if value and #claim < 10 then
      local beat = not served[value] and tonumber(redis.call('HGET', KEYS[3], value))
      served[#served + 1], served[value] = value, true
      if not beat or now / 1000 - beat <= 3000 or say == 'spublish' then
        redis.call('SET', KEYS[1], value, 'PX', claim)
        if value == me then
          told = 3
          break
        end
        local heard = redis.pcall(say, inbox, 'G ' .. nonce .. grant)
        if type(heard) == 'table' or heard > 0 or string.sub(inbox, -1) == '}' then
          told = 1
          break
        end
      end
    end
  end
  if not told and waiting < 64 then
    redis.call('DEL', KEYS[1], KEYS[3])
    return 1
  end
  if #served > 0 then redis.call('HDEL', KEYS[3], unpack(served)) end
  if told then return told end
  redis.call('DEL', KEYS[1])
  return 2
end
