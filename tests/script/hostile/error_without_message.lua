-- expect: the script raised a nil
error()
