-- KEYS locks, ARGV the value that each of them is to have, and behind these the lease in ms.
-- For each what extend_if_mine says of it, at the same moment; or -1: that has to be asked alone.
-- MGET takes what is no string for nothing; who may not use it is served one GET at a time.  GT
-- leaves the comparison to the server; what has no end, and servers before 7.0, are compared here.
local keys, values, call, pcall = KEYS, ARGV, redis.call, redis.pcall
local lease = values[#keys + 1]
local is = pcall('MGET', unpack(keys))
local has_gt = true
local said = {}
for i = 1, #keys do
  local value = is[i]
  if is.err then value = pcall('GET', keys[i]) end
  if value == values[i] then
    local done = has_gt and pcall('PEXPIRE', keys[i], lease, 'GT')
    has_gt = type(done) == 'number'
    if done ~= 1 and call('PTTL', keys[i]) < tonumber(lease) then
      call('PEXPIRE', keys[i], lease)
    end
    said[i] = 1
  elseif type(value) == 'table' and string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then
    said[i] = -1
  else
    said[i] = 0
  end
end
return said
