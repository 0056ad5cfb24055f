-- Stores our heartbeat, and returns CLAIMED or QUEUED: see queue_join.  member: our entry, which is in the
-- queue.  f: a fence if the lock goes to the first waiter now; otherwise false.  v: see queue_read.
local function stand(value, member, say, f, now, v)
  redis.call('HSET', KEYS[3], value, math.floor(now / 1000))
  redis.call('PEXPIRE', KEYS[3], 60000)
  local ticket = tonumber(redis.call('ZSCORE', KEYS[2], member))
  local served = f and serve(value, say, f, now, redis.call('ZCARD', KEYS[2]))
  if served == 3 then return { 'CLAIMED', f, ticket } end
  local rank = redis.call('ZRANK', KEYS[2], member)
  local left = rank == 0 and -2 or 0 -- only the first waiter needs it; -2: the lock was deleted
  if served == 2 then v = false elseif rank == 0 then left = redis.call('PTTL', KEYS[1]) end
  if served == 1 then v = read() end
  return { 'QUEUED', ticket, rank, left,
    v and string.sub(v, 1, 3) == 'b1:' and (string.sub(v, 4, 4) == '=' and 2 or 1) or 0, now }
end
