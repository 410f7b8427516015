"""Request shapes as tables, and the checkers compiled from them.

A request is checked in two phases, as the service does it: the types of its JSON
(SerializationException, the first fault alone), then the constraints of its members
(ValidationException, all faults in one message). `model` holds what a shape is, `compile` turns one
into a checker. The checker first runs closures that only tell good from bad; the slower walk that
words the service's answer runs only for requests that may be bad.
"""

from keyplan.dynamodb.shapes.checker import Check, compile, late_check  # noqa: A004  # used as shapes.compile, as re.compile is

__all__ = ["Check", "compile", "late_check"]
