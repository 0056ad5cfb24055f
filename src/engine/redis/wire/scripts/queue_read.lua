-- What the lock is: false, its value, or '' for what is no string and so nobody's of ours.
local function read()
  local v = redis.pcall('GET', KEYS[1])
  if type(v) ~= 'table' then return v end
  if string.sub(v.err, 1, 9) == 'WRONGTYPE' then return '' end
  return error(v.err)
end
