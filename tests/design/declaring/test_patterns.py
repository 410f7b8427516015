"""The source of a pattern's body, in which branches on parameters are looked for."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from keyplan.design.declaring.patterns import _definition


def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function around another one."""

    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapper


def one_line(value: str) -> object: return value is None  # fmt: skip


def several_lines(
    value: str,
    other: int,
) -> object:
    """Return a value.

    Over several lines.
    """
    return {
        "value": value,
        "other": [
            other,
        ],
    }


def nested(value: str) -> object:
    def inner() -> object:
        return value is None

    return inner


def only_documented(value: str) -> object:
    """Return nothing.

    The last line has no code.
    """


@decorator
@decorator
def decorated(value: str) -> object:
    if value:
        return value
    return None


@pytest.mark.parametrize("function", [one_line, several_lines, nested, only_documented, decorated])
def test_the_tree_of_a_body_is_that_of_its_source(function: Callable[..., Any]) -> None:
    source, tree = _definition(function)
    expected = textwrap.dedent(inspect.getsource(function))
    assert ast.dump(tree) == ast.dump(ast.parse(expected))
    assert expected.startswith(source.rstrip("\n"))


def test_a_lambda_and_a_function_without_source_have_no_tree_or_that_of_their_lines() -> None:
    scope: dict[str, Any] = {}
    exec("def made(value):\n    return value is None\n", scope)
    assert _definition(scope["made"])[0] == ""
    (function,) = [lambda value: value is None]
    assert "value is None" in _definition(function)[0]
