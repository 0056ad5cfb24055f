-- We have been heard of at `now`, and stand in the queue as `member`; `f` if the lock is to be passed on.
local function stand(value, member, say, f, now)
  redis.call('HSET', KEYS[3], value, string.format('%.0f', now / 1000))
  redis.call('PEXPIRE', KEYS[3], 60000)
  local ticket = tonumber(redis.call('ZSCORE', KEYS[2], member))
  if f and serve(value, say, f, now) == 3 then return { 'CLAIMED', f, ticket } end
  local v = read()
  local left = redis.call('PTTL', KEYS[1])
  return { 'QUEUED', ticket, redis.call('ZRANK', KEYS[2], member), left,
    v and string.sub(v, 1, 3) == 'b1:' and 1 or 0, now }
end
