-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences, 5 who shares it.  ARGV: 1 our
-- value, 2 the command that publishes, 3 our weight, 4 and following: the entries that we may have in the queue.
-- Gives back whatever we have: our share, the lock that a script without KEYS[5] has given to us alone, and our
-- entry.  1: we had one of these.  2: likewise; 64 waiters were removed, and there are more.  0: we had none.
-- The usual case comes before the functions: to create them costs as much as the case itself.  Nobody waits.
local v = redis.pcall('GET', KEYS[1])
local is_gate = type(v) == 'string' and string.sub(v, 1, 4) == 'b1:~'
if is_gate and ARGV[3] == '1' and redis.call('EXISTS', KEYS[2]) == 0 then
  local blank = string.find(v, ' ', 5, true)
  if blank then return string.sub(v, blank + 1) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0 end
  local is_last = redis.call('ZRANGE', KEYS[5], -1, -1)[1] == ARGV[1]
  local two = is_last and redis.call('ZRANGE', KEYS[5], -2, -1, 'WITHSCORES')
  if redis.call('ZREM', KEYS[5], ARGV[1]) == 0 then return 0 end
  if is_last and not two[4] then
    redis.call('DEL', KEYS[1])
  elseif is_last and two[2] ~= two[4] then
    redis.call('PEXPIREAT', KEYS[1], two[2])
    redis.call('PEXPIREAT', KEYS[5], two[2])
  end
  return 1
end
local sharers = KEYS[5]
-- @include queue_read.lua
-- @include queue_fence.lua
-- @include queue_serve.lua
-- @include queue_pass.lua
if read() == ARGV[1] then return pass(ARGV[2], redis.pcall('ZCARD', KEYS[2])) end
local problem = wrong(2)
if problem then return problem end
local now, waiting, had = clock(), redis.call('ZCARD', KEYS[2]), 0
if ARGV[4] then had = redis.call('ZREM', KEYS[2], unpack(ARGV, 4)) end
waiting = waiting - had
redis.pcall('HDEL', KEYS[3], ARGV[1])
if is_gate then
  local used = in_use(now, v)
  local left = redis.call('ZREM', KEYS[5], unpack(members(ARGV[1], tonumber(ARGV[3]))))
  local served = serve(nil, ARGV[2], nil, now, waiting, nil, gate_of(v), used - left)
  had = had + left
  if had > 0 and type(served) == 'number' then return served end
end
return had > 0 and 1 or 0
