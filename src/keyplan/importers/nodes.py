"""Values in a document with their paths, so that errors can show their position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyplan.errors import KeyplanError


class ImportSourceError(KeyplanError):
    """Raised if a file is not of the expected kind or contains an invalid description of a table."""


_MOST_DIGITS = 18
"""Maximum number of digits. No number of the service has more."""


@dataclass(frozen=True)
class UnresolvedValue:
    """A value that the document alone does not determine."""

    reason: str


@dataclass(frozen=True)
class UnresolvedAttribute(UnresolvedValue):
    """An attribute of a resource in the document, or a reference to it, which is known after creation."""

    logical_id: str
    attribute: str
    """The name of the attribute, or "" for a reference to the resource itself."""


@dataclass(frozen=True)
class Node:
    """A value with its path from the root of the document."""

    value: Any
    path: str

    def fail(self, problem: str) -> ImportSourceError:
        """Return an error about this value."""
        return ImportSourceError(f"{self.path}: {problem}")

    def _known(self) -> Any:
        if isinstance(self.value, UnresolvedValue):
            raise self.fail(self.value.reason)
        return self.value

    def _wanted(self, what: str) -> ImportSourceError:
        shown = repr(self.value)
        return self.fail(f"expected {what}, got {shown if len(shown) <= 60 else shown[:57] + '...'}")

    def mapping(self) -> Mapping[str, Any]:
        """Return the value as a mapping. Raises ImportSourceError for other values."""
        value = self._known()
        if not isinstance(value, Mapping):
            raise self._wanted("a mapping")
        return value

    def items(self) -> Iterator[Node]:
        """Yield the elements of a list."""
        value = self._known()
        if not isinstance(value, list):
            raise self._wanted("a list")
        return (Node(element, f"{self.path}[{number}]") for number, element in enumerate(value))

    def text(self) -> str:
        """Return a non-empty string. YAML names that look like numbers or booleans are accepted."""
        value = self._known()
        if isinstance(value, int):
            value = str(value).lower()
        if not isinstance(value, str) or not value:
            raise self._wanted("a text")
        return value

    def one_of(self, *choices: str) -> str:
        """Return the value if it is one of the choices. Raises ImportSourceError for other values."""
        if self.text() not in choices:
            raise self._wanted(f"one of {', '.join(choices)}")
        return self.text()

    def whole(self, least: int = 0) -> int:
        """Return an integer, which a parameter may have passed as a string."""
        value = self._known()
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 10**_MOST_DIGITS:
            raise self._wanted(f"a whole number from {least}")
        return value

    def flag(self) -> bool:
        """Return a boolean, which a parameter may have passed as a string."""
        value = self._known()
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            value = value.lower() == "true"
        if not isinstance(value, bool):
            raise self._wanted("true or false")
        return value

    def get(self, member: str) -> Node | None:
        """Return a member of a mapping, or None."""
        value = self.mapping().get(member)
        return None if value is None else Node(value, f"{self.path}.{member}")

    def need(self, member: str) -> Node:
        """Return a required member. Raises ImportSourceError if it is missing."""
        node = self.get(member)
        if node is None:
            raise self.fail(f"{member} is missing")
        return node

    def at(self, *members: str) -> Node | None:
        """Return a nested member, or None."""
        node: Node | None = self
        for member in members:
            node = None if node is None else node.get(member)
        return node

    def each(self, member: str) -> Iterator[Node]:
        """Yield the elements of an optional list."""
        node = self.get(member)
        return iter(()) if node is None else node.items()
