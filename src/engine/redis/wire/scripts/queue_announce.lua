-- KEYS: 1 the lock, 2 what its holder announces.  ARGV: 1 our value, 2 the command that publishes, 3 the channel of
-- the announcements, 4 what we announce from now on: our value, a blank, the fence, a blank and a text; '': nothing.
-- 1: it is announced until the lock ends, or withdrawn.  0: the lock does not exist.  -1: it has another value or
-- type.  A message says that something has changed, and not what: who observes the lock looks at it.
local said = redis.pcall('GET', KEYS[2])
if ARGV[4] == '' then
  if type(said) == 'string' and string.sub(said, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
    redis.call('DEL', KEYS[2])
    redis.pcall(ARGV[2], ARGV[3], 'A')
  end
  return 1
end
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return -1 end
  return value
end
if value ~= ARGV[1] then return value and -1 or 0 end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then left = 60000 end -- it had an end, and lost it: a minute
left = math.max(left, 1)
if said == ARGV[4] then
  redis.call('PEXPIRE', KEYS[2], left) -- allowed when memory is full
  return 1
end
redis.call('SET', KEYS[2], ARGV[4], 'PX', left)
local told = redis.pcall(ARGV[2], ARGV[3], 'A')
return type(told) == 'table' and told or 1
