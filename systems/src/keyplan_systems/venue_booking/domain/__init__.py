"""The rules of venue booking as plain Python, without storage, web or clock."""
