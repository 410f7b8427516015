"""The rules of venue booking as plain Python. They do not depend on storage, HTTP or a clock."""
