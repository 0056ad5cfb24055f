-- KEYS: 1 the lock, 2 its queue, 3 its heartbeats, 4 the counter of fences, 5 who shares it.  ARGV: 1 our
-- value, 2 the lease in ms, 3 the command that publishes, 4 our weight, 5 the count of our fence.
-- 1: we share the lock for the lease from now on, or up to our present end if that is later.  0: the lock does
-- not exist.  -1: it has another value or type, or is shared by others.
-- Before each 1 there is a write: extend_if_mine.lua says why.
local v = redis.pcall('GET', KEYS[1])
if type(v) == 'table' then return string.sub(v.err, 1, 9) == 'WRONGTYPE' and -1 or v end
if not v then return 0 end
if v ~= ARGV[1] then
  if string.sub(v, 1, 4) ~= 'b1:~' then return -1 end
  local only = string.match(v, ' (.+)$')
  if only == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2])))
    return 1
  end
  if only then return -1 end
  local sharers = KEYS[5]
  -- @include share_members.lua
end
-- A script without KEYS[5] has given it to us alone: we let the others in.
local sharers = KEYS[5]
-- @include queue_fence.lua
-- @include queue_serve.lua
local left = math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2]))
local now = clock() -- after PTTL: see share_join.lua
redis.call('PEXPIRE', KEYS[1], left) -- allowed when memory is full, and so is all behind it
redis.call('DEL', KEYS[5])
enter(ARGV[1], tonumber(ARGV[4]), math.floor(now / 1000) + left)
redis.call('SET', KEYS[1], 'b1:~' .. ARGV[5])
serve(nil, ARGV[3], nil, now, redis.call('ZCARD', KEYS[2]), nil, ARGV[5], tonumber(ARGV[4]))
return 1
