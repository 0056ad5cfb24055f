-- KEYS[1] the lock.  ARGV[1] in a cluster: the beginning of the key of a client info.  Read-only.
-- As holder_query; then uid, pid, host, program from the client info of the value's session; '' for a
-- missing one.
local kind = redis.call('TYPE', KEYS[1]).ok
local value = ''
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 160) end
local session = string.match(value, '^b1:([%w_-]+)$')
local who = {}
if session then
  local key = (ARGV[1] or 'bowline:who:') .. string.sub(session, 1, 9)
  who = redis.pcall('HMGET', key, 'uid', 'pid', 'host', 'program')
end
local r = { kind, redis.call('PTTL', KEYS[1]), value, '', '', '', '' }
for i = 1, 4 do r[3 + i] = who[i] or '' end
return r
