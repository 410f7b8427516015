"""DynamoDB expressions: parsers, checks, compilation to closures, and application to items.

The module `compiled` is the entry point.
"""
