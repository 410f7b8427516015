"""What a condition requires of single attributes, so that most items can be told from those it accepts by a glance.

Only what is joined by AND is required: a part of an OR or behind a NOT may be false where the whole is true.
"""

from __future__ import annotations

from typing import NamedTuple

from keyplan.dynamodb.expressions.nodes import And, Call, Compare, Condition, Path, Value
from keyplan.dynamodb.expressions.resolve import Names


class Required(NamedTuple):
    """No item is accepted unless this attribute equals, or as a text begins with, the value of a placeholder."""

    attribute: str
    placeholder: str
    is_prefix: bool


def required(condition: Condition, names: Names) -> tuple[Required, ...]:
    """All that a checked condition requires of top-level attributes."""
    found: list[Required] = []
    pending = [condition]
    while pending:
        match pending.pop():
            case And(conditions):
                pending.extend(reversed(conditions))
            case Compare("=", Path() as path, Value(placeholder)) | Compare("=", Value(placeholder), Path() as path):
                _add(found, path, placeholder, names, is_prefix=False)
            case Call("begins_with", (Path() as path, Value(placeholder))):
                _add(found, path, placeholder, names, is_prefix=True)
    return tuple(found)


def _add(found: list[Required], path: Path, placeholder: str, names: Names, *, is_prefix: bool) -> None:
    if len(path.parts) == 1:
        found.append(Required(str(names.resolve(path)[0]), placeholder, is_prefix))
