"""The clauses of an update expression: one function for each action.

What a clause is depends on the call: None, and a set without members, are stored as nothing, so setting a
field to them removes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from keyplan.design.conditions import Path
from keyplan.design.field_encoding import Encode, encode_value, is_nothing
from keyplan.design.field_types import AttributeValue
from keyplan.design.requests_sources import Arguments, Read, reader
from keyplan.design.requests_text import Fragment, Writer, called
from keyplan.design.symbols import Source

NewWriter = Callable[[], Writer]
"""Makes a new writer, because a clause may have several forms."""


@dataclass
class Clauses:
    """The clauses of one call's update expression."""

    names: dict[str, str]
    values: dict[str, AttributeValue]
    sets: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    adds: list[str] = field(default_factory=list)
    deletes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The whole expression; empty where nothing changes."""
        told = (("SET", self.sets), ("REMOVE", self.removes), ("ADD", self.adds), ("DELETE", self.deletes))
        return " ".join(f"{word} {', '.join(clauses)}" for word, clauses in told if clauses)


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: what adds it to those of a call, and what it is where it is longest."""

    bind: Callable[[Arguments, Clauses], None]
    part: str
    """The list of Clauses that it goes to where it is longest, and in the next line as what."""
    longest: str


def always(part: str, fragment: Fragment) -> Clause:
    """A clause that is the same in every call but for its values; `part` is the list of Clauses it goes to."""

    def bind(arguments: Arguments, clauses: Clauses) -> None:
        getattr(clauses, part).append(fragment.bind(arguments, clauses.names, clauses.values))

    return Clause(bind, part, fragment.text)


def set_always(new_writer: NewWriter, path: Path, source: Source, encode: Encode) -> Clause:
    """SET of a field that every item has: without it the item could not be read, so None is left to be refused."""
    writer, read = new_writer(), reader(source)
    value = writer.value(_called(path), lambda arguments: encode(read(arguments)))
    return always("sets", writer.fragment(f"{writer.path(path)} = {value}"))


def set_clause(new_writer: NewWriter, path: Path, source: Source, encode: Encode) -> Clause:
    """SET, or REMOVE where the value is stored as nothing."""
    read = reader(source)
    writer, removing = new_writer(), new_writer()
    set_to = writer.fragment(
        f"{writer.path(path)} = {writer.value(_called(path), lambda arguments: encode(read(arguments)))}"
    )
    removed = removing.fragment(removing.path(path))

    def bind(arguments: Arguments, clauses: Clauses) -> None:
        if is_nothing(read(arguments)):
            clauses.removes.append(removed.bind(arguments, clauses.names, clauses.values))
        else:
            clauses.sets.append(set_to.bind(arguments, clauses.names, clauses.values))

    return Clause(bind, "removes", removed.text) if is_nothing(source) else Clause(bind, "sets", set_to.text)


def _set_if_missing(new_writer: NewWriter, path: Path, source: Source, encode: Encode) -> Clause:
    writer = new_writer()
    read = reader(source)
    name = writer.path(path)
    value = writer.value(_called(path), lambda arguments: encode(read(arguments)))
    return _unless_nothing("sets", writer.fragment(f"{name} = if_not_exists({name}, {value})"), read)


def _remove(new_writer: NewWriter, path: Path, _source: Source, _encode: Encode) -> Clause:
    writer = new_writer()
    return always("removes", writer.fragment(writer.path(path)))


def _adding(encode_amount: Encode) -> Callable[[NewWriter, Path, Source, Encode], Clause]:
    """Adding to a number; what is taken away is added as its negative."""

    def make(new_writer: NewWriter, path: Path, source: Source, _encode: Encode) -> Clause:
        writer = new_writer()
        read = reader(source)
        name = writer.path(path)

        def amount(arguments: Arguments) -> AttributeValue:
            value = read(arguments)
            if value is None:
                raise ValueError(f"{_called(path)} is changed by None, and takes a number")
            return encode_amount(value)

        value = writer.value(_called(path), amount)
        if len(path.parts) == 1:
            return always("adds", writer.fragment(f"{name} {value}"))
        # ADD takes attributes only, not what lies in them.
        zero = writer.value("zero", lambda _arguments: {"N": "0"})
        return always("sets", writer.fragment(f"{name} = if_not_exists({name}, {zero}) + {value}"))

    return make


def _negative(value: Any) -> AttributeValue:
    """The attribute value of a number's negative; what is no number is left for the service to refuse."""
    encoded = encode_value(value)
    number = encoded.get("N")
    if number is None:
        return encoded
    return {"N": number.removeprefix("-") if number.startswith("-") else f"-{number}"}


def _append(new_writer: NewWriter, path: Path, source: Source, _encode: Encode) -> Clause:
    writer = new_writer()
    read = reader(source)
    name = writer.path(path)

    def members(arguments: Arguments) -> AttributeValue:
        value = read(arguments)
        return encode_value(value if isinstance(value, (list, tuple)) else [value])

    empty = writer.value("empty", lambda _arguments: {"L": []})
    text = f"{name} = list_append(if_not_exists({name}, {empty}), {writer.value(_called(path), members)})"
    return always("sets", writer.fragment(text))


def _members(part: str) -> Callable[[NewWriter, Path, Source, Encode], Clause]:
    """Adding to sets and removing from them: a member, or a set of members."""

    def make(new_writer: NewWriter, path: Path, source: Source, _encode: Encode) -> Clause:
        writer = new_writer()
        read = reader(source)

        def members(arguments: Arguments) -> AttributeValue:
            value = read(arguments)
            return encode_value(set(value) if isinstance(value, (set, frozenset, list, tuple)) else {value})

        text = f"{writer.path(path)} {writer.value(_called(path), members)}"
        return _unless_nothing(part, writer.fragment(text), read)

    return make


def _unless_nothing(part: str, fragment: Fragment, read: Read) -> Clause:
    clause = always(part, fragment)

    def bind(arguments: Arguments, clauses: Clauses) -> None:
        if not is_nothing(read(arguments)):
            clause.bind(arguments, clauses)

    return Clause(bind, part, fragment.text)


def _called(path: Path) -> str:
    return called(path.parts[-1])


CLAUSES: dict[str, Callable[[NewWriter, Path, Source, Encode], Clause]] = {
    "set": set_clause,
    "set_if_missing": _set_if_missing,
    "remove": _remove,
    "add": _adding(encode_value),
    "subtract": _adding(_negative),
    "append": _append,
    "add_to_set": _members("adds"),
    "remove_from_set": _members("deletes"),
}
"""By what a pattern calls an action."""
