"""Branches in the body of a pattern that its stand-ins cannot see: `is None`, isinstance and match on a parameter.

Whatever else looks at a value is refused by the stand-in itself, when the body runs. These ask for nothing
but the object's identity or class, so they are looked for in the source, where there is one.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterator
from typing import Any

from keyplan.design.places import DesignError, Place, of_function

_ATTEMPTS = 100
"""CPython before 3.11.8 counts how deep it is in a tree for all threads together, and may fail while others parse."""
_LOOKS_AT = frozenset({"isinstance", "type", "callable", "hasattr", "getattr", "id"})


def refuse_branches(function: Callable[..., Any], parameters: Collection[str]) -> None:
    """Raise DesignError where a body branches on what a parameter is."""
    for node, name in _branches(_tree(function), parameters):
        first = of_function(function)
        text = ast.get_source_segment(_source(function), node) or function.__name__
        raise DesignError(
            f"the pattern branches on what its parameter {name} is",
            place=Place(first.file, first.line + node.lineno - 1, text.splitlines()[0]),
            fix="declare one pattern for each case, or decide before the pattern is called",
        )


def _source(function: Callable[..., Any]) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""  # made by exec, or typed at a prompt: there is nothing to look at


def _tree(function: Callable[..., Any]) -> ast.AST:
    source = _source(function)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return ast.parse(source)
        except SyntaxError:
            break  # a text of several lines that begins further left than the function
        except SystemError:
            if attempt == _ATTEMPTS:
                raise
    return ast.Module([], [])


def _branches(tree: ast.AST, parameters: Collection[str]) -> Iterator[tuple[ast.expr, str]]:
    for node in ast.walk(tree):
        looked_at: list[ast.expr] = []
        where: ast.expr | None = None
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            looked_at, where = [node.left, *node.comparators], node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _LOOKS_AT:
            looked_at, where = node.args[:1], node
        elif isinstance(node, ast.Match):
            looked_at, where = [node.subject], node.subject
        for one in looked_at:
            name = _root(one)
            if where is not None and name in parameters:
                yield where, name


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
