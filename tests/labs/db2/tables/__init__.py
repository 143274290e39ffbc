"""Tables that are made by statements: Derby keeps their rows, the world what of them lies where."""
