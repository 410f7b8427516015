"""The operations, one a file: check what needs no table, find the table, do the work."""
