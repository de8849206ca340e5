-- expect: table.move takes at most 10000000 elements
table.move({}, 1, 1 << 40, 2)
