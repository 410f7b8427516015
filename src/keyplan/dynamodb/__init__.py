"""The parts of DynamoDB that need neither I/O nor a clock: values, expressions, PartiQL, request shapes and
messages.
"""
