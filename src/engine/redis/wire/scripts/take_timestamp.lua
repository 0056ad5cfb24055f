-- KEYS[1] the lock.  ARGV: 1 the format of the timestamp (d: decimal, f: float, p: float of PHP, l: 8
-- bytes), 2 and 3 the texts before and after it, 4 microseconds in a unit (0: the unit is a nanosecond),
-- 5 microseconds in 1.0 of a float, 6 the lease in microseconds, 7 "<" or "<=": how an expired timestamp
-- compares to now, 8 "1" if a timestamp is the start of the lock, 9 and 10 patterns of the texts before
-- and after the timestamp of any client.  The key expires when its timestamp does.
-- The new value: the lock is ours.  0: it is held.  -1: a foreign value: not of this format, or before
-- 2001 or after 2099, or an expired timestamp in a key with an expiry that has not come.
local form, unit, whole, lease = ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local u = math.max(unit, 1)
local function float(x)
  if form == 'p' then return string.format('%.14g', x) end
  local t
  for digits = 15, 17 do
    t = string.format('%.' .. digits .. 'g', x)
    if tonumber(t) == x then break end
  end
  return string.find(t, '.', 1, true) and t or t .. '.0'
end
local function text(n)
  if form == 'l' then return struct.pack('<i8', n) end
  if form == 'd' then return string.format('%.0f', n) .. (unit == 0 and '000' or '') end
  return float(n * u / whole)
end
local function number(t)
  if form == 'l' then return #t == 8 and struct.unpack('<i8', t) or nil end
  local n = string.find(t, '^%d+%.?%d*$') and tonumber(t)
  if not n then return nil end
  if form ~= 'd' then return float(n) == t and math.floor(n * whole / u + 0.5) or nil end
  if string.find(t, '.', 1, true) or string.find(t, '^0.') then return nil end
  return unit == 0 and math.floor(n / 1000) or n
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return -1 end
  return value
end
if value then
  local t = string.match(value, '^' .. ARGV[9] .. '(.-)' .. ARGV[10] .. '$')
  local stamp = t and number(t)
  if not stamp then return -1 end
  if stamp < math.floor(978307200000000 / u) or stamp >= math.floor(4102444800000000 / u) then return -1 end
  if ARGV[8] == '1' then stamp = stamp + math.floor(lease / u) end
  local moment = math.floor(now / u)
  if stamp > moment or (stamp == moment and ARGV[7] == '<') then return 0 end
  if redis.call('PTTL', KEYS[1]) >= 0 then return -1 end
end
local stamp, ends = math.ceil((now + lease) / u), now + lease
if ARGV[8] == '1' then stamp = math.floor(now / u) else ends = stamp * u end
local mine = ARGV[2] .. text(stamp) .. ARGV[3]
redis.call('SET', KEYS[1], mine, 'PX', string.format('%.0f', math.ceil((ends - now) / 1000)))
return mine
