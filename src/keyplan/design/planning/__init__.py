"""Plans: the requests that a pattern sends, computed from its declaration."""
