"""The rules of venue booking in plain Python, independent of storage, HTTP and clocks."""
