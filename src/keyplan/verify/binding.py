"""The arguments of one call in the making."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from keyplan.design.field_types import without_none
from keyplan.design.symbols import Param, Source


class Binding:
    """The arguments of one call in the making."""

    def __init__(self) -> None:
        self.whole: dict[str, Any] = {}
        self.parts: dict[str, dict[tuple[str, ...], Any]] = {}

    def copy(self) -> Binding:
        """The same, to go on with apart."""
        other = Binding()
        other.whole = dict(self.whole)
        other.parts = {name: dict(parts) for name, parts in self.parts.items()}
        return other

    def take(self, other: Binding, but: str) -> None:
        """Know what a copy has learned of all parameters but one."""
        self.whole.update({name: value for name, value in other.whole.items() if name != but})
        self.parts.update({name: dict(parts) for name, parts in other.parts.items() if name != but})

    def touches(self, source: Param) -> bool:
        """Whether anything is known of a parameter, or of what lies in it."""
        return source._name in self.whole or source._name in self.parts

    def find(self, source: Source) -> tuple[bool, Any]:
        """Whether a source's value is known, and which it is."""
        if not isinstance(source, Param):
            return True, source
        if source._name in self.whole:
            value = self.whole[source._name]
            for part in source._path:
                value = getattr(value, part)
            return True, value
        known = self.parts.get(source._name, {})
        return source._path in known, known.get(source._path)

    def set(self, source: Source, value: Any) -> None:
        """Give a source its value, unless it has one."""
        if isinstance(source, Param) and not self.find(source)[0]:
            if source._path:
                self.parts.setdefault(source._name, {})[source._path] = value
            else:
                self.whole[source._name] = value


def element_of(annotation: Any) -> Any:
    """The type of a list's elements."""
    parts: Iterable[Any] = get_args(without_none(annotation)[0]) if annotation is not None else ()
    return next(iter(parts), None)
