"""Definitions that need neither I/O nor a clock: DynamoDB's values, expressions, PartiQL, request shapes
and messages.
"""
