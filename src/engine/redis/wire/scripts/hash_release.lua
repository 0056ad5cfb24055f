-- KEYS[1] the lock.  ARGV: 1 our field, 2 the channel of the waiters, 3 and following: the commands
-- that publish.
-- 1: the hash had our field, is deleted, and 0 was published.  0: the key has no such field, is not a
-- hash, or does not exist.  The lock is deleted even if PUBLISH fails.
local mine = redis.pcall('HEXISTS', KEYS[1], ARGV[1])
if type(mine) == 'table' then
  if string.sub(mine.err, 1, 9) == 'WRONGTYPE' then return 0 end
  return mine
end
if mine == 0 then return 0 end
redis.call('DEL', KEYS[1])
for i = 3, #ARGV do redis.pcall(ARGV[i], ARGV[2], '0') end
return 1
