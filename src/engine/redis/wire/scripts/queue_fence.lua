-- Returns the next fence or ticket, from KEYS[4]; or a table: an error that names the key.  Below 1e15
-- the counter was lost; the server's time in microseconds is larger than the old counter.  Lua's
-- numbers are exact up to 2^53.
local function fence()
  local f = redis.pcall('INCR', KEYS[4])
  if type(f) == 'table' then return redis.error_reply(f.err .. ' (' .. KEYS[4] .. ')') end
  if f < 1e15 then
    local t = redis.call('TIME')
    f = t[1] * 1000000 + t[2]
    redis.call('SET', KEYS[4], string.format('%.0f', f))
  end
  if f >= 2^53 then return redis.error_reply('ERR ' .. KEYS[4] .. ' is too large for a fence') end
  return f
end
