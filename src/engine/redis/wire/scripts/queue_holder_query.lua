-- KEYS: 1 the lock, 2 its queue.  ARGV[1] in a cluster: the beginning of the key of a client info.
-- Read-only.  As holder_query; then uid, pid, host, program from the client info of the value's session;
-- how many wait; the ms since the grant, the fence and the pid of the command, as the client has published
-- them; and of a lock that clients share (queue_share.lua), how many there are among its first thousand permits,
-- and how many permits are in use: the client info is then that of the one whose share ends last.  '' or 0 for a
-- missing one.
local kind = redis.call('TYPE', KEYS[1]).ok
local value = ''
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 160) end
local session, who, sharers, permits = string.match(value, '^b1:([%w_-]+)$'), {}, 0, 0
local only = string.match(value, '^b1:~%d+ b1:([%w_-]+)$')
if only then
  session, sharers, permits = only, 1, 1
elseif string.sub(value, 1, 4) == 'b1:~' then
  local key = string.sub(KEYS[2], 1, -2) .. 'h'
  permits = redis.pcall('ZCARD', key)
  if type(permits) ~= 'number' then permits = 0 end
  local all = permits > 0 and redis.pcall('ZRANGE', key, -1000, -1) or {}
  for _, member in ipairs(all) do -- of an error: none
    local one = string.match(member, '^b1:([%w_-]+)$')
    if one then
      session, sharers = one, sharers + 1
    end
  end
end
if session then
  local key = (ARGV[1] or 'bowline:who:') .. string.sub(session, 1, 9)
  who = redis.pcall('HMGET', key, 'uid', 'pid', 'host', 'program', 'held:' .. string.sub(session, 10))
end
local waiting = redis.pcall('ZCARD', KEYS[2])
if type(waiting) ~= 'number' then waiting = 0 end
local r = { kind, redis.call('PTTL', KEYS[1]), value, '', '', '', '', waiting, 0, '', '', sharers, permits }
for i = 1, 4 do r[3 + i] = who[i] or '' end
local since, fence, command = string.match(who[5] or '', '^(%d+) (%d+) (%d+)$')
if since then
  local t = redis.call('TIME')
  r[9] = math.max(0, t[1] * 1000 + math.floor(t[2] / 1000) - since)
  r[10] = fence
  r[11] = command
end
return r
