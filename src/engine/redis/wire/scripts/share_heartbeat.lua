-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences, 5 who shares it.  ARGV: as
-- queue_heartbeat.
-- MINE, fence, ms: we share the lock for so long; or a script without KEYS[5] has given it to us alone.
-- CLAIMED, QUEUED: as queue_join.  GONE: no entry.
local sharers = KEYS[5]
-- @include queue_fence.lua
-- @include queue_read.lua
-- @include queue_serve.lua
-- @include queue_stand.lua
local v = read()
-- @include queue_mine.lua
local now, gate = clock(), gate_of(v)
local used = gate and in_use(now, v)
local ends = gate and redis.call('ZSCORE', KEYS[5], ARGV[1])
if ends then return { 'MINE', tonumber(gate), math.floor(ends - now / 1000) } end
local problem = wrong(2)
if problem then return problem end
-- @include queue_entry.lua
return stand(ARGV[1], ARGV[4], ARGV[2], f, now, v, used)
