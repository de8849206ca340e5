-- A slower rack, and activations that take twice the room.
return {
  transfer = function(message, default)
    return message.level_name == "rack" and 4 * default() or default()
  end,
  memory = function(layer, default)
    return {activations = 2 * default().activations}
  end,
}
