-- MINE, a new fence, PTTL: the lock has our value.
if v == ARGV[1] then
  redis.call('PERSIST', KEYS[4]) -- allowed when memory is full, and so is all behind it
  local f = fence()
  if type(f) == 'table' then return f end
  return { 'MINE', f, redis.call('PTTL', KEYS[1]) }
end
