-- Returns the value of the lock; false: no key; '': not a string, so a foreign lock.
local function read()
  local v = redis.pcall('GET', KEYS[1])
  if type(v) ~= 'table' then return v end
  if string.sub(v.err, 1, 9) == 'WRONGTYPE' then return '' end
  return error(v.err)
end
