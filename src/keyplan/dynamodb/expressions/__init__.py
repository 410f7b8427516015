"""Expressions: parsing, checks, compilation to closures, and application to items. `compiled` is the entry point."""
