-- Sets the lock to our value, and returns the next fence.
local f = fence()
if type(f) == 'table' then return f end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return f
