"""Source locations of declarations, and the errors and faults that show them: file, line, caret, fix.

Every declaration keeps its place, so that an error or a finding can point at it and at the declaration that it
conflicts with.
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

_OWN_FRAMES = (
    *(str(Path(__file__).parent.parent / name) + os.sep for name in ("design", "client")),
    str(Path(pydantic.__file__).parent) + os.sep,
    "<string>",
)
"""Starts of file names whose frames are never the place of a declaration or call; dataclasses generate "<string>"."""
_LINES_OF_A_DECLARATION = 40


@dataclass(frozen=True)
class CallSite:
    """The instruction that made a declaration, from which the text of the call can be found."""

    code: CodeType
    instruction: int
    """Its offset in bytes."""

    def span(self) -> tuple[int, int, int, int] | None:
        """Return first line, last line, first column and the column after the last, in bytes; None if not available."""
        position = next(islice(self.code.co_positions(), self.instruction // 2, None), None)
        if position is None:
            return None
        line, end_line, column, end_column = position
        if line is None or end_line is None or column is None or end_column is None:
            return None
        return line, end_line, column, end_column


@dataclass(frozen=True)
class Place:
    """A line of a file, and the text on it that is marked."""

    file: str
    line: int
    """The line number from 1; 0 if it is unknown."""
    text: str = ""
    """The text that the caret marks; empty for the whole line."""
    offset: int = 0
    """The offset of the caret in `text`."""
    width: int = 0
    """The number of characters that it marks; 0 for the rest of `text`."""
    running: CallSite | None = field(default=None, compare=False, repr=False)
    """The call that made the declaration; used only when the place is shown."""

    def at(self, text: str, offset: int = 0, width: int = 0) -> Place:
        """Return the same declaration, pointing at a text in it."""
        return replace(self, text=text, offset=offset, width=width)

    def __str__(self) -> str:
        return f"{self.shown_file}:{self.line}"

    @property
    def shown_file(self) -> str:
        """The file, relative to the current folder if it lies below."""
        try:
            return str(Path(self.file).relative_to(Path.cwd()))
        except (OSError, ValueError):  # in another folder, or the current one is deleted
            return self.file


UNKNOWN_PLACE = Place("<unknown>", 0)


def _frame() -> FrameType:
    frame = sys._getframe(2)  # the caller of the public function
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FRAMES):
        frame = frame.f_back
    return frame


def calling_place() -> Place:
    """Return the place of the code that called into the design language or a connection."""
    frame = _frame()
    return Place(frame.f_code.co_filename, frame.f_lineno, running=CallSite(frame.f_code, frame.f_lasti))


def traceback_place(traceback: TracebackType | None, file: str) -> Place | None:
    """Return the innermost line of a file in a traceback."""
    place = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == file:
            place = Place(file, traceback.tb_lineno, running=CallSite(code, traceback.tb_lasti))
        traceback = traceback.tb_next
    return place


def calling_names() -> dict[str, Any]:
    """Return the local names at the declaration, for annotations of functions that are declared inside a function."""
    return dict(_frame().f_locals)


def function_place(function: Callable[..., Any]) -> Place:
    """Return the place of a function's definition."""
    code = function.__code__
    return Place(code.co_filename, code.co_firstlineno, f"def {function.__name__}")


def show_place(place: Place) -> str:
    """Return the place as compilers show it: location, line, and a caret below."""
    number, source, column, width = _find(place)
    if not source:
        return f"  --> {place}"
    margin = " " * len(str(number))
    lines = [f" {margin}--> {place.shown_file}:{number}", f" {margin} |", f" {number} | {source}"]
    before = "".join("\t" if character == "\t" else " " for character in source[:column])
    lines.append(f" {margin} | {before}{'^' * max(1, width)}")
    return "\n".join(lines)


def _find(place: Place) -> tuple[int, str, int, int]:
    """Return the line that holds the place's text: number, source, column and width of the caret."""
    if place.text:
        looked_for = _as_a_word(place.text)
        for number, source, start, end in _lines(place):
            match = looked_for.search(source, start, end)
            if match is not None:
                return number, source, match.start() + place.offset, place.width or len(place.text) - place.offset
    return _find_call(place)


def _as_a_word(text: str) -> re.Pattern[str]:
    """Return a pattern that matches a text, but not as part of a longer name."""
    before = r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", text) else ""
    return re.compile(before + re.escape(text) + after)


def _find_call(place: Place) -> tuple[int, str, int, int]:
    """Return the first line of the declaration, with the call marked if it is known."""
    span = place.running.span() if place.running is not None else None
    number = place.line if span is None else span[0]
    source = _line(place.file, number)
    if span is None:
        indent = len(source) - len(source.lstrip())
        return number, source, indent, len(source) - indent
    start = _characters(source, span[2])
    end = _characters(source, span[3]) if span[0] == span[1] else len(source)
    return number, source, start, end - start


def _lines(place: Place) -> Iterator[tuple[int, str, int, int]]:
    """Yield the lines of a declaration: number, source, first and last column that belong to it."""
    span = place.running.span() if place.running is not None else None
    if span is None:
        for number in range(place.line, place.line + _LINES_OF_A_DECLARATION):
            source = _line(place.file, number)
            yield number, source, 0, len(source)
        return
    line, end_line, column, end_column = span
    for number in range(line, end_line + 1):
        source = _line(place.file, number)
        start = _characters(source, column) if number == line else 0
        yield number, source, start, _characters(source, end_column) if number == end_line else len(source)
    if _line(place.file, line).lstrip().startswith("@"):
        yield from _decorated(place.file, line, end_line)


def _decorated(file: str, line: int, end_line: int) -> Iterator[tuple[int, str, int, int]]:
    """Yield the lines of a decorated definition: further decorators, the head, and the indented lines below."""
    indent = _indent(_line(file, line))
    headed = False
    for number, text in enumerate(islice(linecache.getlines(file), end_line, None), end_line + 1):
        source = text.rstrip("\n")
        if source.strip() and _indent(source) <= indent and not source.lstrip().startswith((")", "]", "}", "#")):
            if headed:
                return
            headed = not source.lstrip().startswith("@")
        yield number, source, 0, len(source)


def _line(file: str, number: int) -> str:
    return linecache.getline(file, number).rstrip("\n")


def _indent(source: str) -> int:
    return len(source) - len(source.lstrip())


def _characters(source: str, column: int) -> int:
    """Convert a column in bytes to a column in characters."""
    return len(source.encode()[:column].decode(errors="ignore"))


class DesignError(KeyplanError):
    """An invalid declaration, or a pattern or table that cannot work.

    `problem`: what is wrong; `place`: where; `other`: the conflicting declaration; `fix`: what to do; `code`: the rule,
    if any.
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
    """Raise DesignError at the line that called into the design language."""
    raise DesignError(problem, place=calling_place(), fix=fix)


@dataclass(frozen=True)
class Fault:
    """A reason why a table or a pattern cannot work, found without running it."""

    code: str
    """The rule's code, such as KP401."""
    problem: str
    fix: str
    place: Place
    other: Place | None = None

    def error(self) -> DesignError:
        """Return the fault as an exception."""
        return DesignError(self.problem, place=self.place, other=self.other, fix=self.fix, code=self.code)


def line_number(place: Place) -> int:
    """Return the number of the line that is marked."""
    return _find(place)[0]
