"""Expressions, which are parsed, checked, compiled to closures and applied. `compiled` is the entry point."""
