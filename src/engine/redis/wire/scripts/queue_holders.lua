-- KEYS: 1 the lock, 2 its queue.  ARGV: 1 the beginning of the key of a client info, 2 the score and 3 how many
-- members of that score are before this page; 0 and 0 for the first one.
-- Read-only.  All who hold the lock, of a lock that clients share (queue_share.lua) 64 on a page, in the order of
-- their ends.  An array: kind, PTTL, value, how many wait; ARGV[2] and [3] of the next page, or 0 and 0.  Then 11
-- items for each hold: its value, permits, the ms left; uid, pid, host, program from its client info; ms since the
-- grant, fence, pid of the command, limit of permits, as the client has published them.  '' or 0 for a missing one.
local kind = redis.call('TYPE', KEYS[1]).ok
local value = ''
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 160) end
local waiting = redis.pcall('ZCARD', KEYS[2])
if type(waiting) ~= 'number' then waiting = 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local r = { kind, redis.call('PTTL', KEYS[1]), value, waiting, '0', 0 }
local function add(one, permits, left, fence)
  local session, token = string.sub(one, 4, 12), string.sub(one, 13)
  local who = redis.pcall('HMGET', ARGV[1] .. session, 'uid', 'pid', 'host', 'program', 'held:' .. token,
    'limit:' .. token)
  local since, own, command = string.match(who[5] or '', '^(%d+) (%d+) (%d+)$')
  local row = { one, permits, left }
  for i = 1, 4 do row[3 + i] = string.sub(who[i] or '', 1, 64) end
  row[8] = since and math.max(0, now - since) or 0
  row[9], row[10], row[11] = fence or own or '', command or '', string.sub(who[6] or '', 1, 64)
  for _, item in ipairs(row) do r[#r + 1] = item end
end
if #value == 28 and string.match(value, '^b1:[%w_-]+$') then add(value, 0, r[2], nil) end
local gate, only = string.match(value, '^b1:~(%d+) ?(%S*)$')
if not gate then return r end
local fence = string.format('%.0f', gate * 1024)
if only ~= '' then
  if #only == 28 then add(only, 1, r[2], fence) end
  return r
end
local from, skip = tonumber(ARGV[2]), tonumber(ARGV[3])
if from <= now then from, skip = now + 1, 0 end
-- A hold has up to 256 members of the same score, next to each other.
local found = redis.pcall('ZRANGE', string.sub(KEYS[2], 1, -2) .. 'h', string.format('%.0f', from), '+inf', 'BYSCORE',
  'LIMIT', skip, 320, 'WITHSCORES')
if found.err then return found end
local rows, one, ends, permits = 0, nil, from, 0
local function finish()
  if one and #one == 28 and string.match(one, '^b1:[%w_-]+$') then
    add(one, permits, ends - now, fence)
    rows = rows + 1
  end
end
for i = 1, #found, 2 do
  local each, score = string.sub(found[i], 1, 28), tonumber(found[i + 1])
  if each ~= one or score ~= ends then
    finish()
    if score ~= from then from, skip = score, 0 end
    r[5], r[6] = found[i + 1], skip -- the next page begins with this one
    if rows == 64 then return r end
    one, ends, permits = each, score, 0
  end
  permits, skip = permits + 1, skip + 1
end
if #found < 640 then
  finish()
  r[5], r[6] = '0', 0
end
return r
