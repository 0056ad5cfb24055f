-- Writes fields of a hash, unless a holder with a higher fence has written before.
--
--      KEYS[1] the hash           ARGV[1] the fence
--                                 ARGV[2...] field, value, field, value ...; or nothing, to show the fence only
--      1: written.  0: rejected, and nothing is changed.
--
-- The fence is a field of the hash that it protects, so both are always equally old: after a DEL, a failover, or a
-- restart without data.  Fences are compared as text, because a number in Lua is exact only up to 2^53.  Only this
-- script may write the key.
local function is_fence(text)
    return #text <= 20 and string.find(text, '^[1-9]%d*$') ~= nil
end

local function is_lower(a, b)
    if #a ~= #b then
        return #a < #b
    end
    return a < b
end

local fence = ARGV[1]
if not is_fence(fence) then
    return redis.error_reply('ERR the first argument is not a fence')
end
local seen = redis.call('HGET', KEYS[1], 'fence')
if seen and not is_fence(seen) then
    return redis.error_reply('ERR the field fence of the hash is not one')
end
if seen and is_lower(fence, seen) then
    return 0
end
if #ARGV > 1 then
    redis.call('HSET', KEYS[1], unpack(ARGV, 2))
end
redis.call('HSET', KEYS[1], 'fence', fence)
return 1
