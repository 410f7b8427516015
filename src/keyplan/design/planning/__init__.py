"""The plan of each pattern, made from its declaration."""
