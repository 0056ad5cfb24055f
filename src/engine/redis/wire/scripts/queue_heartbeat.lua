-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.  ARGV: 1 our value, 2 the
-- command that publishes, 3 our entry in the queue from now on, 4 and following: the entries that we may
-- have there now.
-- MINE, fence, PTTL: the lock has our value.  CLAIMED, QUEUED: as queue_join.  GONE: no entry.
-- @include queue_fence.lua
-- @include queue_read.lua
local v = read()
if v == ARGV[1] then
  redis.call('PERSIST', KEYS[4])
  local f = fence()
  if type(f) == 'table' then return f end
  return { 'MINE', f, redis.call('PTTL', KEYS[1]) }
end
-- @include queue_serve.lua
-- @include queue_stand.lua
local problem = wrong(2)
if problem then return problem end
local member, ticket
for i = 3, #ARGV do
  ticket = redis.call('ZSCORE', KEYS[2], ARGV[i])
  if ticket then
    member = ARGV[i]
    break
  end
end
if not member then
  redis.call('HDEL', KEYS[3], ARGV[1])
  return { 'GONE' }
end
redis.call('PEXPIRE', KEYS[2], 60000)
local f = not v and fence()
if type(f) == 'table' then return f end
if member ~= ARGV[3] then
  redis.call('ZADD', KEYS[2], ticket, ARGV[3]) -- first: an empty queue would lose its end
  redis.call('ZREM', KEYS[2], member)
end
return stand(ARGV[1], ARGV[3], ARGV[2], f, clock(), v)
