"""Tables in files: reading and writing them, what their columns hold, and how columns become features."""
