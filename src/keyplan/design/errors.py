"""Source locations of declarations, and the errors and faults that point at them.

A message shows the file, the line, a caret, and how to fix the error. Every declaration keeps its source location, so
that an error or a finding can also point at a conflicting declaration.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, NoReturn

import pydantic

from keyplan.errors import KeyplanError

_INTERNAL_PATHS = (
    *(str(Path(__file__).parent.parent / name) + os.sep for name in ("design", "client")),
    str(Path(pydantic.__file__).parent) + os.sep,
    "<string>",
)
"""Path prefixes of files to skip in the search for the user code that called this package. "<string>" is the file name
of code that dataclasses generate.
"""
_LINES_OF_A_DECLARATION = 40


@dataclass(frozen=True)
class CallSite:
    """The bytecode instruction of a call, used to find the source text of the call."""

    code: CodeType
    instruction: int
    """The byte offset of the call's instruction in the bytecode."""

    def span(self) -> tuple[int, int, int, int] | None:
        """Return the call's first line, last line, start column and end column, or None if they are not available.

        Columns are byte offsets.
        """
        position = next(islice(self.code.co_positions(), self.instruction // 2, None), None)
        if position is None:
            return None
        line, end_line, column, end_column = position
        if line is None or end_line is None or column is None or end_column is None:
            return None
        return line, end_line, column, end_column


@dataclass(frozen=True)
class Place:
    """A location in a source file: a line, and the text to mark on that line."""

    file: str
    line: int
    """The line number, starting from 1, or 0 if it is unknown."""
    text: str = ""
    """The text that the caret marks. If it is empty, the caret marks the whole line."""
    offset: int = 0
    """The offset of the first marked character in `text`."""
    width: int = 0
    """The number of marked characters. If it is 0, the caret marks the rest of `text`."""
    call_site: CallSite | None = field(default=None, compare=False, repr=False)
    """The call that made the declaration. Its position in the source is determined only when a message shows the
    location.
    """

    def at(self, text: str, offset: int = 0, width: int = 0) -> Place:
        """Return a copy of this location that marks a different text.

        `offset` and `width` select the characters of the text to mark.
        """
        return replace(self, text=text, offset=offset, width=width)

    def __str__(self) -> str:
        return f"{self.display_path}:{self.line}"

    @property
    def display_path(self) -> str:
        """The path of the file, relative to the current directory if the file is inside it."""
        try:
            return str(Path(self.file).relative_to(Path.cwd()))
        except (OSError, ValueError):  # outside of the current folder, or that folder was deleted
            return self.file


UNKNOWN_PLACE = Place("<unknown>", 0)


def _frame() -> FrameType:
    frame = sys._getframe(2)  # the caller of the public function
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INTERNAL_PATHS):
        frame = frame.f_back
    return frame


def calling_place() -> Place:
    """Return the location of the user code that called this package."""
    frame = _frame()
    return Place(frame.f_code.co_filename, frame.f_lineno, call_site=CallSite(frame.f_code, frame.f_lasti))


def traceback_place(traceback: TracebackType | None, file: str) -> Place | None:
    """Return the location of the innermost frame in `file`, given a traceback. Return None if none of its frames is in
    this file.
    """
    place = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == file:
            place = Place(file, traceback.tb_lineno, call_site=CallSite(code, traceback.tb_lasti))
        traceback = traceback.tb_next
    return place


def calling_names() -> dict[str, Any]:
    """Return the local variables of the user code that called this package. They are used to resolve annotations of
    nested functions.
    """
    return dict(_frame().f_locals)


def function_place(function: Callable[..., Any]) -> Place:
    """Return the location of a function's definition."""
    code = function.__code__
    return Place(code.co_filename, code.co_firstlineno, f"def {function.__name__}")


def show_place(place: Place, *, with_definition: bool = False) -> str:
    """Format a source location as compilers do: file and line, the source text, and a caret.

    If `with_definition` is True and the location is in a decorator, the line with the name of the decorated class or
    function follows.
    """
    number, source, column, width = _find_text(place)
    if not source:
        return f"  --> {place}"
    definition = _definition(place, number) if with_definition else None
    digits = len(str(number if definition is None else definition[0]))
    margin = " " * digits
    lines = [f" {margin}--> {place.display_path}:{number}", f" {margin} |", f" {number:>{digits}} | {source}"]
    before = "".join("\t" if character == "\t" else " " for character in source[:column])
    lines.append(f" {margin} | {before}{'^' * max(1, width)}")
    if definition is not None:
        lines.append(f" {definition[0]} | {definition[1]}")
    return "\n".join(lines)


def _definition(place: Place, number: int) -> tuple[int, str] | None:
    """Return the number and text of the line that names the decorated class or function, or None if line `number` is
    not in a decorator.
    """
    span = place.call_site.span() if place.call_site is not None else None
    if span is None or number > span[1] or not _line(place.file, span[0]).lstrip().startswith("@"):
        return None
    definitions = ("class ", "def ", "async def ")
    return next(
        (
            (line, source)
            for line, source, *_ in _decorated(place.file, span[0], span[1])
            if source.lstrip().startswith(definitions)
        ),
        None,
    )


def _find_text(place: Place) -> tuple[int, str, int, int]:
    """Return the line number, the source line, and the column and width of the caret for the marked text of
    a location.
    """
    if place.text:
        pattern = _word_pattern(place.text)
        for number, source, start, end in _lines(place):
            match = pattern.search(source, start, end)
            if match is not None:
                return number, source, match.start() + place.offset, place.width or len(place.text) - place.offset
    return _find_call(place)


def _word_pattern(text: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", text) else ""
    return re.compile(before + re.escape(text) + after)


def _find_call(place: Place) -> tuple[int, str, int, int]:
    """Return the line number, the source line, and the column and width of the caret for the call at a location.

    If the position of the call is unknown, the caret marks the whole line.
    """
    span = place.call_site.span() if place.call_site is not None else None
    number = place.line if span is None else span[0]
    source = _line(place.file, number)
    if span is None:
        indent = len(source) - len(source.lstrip())
        return number, source, indent, len(source) - indent
    start = _character_offset(source, span[2])
    end = _character_offset(source, span[3]) if span[0] == span[1] else len(source)
    return number, source, start, end - start


def _lines(place: Place) -> Iterator[tuple[int, str, int, int]]:
    """Yield a tuple for each line of a declaration: the line number, the source, the first column and the
    last column.
    """
    span = place.call_site.span() if place.call_site is not None else None
    if span is None:
        for number in range(place.line, place.line + _LINES_OF_A_DECLARATION):
            source = _line(place.file, number)
            yield number, source, 0, len(source)
        return
    line, end_line, column, end_column = span
    for number in range(line, end_line + 1):
        source = _line(place.file, number)
        start = _character_offset(source, column) if number == line else 0
        yield number, source, start, _character_offset(source, end_column) if number == end_line else len(source)
    if _line(place.file, line).lstrip().startswith("@"):
        yield from _decorated(place.file, line, end_line)


def _decorated(file: str, line: int, end_line: int) -> Iterator[tuple[int, str, int, int]]:
    """Yield the lines of a decorated definition after `end_line`: the remaining decorators, the header, and the body.

    Each line is a tuple of its number, its source, and its first and last column.
    """
    indent = _indent(_line(file, line))
    has_header = False
    for number, text in enumerate(islice(linecache.getlines(file), end_line, None), end_line + 1):
        source = text.rstrip("\n")
        if source.strip() and _indent(source) <= indent and not source.lstrip().startswith((")", "]", "}", "#")):
            if has_header:
                return
            has_header = not source.lstrip().startswith("@")
        yield number, source, 0, len(source)


def _line(file: str, number: int) -> str:
    return linecache.getline(file, number).rstrip("\n")


def _indent(source: str) -> int:
    return len(source) - len(source.lstrip())


def _character_offset(source: str, column: int) -> int:
    """Convert a byte offset in a source line to a character offset."""
    return len(source.encode()[:column].decode(errors="ignore"))


class DesignError(KeyplanError):
    """Raised for an invalid declaration, for a pattern that DynamoDB cannot run, or for a table that it cannot create.

    `problem` describes the error, `place` is its location, and `fix` describes how to resolve it. `other` is the
    location of a conflicting declaration, and `code` is the code of the rule, if any.
    """

    def __init__(
        self, problem: str, *, place: Place, fix: str, other: Place | None = None, code: str | None = None
    ) -> None:
        self.problem, self.place, self.fix, self.other, self.code = problem, place, fix, other, code
        super().__init__(problem)

    def __str__(self) -> str:
        head = f"error[{self.code}]: {self.problem}" if self.code else f"error: {self.problem}"
        parts = [head, show_place(self.place)]
        if self.other is not None:
            parts += ["conflicts with", show_place(self.other)]
        parts.append(f"fix: {self.fix}")
        return "\n".join(parts)


def refuse(problem: str, fix: str) -> NoReturn:
    """Raise a DesignError with this problem and fix, at the line of the user code that called this package."""
    raise DesignError(problem, place=calling_place(), fix=fix)


@dataclass(frozen=True)
class Fault:
    """A reason why DynamoDB cannot create a table or run a pattern, found by static analysis."""

    code: str
    """The code of the rule that reports the fault, such as KP401."""
    problem: str
    fix: str
    place: Place
    other: Place | None = None

    def error(self) -> DesignError:
        """Return the fault as a DesignError."""
        return DesignError(self.problem, place=self.place, other=self.other, fix=self.fix, code=self.code)


def line_number(place: Place) -> int:
    """Return the line number of the text that a location marks."""
    return _find_text(place)[0]
