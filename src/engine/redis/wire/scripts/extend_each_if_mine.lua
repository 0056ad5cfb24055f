-- KEYS: the locks.  ARGV: our value for each of them, then the lease in ms.
-- Returns for each the reply of extend_if_mine, or -1: send this one alone; or, if all replies are 1,
-- the number of locks.
-- MGET returns nil for a key that is not a string.  A user without permission for MGET gets a GET for
-- each key.  With GT the server compares the expiry.  PTTL is for keys without an expiry or with a later
-- one, and for servers before 7.0.  Each lock of ours is written: extend_if_mine.lua says why.
local keys, values, call, pcall = KEYS, ARGV, redis.call, redis.pcall
local count = #keys
local lease = values[count + 1]
local is = pcall('MGET', unpack(keys))
if is.err then
  is = {}
  for i = 1, count do is[i] = pcall('GET', keys[i]) end
end
local has_gt = true
local said
for i = 1, count do
  if is[i] == values[i] then
    local done = has_gt and pcall('PEXPIRE', keys[i], lease, 'GT')
    if done ~= 1 then
      has_gt = type(done) == 'number'
      local left = call('PTTL', keys[i])
      call('PEXPIRE', keys[i], left < tonumber(lease) and lease or left)
    end
  else
    local why = type(is[i]) == 'table' and string.sub(is[i].err, 1, 9)
    said = said or {}
    said[i] = (why and why ~= 'WRONGTYPE') and -1 or 0
  end
end
if not said then return count end
for i = 1, count do said[i] = said[i] or 1 end
return said
