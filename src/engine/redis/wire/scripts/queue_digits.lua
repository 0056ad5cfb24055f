-- digits: number, an integer from 0 to below 10^16, as a text of 16 digits.  Redis and string.format print a number
-- with printf, which takes a tenth of JOIN in a server that was idle.
local d16 = number % 10
local rest = (number - d16) / 10
local d15 = rest % 10
rest = (rest - d15) / 10
local d14 = rest % 10
rest = (rest - d14) / 10
local d13 = rest % 10
rest = (rest - d13) / 10
local d12 = rest % 10
rest = (rest - d12) / 10
local d11 = rest % 10
rest = (rest - d11) / 10
local d10 = rest % 10
rest = (rest - d10) / 10
local d9 = rest % 10
rest = (rest - d9) / 10
local d8 = rest % 10
rest = (rest - d8) / 10
local d7 = rest % 10
rest = (rest - d7) / 10
local d6 = rest % 10
rest = (rest - d6) / 10
local d5 = rest % 10
rest = (rest - d5) / 10
local d4 = rest % 10
rest = (rest - d4) / 10
local d3 = rest % 10
rest = (rest - d3) / 10
local d2 = rest % 10
rest = (rest - d2) / 10
local digits = string.char(48 + rest, 48 + d2, 48 + d3, 48 + d4, 48 + d5, 48 + d6, 48 + d7, 48 + d8,
  48 + d9, 48 + d10, 48 + d11, 48 + d12, 48 + d13, 48 + d14, 48 + d15, 48 + d16)
