-- A lock that clients share: L is a gate, `b1:~` and the count of its fence, and the key `sharers` has a member
-- for each permit that is in use, with its end in ms of the server's clock as score.  A hold with a weight of w
-- has w members: its value, its value and `:2`, and so on.  Without a gate, that key means nothing.
-- A gate of one is `b1:~`, the count, a blank and the value of the only hold, which has a weight of 1 and ends
-- with L; the key `sharers` means nothing.  It costs what an exclusive lock costs.  in_use makes it a gate.
-- sharers is KEYS[5].  The scripts for a lock of one client make the name from that of the queue: while a slot
-- moves, the server refuses a script one of whose KEYS is missing, and an exclusive lock needs no such key.
-- nil: the script knows of no sharing.
-- gate_of: the count of the gate, as text, and the value of the only hold of a gate of one, or ''; nil: v is none.
local function gate_of(v)
  if type(v) == 'string' then return string.match(v, '^b1:~(%d+) ?(%S*)$') end
end
local function members(value, weight)
  local all = { value }
  for i = 2, weight do all[i] = value .. ':' .. i end
  return all
end
local function enter(value, weight, ends)
  local items = {}
  for i, member in ipairs(members(value, weight)) do
    items[2 * i - 1], items[2 * i] = string.format('%.0f', ends), member
  end
  redis.call('ZADD', sharers, unpack(items))
end
-- The gate and its members expire with the last of these.
local function keep_gate()
  local last = redis.call('ZRANGE', sharers, -1, -1, 'WITHSCORES')[2]
  redis.call('PEXPIREAT', KEYS[1], last)
  redis.call('PEXPIREAT', sharers, last)
end
-- The permits in use; those whose end has come are not.  Counts first: while a slot moves, the server refuses
-- commands on a key that does not exist any more.  nil: the key is on another node.
local function in_use(now, v)
  local used = redis.pcall('ZCARD', sharers)
  local gate, only = gate_of(v)
  if only ~= '' and type(used) == 'number' then
    local left, t = redis.call('PTTL', KEYS[1]), redis.call('TIME') -- in this order: see share_join.lua
    redis.call('DEL', sharers) -- allowed when memory is full, and so is all behind it
    redis.call('SET', KEYS[1], 'b1:~' .. gate, 'KEEPTTL')
    if left == 0 then return 0 end
    enter(only, 1, t[1] * 1000 + math.floor(t[2] / 1000) + (left > 0 and left or 60000)) -- it had an end, and lost it: a minute
    keep_gate()
    return 1
  end
  if type(used) == 'table' then return KEYS[5] and error(used.err) or nil end
  if used == 0 then return 0 end
  return used - redis.call('ZREMRANGEBYSCORE', sharers, '-inf', string.format('%.0f', math.floor(now / 1000)))
end
