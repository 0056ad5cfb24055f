-- Stores our heartbeat, serves the queue if that may change anything, and returns CLAIMED or QUEUED: see
-- queue_join.  member: our entry, which is in the queue.  f: a fence if nobody has the lock, and it goes to the
-- first waiter now; otherwise false.  v: see queue_read.  used: of a gate, see queue_serve.
local function stand(value, member, say, f, now, v, used)
  redis.call('HSET', KEYS[3], value, math.floor(now / 1000))
  redis.call('PEXPIRE', KEYS[3], 60000)
  local ticket = tonumber(redis.call('ZSCORE', KEYS[2], member))
  local gate, served, count = sharers and gate_of(v), nil, nil
  if f or gate then
    served, count = serve(value, say, f or nil, now, redis.call('ZCARD', KEYS[2]), nil, gate, used)
    if type(served) == 'table' then return served end
    if served == 3 then return { 'CLAIMED', count, ticket } end
    v = served == 1 and read()
  end
  local rank = redis.call('ZRANK', KEYS[2], member)
  local left = rank == 0 and -2 or 0 -- only the first waiter needs it; -2: the lock was deleted
  if rank == 0 and served ~= 2 then
    left = redis.call('PTTL', KEYS[1])
    local first = sharers and gate_of(v) and redis.call('ZRANGE', sharers, 0, 0, 'WITHSCORES')[2]
    if first then left = math.max(0, math.floor(first - now / 1000)) end
  end
  -- @include queue_kind.lua
  return { 'QUEUED', ticket, rank, left, kind, now }
end
