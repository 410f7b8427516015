"""Request shapes as tables, and the checkers compiled from them.

A request is checked in two phases, as in the service: the types of its JSON (`wire`: SerializationException
for the first error), then the constraints of its members (`constraints`: ValidationException with all
errors in one message). `model` defines shapes, `compile` turns one into a checker. The checker first runs
closures that only accept or reject; the slower phases, which produce the service's message, run only for
rejected requests.
"""

from keyplan.dynamodb.shapes.checker import Check, compile, late_check  # noqa: A004  # used as shapes.compile, as re.compile is

__all__ = ["Check", "compile", "late_check"]
