"""A mypy plugin that adds return types to patterns, so that `--strict` accepts patterns without a return annotation.

The decorator of a pattern determines its return type. To enable the plugin, add `plugins = ["keyplan.mypy"]` to mypy's
settings.
"""

from __future__ import annotations

from typing import Final

from mypy.nodes import CallExpr, Decorator, Expression, MemberExpr, MypyFile, NameExpr, RefExpr
from mypy.plugin import Plugin
from mypy.types import AnyType, CallableType, TypeOfAny, get_proper_type

_KINDS: Final = frozenset(
    {
        "get", "query", "count", "scan", "batch_get", "create", "put", "replace", "update", "delete", "check",
        "batch_put", "batch_delete",
    }
)  # fmt: skip
"""The methods of a table that declare a pattern when they are used as decorators."""


def _declares_pattern(decorator: Expression) -> bool:
    """Return True for a decorator such as `@table.query(Entity)`, but not for a route such as `@app.get("/path")`."""
    if not isinstance(decorator, CallExpr):
        return False
    callee, arguments = decorator.callee, decorator.args
    if isinstance(callee, MemberExpr) and callee.name in _KINDS:
        return bool(arguments) and isinstance(arguments[0], RefExpr)
    return isinstance(callee, (NameExpr, MemberExpr)) and callee.name == "transaction"


class _PatternPlugin(Plugin):
    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Add missing return annotations to the patterns in a file. mypy calls this method for each parsed file."""
        for statement in file.defs:
            if not isinstance(statement, Decorator):
                continue
            function = statement.func.type
            if isinstance(function, CallableType) and any(map(_declares_pattern, statement.original_decorators)):
                return_type = get_proper_type(function.ret_type)
                if isinstance(return_type, AnyType) and return_type.type_of_any == TypeOfAny.unannotated:
                    function.ret_type = AnyType(TypeOfAny.special_form)
        return []


def plugin(_version: str) -> type[Plugin]:
    """Return the plugin class. mypy calls this function with its version."""
    return _PatternPlugin
