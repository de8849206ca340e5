-- expect: load takes the program as one string here
load(function() return "" end)
