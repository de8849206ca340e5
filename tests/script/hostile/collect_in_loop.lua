-- expect: collectgarbage knows only "count" here
collectgarbage("stop")
