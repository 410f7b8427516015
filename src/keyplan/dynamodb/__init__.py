"""Definitions of DynamoDB itself: values, expressions, PartiQL, request shapes and messages, without I/O or a clock."""
