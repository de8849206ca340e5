-- A hook that answers nothing: the search waits for it until it is stopped.
return {
  compute = function()
    while true do end
  end,
}
