-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences, 5 who shares it.  ARGV: 1 the value
-- by which we share the lock, 2 the lease in ms, 3 our value from now on.
-- A number: nobody else shares the lock, which is ours alone now, with this fence; or an earlier command has done
-- this, and this is a new fence.  BUSY, as queue_take: others share it, and so do we, by the new value.  In both
-- cases ours ends after the lease, or at its present end if that is later.
-- 0: the lock does not exist.  -1: it has another value or type, or we do not share it.
-- The value is a new one, so that nothing that we have sent by the former one has an effect any more.  A second
-- command like this one can come late and find us by the new value: then the lock is ours alone although we only
-- count on a share, and share_extend lets the others in.
local sharers = KEYS[5]
-- @include queue_read.lua
-- @include queue_fence.lua
-- @include queue_serve.lua
local v = read()
local gate, only = gate_of(v)
local value = gate and only or v
if value ~= '' and value ~= ARGV[1] and value ~= ARGV[3] or v == '' then return v and -1 or 0 end
redis.call('PERSIST', KEYS[4]) -- allowed when memory is full, and so is all behind it
if gate and only == '' then
  local ends = redis.call('ZSCORE', KEYS[5], ARGV[1]) or redis.call('ZSCORE', KEYS[5], ARGV[3])
  if not ends then return -1 end
  local now = clock()
  ends = math.max(ends, math.floor(now / 1000) + ARGV[2])
  redis.call('ZADD', KEYS[5], string.format('%.0f', ends), ARGV[3])
  redis.call('ZREM', KEYS[5], ARGV[1])
  local used = in_use(now, v)
  keep_gate()
  if used > 1 then return { 'BUSY', redis.call('PTTL', KEYS[1]), 1 } end
end
local left = math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], left)
local f = fence()
if type(f) == 'table' then return f end
redis.call('SET', KEYS[1], ARGV[3], 'PX', left)
redis.call('DEL', KEYS[5])
return f
