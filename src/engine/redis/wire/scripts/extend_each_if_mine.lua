-- KEYS locks, ARGV the value that each of them is to have, and behind these the lease in ms.
-- For each what extend_if_mine says of it, at the same moment; or -1: that has to be asked alone.
-- A number: they are so many, and it is 1 for each.
-- MGET takes what is no string for nothing; who may not use it is served one GET at a time.  GT
-- leaves the comparison to the server; what has no end, what lasts longer, and servers before 7.0, are
-- compared here.  Each that is ours is written: extend_if_mine.lua says why.
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
