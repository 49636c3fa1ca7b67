"""What the commands do, without their arguments: from a table in a file to a model in a folder, and back to numbers."""
