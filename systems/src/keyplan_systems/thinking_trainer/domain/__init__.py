"""The rules of the trainer in plain Python, independent of storage, clocks and networks."""
