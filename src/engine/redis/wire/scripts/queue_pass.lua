-- Gives the lock to the next waiter, or deletes it.  1: done.  2: 64 waiters were removed, and there are
-- more.  A table: an error, and nothing has changed.  waiting: the reply to ZCARD, a number or an error.
local function pass(say, waiting)
  local unknown = type(waiting) == 'table'
  local problem = waiting ~= 0 and wrong(unknown and 2 or 3)
  if problem then return problem end
  if unknown and redis.call('EXISTS', KEYS[2]) == 1 then return waiting end
  if unknown or waiting == 0 then -- who may not count has to only where somebody waits
    redis.call('DEL', KEYS[1])
    return 1
  end
  local f = fence()
  if type(f) == 'table' then -- is memory full?  This is allowed then, and so is all behind it
    redis.call('PEXPIRE', KEYS[2], 60000)
    f = fence()
    if type(f) == 'table' then return f end
  end
  return serve(nil, say, f, clock(), waiting)
end
