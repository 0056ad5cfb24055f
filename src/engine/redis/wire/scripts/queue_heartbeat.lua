-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.  ARGV: 1 our value, 2 the
-- command that publishes, 3 our ticket, or 0: it is not known, or the queue and its heartbeats have to get
-- their expiry anew, 4 our entry in the queue from now on, 5 and following: the entries that we may have
-- there now.
-- MINE, fence, PTTL: the lock has our value.  CLAIMED, QUEUED: as queue_join.  GONE: no entry.
-- The usual case comes before the functions: to create them costs as much as the case itself.  It changes
-- nothing but our heartbeat, so what is not usual is found by the rest of the script.  A new field may be
-- that of a new hash, which needs an expiry.
local v = ARGV[3] ~= '0' and redis.pcall('GET', KEYS[1])
if type(v) == 'string' and v ~= ARGV[1] then
  local rank = redis.pcall('ZRANK', KEYS[2], ARGV[4])
  if type(rank) == 'number' then
    local t = redis.call('TIME')
    if redis.pcall('HSET', KEYS[3], ARGV[1], math.floor(t[1] * 1000 + t[2] / 1000)) == 0 then
      local left = rank == 0 and redis.call('PTTL', KEYS[1]) or 0
      -- @include queue_kind.lua
      return { 'QUEUED', tonumber(ARGV[3]), rank, left, kind, t[1] * 1000000 + t[2] }
    end
  end
end
-- @include queue_fence.lua
-- @include queue_read.lua
v = read()
-- @include queue_mine.lua
local sharers = nil
-- @include queue_serve.lua
-- @include queue_stand.lua
local problem = wrong(2)
if problem then return problem end
-- @include queue_entry.lua
return stand(ARGV[1], ARGV[4], ARGV[2], f, clock(), v)
