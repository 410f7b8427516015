"""The rules of the trainer as plain Python, without storage, clock or network."""
