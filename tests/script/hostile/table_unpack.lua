-- expect: too many results to unpack
table.unpack({}, 1, 100000000)
