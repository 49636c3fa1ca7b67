"""The game: the loop, its record, the algorithms (Table 2), and what is made of what was recorded."""
