-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences, 5 who shares it.  ARGV: 1 the value
-- by which we share the lock, 2 the lease in ms, 3 our value from now on.
-- A number: nobody else shares the lock, which is ours alone now, with this fence; or an earlier command has done
-- this, and this is a new fence.  BUSY, as queue_take: others share it, and so do we as before.  In both cases
-- ours ends after the lease, or at its present end if that is later.
-- 0: the lock does not exist.  -1: it has another value or type, or we do not share it.
-- The value is a new one: a share_downgrade of the former value that comes late finds it nowhere.
local sharers = KEYS[5]
-- @include queue_read.lua
-- @include queue_fence.lua
-- @include queue_serve.lua
local v = read()
local gate, only = gate_of(v)
if not gate and v ~= ARGV[1] and v ~= ARGV[3] then return v and -1 or 0 end
if gate and only ~= '' and only ~= ARGV[1] then return -1 end
redis.call('PERSIST', KEYS[4]) -- allowed when memory is full, and so is all behind it
if gate and only == '' then
  if not redis.call('ZSCORE', KEYS[5], ARGV[1]) then return -1 end
  local now = clock()
  redis.call('ZADD', KEYS[5], 'XX', 'GT', string.format('%.0f', math.floor(now / 1000) + ARGV[2]), ARGV[1])
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
