"""Request shapes as data structures, and the checkers that are compiled from them.

A request is checked in two phases, as in DynamoDB. The first phase checks the types in its JSON (`wire`) and raises
SerializationException for the first error. The second phase checks the constraints on its members (`constraints`) and
raises ValidationException with all errors in one message. `model` defines shapes, and `compile` converts a shape to a
checker. The checker first runs closures that only accept or reject. The slower phases, which produce DynamoDB's
message, run only for rejected requests.
"""

from keyplan.dynamodb.shapes.checker import Check, compile, late_check  # noqa: A004  # used as shapes.compile, as re.compile is

__all__ = ["Check", "compile", "late_check"]
