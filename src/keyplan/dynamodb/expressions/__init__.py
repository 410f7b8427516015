"""Expressions: read, checked, compiled to closures and applied; `compiled` holds the doors."""
