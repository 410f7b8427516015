"""The rules of venue booking as plain Python: no storage, no web, no clock of its own."""
