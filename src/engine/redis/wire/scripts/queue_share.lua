-- A lock that clients share: L is a gate, `b1:~` and the count of its fence, and the key `sharers` has a member
-- for each permit that is in use, with its end in ms of the server's clock as score.  A hold with a weight of w
-- has w members: its value, its value and `:2`, and so on.  Without a gate, that key means nothing.
-- sharers is KEYS[5].  The scripts for a lock of one client make the name from that of the queue: while a slot
-- moves, the server refuses a script one of whose KEYS is missing, and an exclusive lock needs no such key.
-- nil: the script knows of no sharing.
-- gate_of: the count of the gate, as text; nil: v is none.
local function gate_of(v)
  return type(v) == 'string' and string.match(v, '^b1:~(%d+)$') or nil
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
-- The permits in use; those whose end has come are not.  Counts first: while a slot moves, the server refuses
-- commands on a key that does not exist any more.  nil: the key is on another node.
local function in_use(now)
  local used = redis.pcall('ZCARD', sharers)
  if type(used) == 'table' then return KEYS[5] and error(used.err) or nil end
  if used == 0 then return 0 end
  return used - redis.call('ZREMRANGEBYSCORE', sharers, '-inf', string.format('%.0f', math.floor(now / 1000)))
end
-- The gate and its members expire with the last of these.
local function keep_gate()
  local last = redis.call('ZRANGE', sharers, -1, -1, 'WITHSCORES')[2]
  redis.call('PEXPIREAT', KEYS[1], last)
  redis.call('PEXPIREAT', sharers, last)
end
