"""Readers of sources: where a value of a request comes from, told once, looked up at each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter
from typing import Any

from keyplan.design.symbols import Each, EveryShard, Param, Source

Arguments = Mapping[str, Any]
Read = Callable[[Arguments], Any]

WALKED = "*walked*"
"""Among the arguments: the one value of each(...), or the one partition of every_shard(), that is asked now."""


def reader(source: Source) -> Read:
    """A function that gives a source's value from a call's arguments."""
    if isinstance(source, (Each, EveryShard)):
        return itemgetter(WALKED)
    if not isinstance(source, Param):
        return lambda _arguments: source
    named = itemgetter(source._name)
    if not source._path:
        return named
    inner = attrgetter(".".join(source._path))
    return lambda arguments: inner(named(arguments))


def all_values(source: Each) -> Read:
    """A function that gives every value of an each(...); a text in place of a list is refused, for it has letters."""
    if not isinstance(source.values, Param):
        members = [reader(member) for member in source.values]
        return lambda arguments: tuple(read(arguments) for read in members)
    all_of_them = reader(source.values)

    def values(arguments: Arguments) -> tuple[Any, ...]:
        given = all_of_them(arguments)
        if isinstance(given, (str, bytes)):
            raise TypeError(f"{source!r} takes a list of values, and is given {given!r}")
        return tuple(given)

    return values


def is_argument(source: Source, name: str) -> bool:
    """Whether a source is the argument of this very name."""
    return isinstance(source, Param) and source._name == name and not source._path
