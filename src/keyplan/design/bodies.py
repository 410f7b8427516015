"""What its stand-ins cannot see in the body of a pattern: some branches, and moments and ids that it takes.

`is None`, isinstance and match on a parameter ask for nothing but the object's identity or class, so they are
looked for in the source, where there is one; whatever else looks at a value is refused by the stand-in itself, when
the body runs. It runs once: what it takes from the clock or draws by chance would be the same in every call.
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
_TAKEN = frozenset(
    {"now", "utcnow", "today", "time_ns", "uuid1", "uuid4", "uuid7", "token_bytes", "token_hex", "token_urlsafe"}
)
_LOOKS_AT = frozenset({"isinstance", "type", "callable", "hasattr", "getattr", "id"})


def refuse_unseen(function: Callable[..., Any], parameters: Collection[str]) -> None:
    """Raise DesignError where a body branches on what a parameter is, or takes a value that only a call could have."""
    tree = _tree(function)
    for node, name in _branches(tree, parameters):
        raise DesignError(
            f"the pattern branches on what its parameter {name} is",
            place=_place(function, node)[0],
            fix="declare one pattern for each case, or decide before the pattern is called",
        )
    for call in _taken(tree):
        place, text = _place(function, call)
        raise DesignError(
            f"the pattern takes {text} once, when it is declared: every call would have the same",
            place=place,
            fix="take it as a parameter, and compute it for each call",
        )


def _place(function: Callable[..., Any], node: ast.expr) -> tuple[Place, str]:
    """Where an expression stands, and the first line of it."""
    first = of_function(function)
    text = (ast.get_source_segment(_source(function), node) or function.__name__).splitlines()[0]
    return Place(first.file, first.line + node.lineno - 1, text), text


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


def _taken(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls that give another value each time, in the body and in defaults."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else _root(node.func)
            if name in _TAKEN or ast.unparse(node.func) == "time.time":
                yield node
