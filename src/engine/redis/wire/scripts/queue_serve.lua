-- An error if a key of the queue, from KEYS[first] on, is something else; nothing was changed yet.
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
-- Of so many who are `waiting`, who has waited longest gets the lock, with the fence f, and is told by the
-- command `say`: 1.
-- Nobody waits: it is free, 1.  It is `me`: 3.  64 are gone: it is free, 2.  Some write was done before
-- this, and was allowed, so that none of these is refused in the middle because memory is full.
-- While a slot moves, a key that was deleted may not be asked for any more: so nothing here touches what
-- it may have deleted.  In a cluster (an inbox with a hash tag) who is not reached is not passed over:
-- his slot may have moved a moment ago, and his beat finds the lock.  While whoever asks has just come to
-- know the slot (`say` in small letters), nobody is taken for dead either.
local function serve(me, say, f, now, waiting)
  local grant = string.format(' %.0f %.0f', f, now)
  local served, told = {}, nil
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
