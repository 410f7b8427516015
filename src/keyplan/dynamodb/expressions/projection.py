"""The parser of projection expressions."""

from __future__ import annotations

from keyplan.dynamodb.expressions.nodes import Projection
from keyplan.dynamodb.expressions.operands import read_path
from keyplan.dynamodb.expressions.tokens import Cursor


def parse(text: str, parameter: str) -> Projection:
    """The projection in the text. Raises ValidationError with the service's text."""
    cursor = Cursor(text, parameter)
    paths = [read_path(cursor)]
    while cursor.kind == ",":
        cursor.advance()
        paths.append(read_path(cursor))
    cursor.finish()
    return Projection(tuple(paths))
