-- The lock goes to the next: 1; 2 if there are more to be passed over.  Or an error, and it has not.
local function pass(say)
  if redis.call('EXISTS', KEYS[2]) == 0 then
    redis.call('DEL', KEYS[1])
    return 1
  end
  local problem = wrong()
  if problem then return problem end
  redis.call('PEXPIRE', KEYS[2], 60000)
  local f = fence()
  if type(f) == 'table' then return f end
  return serve(nil, say, f, clock())
end
