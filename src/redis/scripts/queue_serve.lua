-- An error if a key of the queue is something else; nothing was changed yet.
local function wrong()
  for i, kind in ipairs({ 'zset', 'hash' }) do
    local is = redis.call('TYPE', KEYS[i + 1]).ok
    if is ~= kind and is ~= 'none' then
      return redis.error_reply('WRONGTYPE ' .. KEYS[i + 1] .. ' is a ' .. is .. ', not a queue of bowline')
    end
  end
end
local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
-- Whoever has waited longest gets the lock, with the fence f, and is told by the command `say`: 1.
-- Nobody waits: it is free, 1.  It is `me`: 3.  64 are gone: it is free, 2.  Some write was done before
-- this, and was allowed, so that none of these is refused in the middle because memory is full.
local function serve(me, say, f, now)
  local grant = string.format(' %.0f %.0f', f, now)
  for i = 1, 64 do
    local e = redis.call('ZPOPMIN', KEYS[2])[1]
    if not e then
      redis.call('DEL', KEYS[1], KEYS[3])
      return 1
    end
    local value, nonce, inbox, claim = string.match(e, '^(b1:%S+) (%S+) (%S+) ([1-9]%d*)$')
    if value and #claim < 10 then
      local beat = tonumber(redis.call('HGET', KEYS[3], value))
      redis.call('HDEL', KEYS[3], value)
      if not beat or now / 1000 - beat <= 3000 then
        redis.call('SET', KEYS[1], value, 'PX', claim)
        if value == me then return 3 end
        local heard = redis.pcall(say, inbox, 'G ' .. nonce .. grant)
        if type(heard) == 'table' or heard > 0 then return 1 end
      end
    end
  end
  redis.call('DEL', KEYS[1])
  return 2
end
