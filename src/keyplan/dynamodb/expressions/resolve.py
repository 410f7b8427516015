"""Placeholders: names resolved in document paths, and the rules of both placeholder maps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TypeAlias

from keyplan import limits
from keyplan.dynamodb.expressions.nodes import Path
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values.attribute import check_attribute_names
from keyplan.dynamodb.values.types import Values
from keyplan.errors import ValidationError

ResolvedPath: TypeAlias = tuple[str | int, ...]
"""A document path with real names: strings for map members, integers for list elements."""

_CACHED_KEYS = 1024
_PLACEHOLDER = re.compile(r"[#:][A-Za-z0-9_]+\Z").match


class Names:
    """ExpressionAttributeNames of one expression, and which of them it uses."""

    __slots__ = ("_names", "used")

    def __init__(self, names: Mapping[str, str] | None) -> None:
        self._names = names or {}
        self.used: set[str] = set()

    def undefined(self, path: Path) -> str | None:
        """The first placeholder of the path that stands for nothing."""
        for part in path.parts:
            if isinstance(part, str) and part.startswith("#") and part not in self._names:
                return part
        return None

    def resolve(self, path: Path) -> ResolvedPath:
        """The path with real names; every placeholder must be defined."""
        parts: list[str | int] = []
        for part in path.parts:
            if isinstance(part, str) and part.startswith("#"):
                self.used.add(part)
                parts.append(self._names[part])
            else:
                parts.append(part)
        return tuple(parts)


def path_text(path: ResolvedPath) -> str:
    """A path as the service's messages show it: [a, [3], b]."""
    return f"[{', '.join(f'[{part}]' if isinstance(part, int) else part for part in path)}]"


def check_names(names: Mapping[str, str] | None) -> None:
    """The rules of ExpressionAttributeNames itself, before any expression is read."""
    if names is None:
        return
    if not names:
        raise ValidationError(messages.NAMES_EMPTY)
    for key, name in names.items():
        _check_key("ExpressionAttributeNames", key, "#")
        if not name:
            raise ValidationError(messages.placeholder_name_empty(key))
    check_attribute_names(names.values())


def check_values(values: Values | None) -> None:
    """The rules of the keys of ExpressionAttributeValues, before the values are looked at."""
    if values is None:
        return
    if not values:
        raise ValidationError(messages.VALUES_EMPTY)
    _check_value_keys(tuple(values))


@lru_cache(maxsize=_CACHED_KEYS)
def _check_value_keys(keys: tuple[str, ...]) -> None:
    for key in keys:
        _check_key("ExpressionAttributeValues", key, ":")


def _check_key(parameter: str, key: str, sign: str) -> None:
    if len(key) <= limits.EXPRESSION_PLACEHOLDER_BYTES and key[:1] == sign and _PLACEHOLDER(key):
        return
    size_bytes = len(key.encode("utf-8", "surrogatepass"))
    if size_bytes > limits.EXPRESSION_PLACEHOLDER_BYTES:
        raise ValidationError(messages.placeholder_too_long(parameter, size_bytes))
    raise ValidationError(messages.placeholder_syntax(parameter, key))


def check_placeholders(
    names: Mapping[str, str] | None,
    values: Values | None,
    used_names: AbstractSet[str],
    used_values: AbstractSet[str],
) -> None:
    """Refuses names and values that no expression of the request uses."""
    if names and not names.keys() <= used_names:
        listed = _listed([key for key in names if key not in used_names], len(names))
        raise ValidationError(messages.unused("ExpressionAttributeNames", listed))
    if values and not values.keys() <= used_values:
        listed = _listed([key for key in values if key not in used_values], len(values))
        raise ValidationError(messages.unused("ExpressionAttributeValues", listed))


def _listed(keys: list[str], total: int) -> list[str]:
    """Keys in the order the service lists them: that of a Java hash set of `total` strings."""
    capacity = 16
    while capacity * 3 // 4 < total:
        capacity *= 2

    def slot(key: str) -> int:
        code = 0
        for character in key:
            code = (31 * code + ord(character)) & 0xFFFFFFFF
        return (code ^ (code >> 16)) & (capacity - 1)

    return sorted(keys, key=slot)
