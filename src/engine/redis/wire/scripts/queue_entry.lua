-- Finds our entry in the queue, ARGV[4] or one of those behind it: member and ticket.  GONE: there is none.
local member, ticket
for i = 4, #ARGV do
  ticket = redis.call('ZSCORE', KEYS[2], ARGV[i])
  if ticket then
    member = ARGV[i]
    break
  end
end
if not member then
  redis.call('HDEL', KEYS[3], ARGV[1])
  return { 'GONE' }
end
redis.call('PEXPIRE', KEYS[2], 60000)
local f = not v and fence()
if type(f) == 'table' then return f end
if member ~= ARGV[4] then
  redis.call('ZADD', KEYS[2], ticket, ARGV[4]) -- first: an empty queue would lose its end
  redis.call('ZREM', KEYS[2], member)
end
