-- kind: 1: v is a value of this protocol; 2: the rest of a holder; 0: neither.
local kind = v and string.sub(v, 1, 3) == 'b1:' and (string.sub(v, 4, 4) == '=' and 2 or 1) or 0
