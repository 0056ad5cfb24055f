-- KEYS[1] the lock.  ARGV: 1 our field, 2 the channel of the waiters, 3 and on the commands that
-- publish.  1: the field was ours, the key is gone and 0 was published.  0: the key is something else, or
-- nothing.  The lock goes even if nothing can be published.
local mine = redis.pcall('HEXISTS', KEYS[1], ARGV[1])
if type(mine) == 'table' then
  if string.sub(mine.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return mine
end
if mine == 0 then return 0 end
redis.call('DEL', KEYS[1])
for i = 3, #ARGV do redis.pcall(ARGV[i], ARGV[2], '0') end
return 1
