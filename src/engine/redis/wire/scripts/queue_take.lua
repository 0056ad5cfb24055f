-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences.  ARGV: 1 our value, 2 the
-- lease in ms, 3 the command that publishes.
-- A number: the lock has our value, with this fence.  BUSY, PTTL, and as queue_join.
-- The usual case comes before the functions: to create them costs as much as the case itself.
-- @include queue_first.lua
-- @include queue_fence.lua
if is_free then
  -- @include queue_grant.lua
end
-- @include queue_read.lua
local sharers = nil
-- @include queue_serve.lua
-- @include queue_pass.lua
if not read() then
  local passed = pass(ARGV[3], redis.pcall('ZCARD', KEYS[2]))
  if type(passed) == 'table' then return passed end
  if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then -- all who waited are dead
    -- @include queue_grant.lua
  end
end
local v = read()
-- @include queue_kind.lua
return { 'BUSY', redis.call('PTTL', KEYS[1]), kind }
