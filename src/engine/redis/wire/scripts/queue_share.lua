-- A lock that clients share: L is a gate, `b1:~` and the count of its fence, and KEYS[5] has a member for each
-- permit that is in use, with its end in ms of the server's clock as score.  A hold with a weight of w has w
-- members: its value, its value and `:2`, and so on.  Without a gate, KEYS[5] means nothing.
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
  redis.call('ZADD', KEYS[5], unpack(items))
end
-- The permits in use; those whose end has come are not.  Counts first: while a slot moves, the server refuses
-- commands on a key that does not exist any more.
local function in_use(now)
  local used = redis.call('ZCARD', KEYS[5])
  if used == 0 then return 0 end
  return used - redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', string.format('%.0f', math.floor(now / 1000)))
end
-- The gate and its members expire with the last of these.
local function keep_gate()
  local last = redis.call('ZRANGE', KEYS[5], -1, -1, 'WITHSCORES')[2]
  redis.call('PEXPIREAT', KEYS[1], last)
  redis.call('PEXPIREAT', KEYS[5], last)
end
