"""Definitions of DynamoDB itself: values, expressions, PartiQL, request shapes and messages. No I/O, no clock."""
