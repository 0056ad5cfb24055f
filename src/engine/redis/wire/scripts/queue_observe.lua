-- KEYS: 1 the lock, 2 what its holder announces.  ARGV[1]: the beginning of the key of a client info.
-- Who leads: the holder of the lock, if it has announced something, and the lock still has the value with which the
-- announcement begins.  An array: 1 or 0, whether anybody leads; PTTL of the lock; what follows the value in the
-- announcement: the fence, a blank and the text; and uid, pid, host, program from the client info of the value's
-- session.  '' for a missing one.
-- Changes nothing.  The HDEL is a write without an effect: where the leader could not renew the lock, as on a server
-- that is a replica now, nobody may be shown as the leader.
local value, said = redis.pcall('GET', KEYS[1]), redis.pcall('GET', KEYS[2])
for _, got in ipairs({ value or '', said or '', redis.pcall('HDEL', KEYS[2], '') }) do
  if type(got) == 'table' and string.sub(got.err, 1, 9) ~= 'WRONGTYPE' then return got end
end
local r = { 0, 0, '', '', '', '', '' }
if type(value) ~= 'string' or type(said) ~= 'string' or #value ~= 28 then return r end
if string.sub(said, 1, 29) ~= value .. ' ' then return r end
r[1], r[2], r[3] = 1, redis.call('PTTL', KEYS[1]), string.sub(said, 30)
local who = ARGV[1] .. string.sub(value, 4, 12)
for i, field in ipairs({ 'uid', 'pid', 'host', 'program' }) do
  local text = redis.pcall('HGET', who, field)
  if type(text) == 'string' then r[3 + i] = text end
end
return r
