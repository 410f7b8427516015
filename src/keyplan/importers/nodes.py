"""Wrappers for the values in a document. Each wrapper records the path of its value for error messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyplan.errors import KeyplanError


class ImportSourceError(KeyplanError):
    """Raised if a file does not have the expected format, or if it describes an invalid table."""


_MAX_DIGITS = 18
"""The maximum number of digits in an integer setting. Valid DynamoDB settings have fewer digits."""


@dataclass(frozen=True)
class UnresolvedValue:
    """A value that the imported document does not determine, and the reason for this."""

    reason: str


@dataclass(frozen=True)
class UnresolvedAttribute(UnresolvedValue):
    """A reference to a resource or to one of its attributes. The value is known only after the resource is created."""

    logical_id: str
    attribute: str
    """The name of the resource's attribute, or "" for a reference to the resource itself."""


@dataclass(frozen=True)
class Node:
    """A value in a document, and its path from the root of the document."""

    value: Any
    path: str

    def fail(self, problem: str) -> ImportSourceError:
        """Return an ImportSourceError for this value. The message contains the path of the value."""
        return ImportSourceError(f"{self.path}: {problem}")

    def _resolved_value(self) -> Any:
        if isinstance(self.value, UnresolvedValue):
            raise self.fail(self.value.reason)
        return self.value

    def _type_error(self, expected: str) -> ImportSourceError:
        value_text = repr(self.value)
        return self.fail(f"expected {expected}, got {value_text if len(value_text) <= 60 else value_text[:57] + '...'}")

    def mapping(self) -> Mapping[str, Any]:
        """Return the value if it is a mapping. Raises ImportSourceError otherwise."""
        value = self._resolved_value()
        if not isinstance(value, Mapping):
            raise self._type_error("a mapping")
        return value

    def items(self) -> Iterator[Node]:
        """Yield the elements of the value. Raises ImportSourceError if it is not a list."""
        value = self._resolved_value()
        if not isinstance(value, list):
            raise self._type_error("a list")
        return (Node(element, f"{self.path}[{number}]") for number, element in enumerate(value))

    def text(self) -> str:
        """Return the value as a non-empty string. Raises ImportSourceError if it is not a string.

        Integers and booleans are converted to strings, because YAML reads some names as numbers or booleans.
        """
        value = self._resolved_value()
        if isinstance(value, int):
            value = str(value).lower()
        if not isinstance(value, str) or not value:
            raise self._type_error("a text")
        return value

    def one_of(self, *choices: str) -> str:
        """Return the value if it is one of the choices. Raises ImportSourceError otherwise."""
        if self.text() not in choices:
            raise self._type_error(f"one of {', '.join(choices)}")
        return self.text()

    def integer(self, minimum: int = 0) -> int:
        """Return the value as an integer of at least `minimum`. Raises ImportSourceError if it is not an integer.

        Strings of digits are converted, because template parameters can be strings.
        """
        value = self._resolved_value()
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value < 10**_MAX_DIGITS:
            raise self._type_error(f"a whole number from {minimum}")
        return value

    def flag(self) -> bool:
        """Return the value as a boolean. Raises ImportSourceError if it is not a boolean.

        The strings "true" and "false" are converted, because template parameters can be strings.
        """
        value = self._resolved_value()
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            value = value.lower() == "true"
        if not isinstance(value, bool):
            raise self._type_error("true or false")
        return value

    def get(self, member: str) -> Node | None:
        """Return a member of a mapping as a Node, or None if it does not exist."""
        value = self.mapping().get(member)
        return None if value is None else Node(value, f"{self.path}.{member}")

    def need(self, member: str) -> Node:
        """Return a member of a mapping as a Node. Raises ImportSourceError if it does not exist."""
        node = self.get(member)
        if node is None:
            raise self.fail(f"{member} is missing")
        return node

    def at(self, *members: str) -> Node | None:
        """Return the value at the end of a path of member names, or None if a member on the path does not exist."""
        node: Node | None = self
        for member in members:
            node = None if node is None else node.get(member)
        return node

    def elements(self, member: str) -> Iterator[Node]:
        """Yield the elements of a member that is a list, or nothing if the member does not exist."""
        node = self.get(member)
        return iter(()) if node is None else node.items()
