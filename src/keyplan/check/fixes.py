"""Automatic fixes for findings. A fix edits the source code of a design, for example to enable deletion protection.

An edit adds or changes one option in the call that declares a table or an index. The rest of the file does not change.
The edit is refused if the call cannot be found or the current value of the option is not a literal.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from pathlib import Path

from keyplan.check.checking import Report
from keyplan.check.finding import Finding
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.declaring.design import Design
from keyplan.design.errors import Place
from keyplan.design.planning.indexes import fetched_attributes, missing_in_plan, range_faults
from keyplan.design.planning.plan import Plan

_FLAGS = {"KP806": "point_in_time_recovery", "KP807": "deletion_protection"}
"""The table option to set to True in order to fix a finding, by rule code."""
_PROJECTIONS = frozenset({"KP306", "KP307"})
_IGNORED_TOKENS = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
_Span = tuple[int, int, int, int]
"""A range of source code: first line, last line, first column and the column after the last. Columns are in bytes."""
_Site = tuple[str, _Span | int]
"""The location of a declaration in the source code: the file, and the span of its call or, if this is unknown, its line
number.
"""


@dataclass(frozen=True)
class OptionChange:
    """A change to an option in the call that declares a table or an index."""

    finding: Finding
    declared: str
    """The table or index whose declaration is changed, such as "table app"."""
    place: Place
    option: str
    attributes: tuple[str, ...] = ()
    """The attributes to add to a list option, such as a projection. If empty, the option is set to True."""

    def __str__(self) -> str:
        value = f"project {', '.join(self.attributes)}" if self.attributes else f"{self.option}=True"
        return f"{self.finding.code} {self.place}: {self.declared}: {value}"


@dataclass(frozen=True)
class FileEdit:
    """The contents of a file before and after its edits."""

    path: Path
    before: bytes
    after: bytes

    def diff(self) -> str:
        """Return the edits to the file as a unified diff."""
        name = str(self.path.relative_to(Path.cwd())) if self.path.is_relative_to(Path.cwd()) else str(self.path)
        before, after = ([*_lines(_text(contents)[0])] for contents in (self.before, self.after))
        lines = unified_diff(before, after, name, name)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True)
class Fixes:
    """The edits to source files that fix findings, the changes to declarations that the edits make, and the changes
    that cannot be made.
    """

    edits: tuple[FileEdit, ...]
    applied: tuple[OptionChange, ...]
    refused: tuple[tuple[OptionChange, str], ...]
    """The changes to the source code that cannot be made, each with the reason."""

    def write(self) -> None:
        """Write the edited files. Raises OSError if a file cannot be written."""
        for edit in self.edits:
            edit.path.write_bytes(edit.after)


class _RefusedError(Exception):
    """Raised if a change to the source code cannot be made. The message is the reason."""


def plan_fixes(reports: Iterable[tuple[Design, Report]]) -> Fixes:
    """Return the edits to source files that fix the findings in the reports. The files are not written."""
    files: dict[str, list[OptionChange]] = {}
    shared: Counter[_Site] = Counter()
    for design, report in reports:
        shared |= Counter(_site(place) for place in _declarations(design))
        for finding in report.findings:
            for change in (
                change for merged_finding in (finding, *finding.alike) for change in _changes(design, merged_finding)
            ):
                files.setdefault(change.place.file, []).append(change)
    applicable: list[OptionChange] = []
    refused: list[tuple[OptionChange, str]] = []
    edits = []
    for name, changes in files.items():
        source = None
        for change in _merge_changes(changes):
            try:
                if (count := shared[_site(change.place)]) > 1:
                    raise _RefusedError(f"one call declares {count} tables or indexes")
                source = source or _Source.read(name)
                source.apply(change)
                applicable.append(change)
            except _RefusedError as error:
                refused.append((change, str(error)))
        if source is not None and source.replacements:
            edits.append(source.edited())
    return Fixes(tuple(edits), tuple(applicable), tuple(refused))


def _declarations(design: Design) -> Iterator[Place]:
    for table in design.tables:
        yield table.schema.place
        yield from (index.place for index in table.schema.indexes)


def _site(place: Place) -> _Site:
    span = place.call_site.span() if place.call_site is not None else None
    return place.file, span or place.line


def _merge_changes(changes: Iterable[OptionChange]) -> list[OptionChange]:
    """Merge changes to the same option of a call into one change that adds all their attributes."""
    merged: dict[tuple[_Site, str], OptionChange] = {}
    for change in changes:
        key = _site(change.place), change.option
        earlier = merged.get(key, change)
        attributes = tuple(dict.fromkeys((*earlier.attributes, *change.attributes)))
        merged[key] = replace(earlier, attributes=attributes)
    return list(merged.values())


def _changes(design: Design, finding: Finding) -> Iterator[OptionChange]:
    if finding.code in _FLAGS:
        yield OptionChange(finding, f"table {finding.subject}", finding.place, _FLAGS[finding.code])
    elif finding.code in _PROJECTIONS:
        for pattern in design.patterns:
            index = pattern.plan.index
            if pattern.name != finding.subject or index is None or index.project in {"all", None}:
                continue
            if attributes := tuple(dict.fromkeys(_unprojected_attributes(pattern.plan))):
                yield OptionChange(finding, f"index {index.name}", index.place, "project", attributes)


def _unprojected_attributes(plan: Plan) -> Iterator[str]:
    """Yield the attributes that a pattern needs from an index, but that the index does not project."""
    index = plan.index
    if index is None:
        return
    yield from fetched_attributes(plan)
    for entity in plan.entities:
        compared = {path.field for condition in (plan.filter, plan.residue) for path in paths_of(condition)}
        read = set(missing_in_plan(plan, entity)) if plan.select != "count" else set()
        for name, stored_field in entity.fields.items():
            if name in read | compared and not index.projects(stored_field.attribute, plan.schema.key):
                yield stored_field.attribute
    if range_faults(plan) and plan.schema.discriminator is not None:
        yield plan.schema.discriminator


@dataclass
class _Source:
    """The source code of a Python file, with the replacements to make in it."""

    path: Path
    contents: bytes
    text: str
    encoding: str
    tree: ast.Module
    starts: list[int]
    """The offset of each line in `text`."""
    replacements: list[tuple[int, int, str]] = field(default_factory=list)
    """Start offset, end offset and new text of each replacement. Offsets refer to the original text."""

    @classmethod
    def read(cls, name: str) -> _Source:
        path = Path(name)
        if not path.is_file():
            raise _RefusedError("its source is not a file")
        if {"site-packages", "dist-packages"} & set(path.parts):
            raise _RefusedError("it belongs to an installed package")
        try:
            contents = path.read_bytes()
            text, encoding = _text(contents)
            tree = ast.parse(text)
        except (OSError, SyntaxError, UnicodeError) as error:
            raise _RefusedError(f"its source cannot be read: {error}") from None
        starts = [0]
        for line in _lines(text):
            starts.append(starts[-1] + len(line))
        return cls(path, contents, text, encoding, tree, starts)

    def edited(self) -> FileEdit:
        """Return the edited file. Replacements at the same offset are made in the order in which they were added."""
        parts, end = [], 0
        for start, stop, new in sorted(self.replacements, key=lambda edit: edit[:2]):
            parts += [self.text[end:start], new]
            end = stop
        return FileEdit(self.path, self.contents, "".join([*parts, self.text[end:]]).encode(self.encoding))

    def apply(self, change: OptionChange) -> None:
        """Add the replacements that make a change. Raises _RefusedError if the change cannot be made."""
        call = self._call(change.place)
        keyword = next((argument for argument in call.keywords if argument.arg == change.option), None)
        if keyword is None and any(argument.arg is None for argument in call.keywords):
            raise _RefusedError("its options are passed with **")
        if not {"pk", "sk"} & {
            argument.arg for argument in call.keywords
        }:  # a wrapper of the declaration, such as exec or partial
            raise _RefusedError("its call does not name the key")
        if change.attributes:
            self._add_attributes(keyword.value if keyword is not None else None, change.attributes)
        elif keyword is None:
            self._insert(call, [*call.args, *call.keywords], f"{change.option}=True")
        elif isinstance(keyword.value, ast.Constant) and keyword.value.value is False:
            self._replace(keyword.value, "True")
        else:
            raise _RefusedError(f"{change.option} is not a literal")

    def _call(self, place: Place) -> ast.Call:
        """Return the call that declares the object at a source location. Raises _RefusedError if the call
        is not found.
        """
        span = place.call_site.span() if place.call_site is not None else None
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and span == _span(node):
                return node
        raise _RefusedError("its call is not found in the source")

    def _add_attributes(self, value: ast.expr | None, attributes: Sequence[str]) -> None:
        literals = [self._string_literal(name, value) for name in attributes]
        if isinstance(value, ast.Constant) and value.value == "keys":
            self._replace(value, f"[{', '.join(literals)}]")
        elif isinstance(value, (ast.List, ast.Tuple)) and all(_is_text(element) for element in value.elts):
            self._insert(value, value.elts, *literals)
        else:
            raise _RefusedError("project is not a literal")

    def _string_literal(self, name: str, example: ast.expr | None) -> str:
        """Return a name as a string literal. The quotes are the same as those of the string literals in the expression
        `example`.
        """
        texts = [node for node in ast.walk(example) if _is_text(node)] if example is not None else []
        quote = self.text[self._start(texts[0])] if texts else '"'
        return f"{quote}{name}{quote}" if quote in {"'", '"'} and name.isidentifier() else repr(name)

    def _replace(self, node: ast.expr, new: str) -> None:
        self.replacements.append((self._start(node), self._end(node), new))

    def _insert(self, node: ast.expr, children: Sequence[ast.expr | ast.keyword], *new: str) -> None:
        """Insert elements after the last element of a call or list.

        If the closing bracket is on a separate line, each new element is on a separate line too.
        """
        start = self._start(node)
        tokens = _tokens(self.text[start : self._end(node)])
        last, closing = [token for token in tokens if token.type not in _IGNORED_TOKENS][-2:]
        at = start + last.end
        if last.text != ",":
            self.replacements.append((at, at, "".join(f", {argument}" for argument in new)))
        elif last.line == closing.line:
            ending = "" if isinstance(node, ast.Tuple) and len(children) == 1 else ","
            self.replacements.append((at, at, f" {', '.join(new)}{ending}"))
        else:
            behind = [token for token in tokens if token.type == tokenize.COMMENT and token.line == last.line]
            at = start + behind[-1].end if behind else at
            lead = self._line_ending() + self._indent(max(children, key=self._start))
            self.replacements.append((at, at, "".join(f"{lead}{argument}," for argument in new)))

    def _line_ending(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _indent(self, node: ast.expr | ast.keyword) -> str:
        line = self.text[self.starts[node.lineno - 1] : self.starts[node.lineno]]
        return line[: len(line) - len(line.lstrip())]

    def _start(self, node: ast.AST) -> int:
        return self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _offset(self, line: int, column: int) -> int:
        """Convert a line and a column in bytes to an offset in characters."""
        start = self.starts[line - 1]
        return start + len(self.text[start : self.starts[line]].encode()[:column].decode())


def _span(node: ast.expr) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _text(contents: bytes) -> tuple[str, str]:
    """Decode the contents of a Python file without changing its line endings. Return the text and its encoding."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(contents).readline)
    return contents.decode(encoding), encoding


def _lines(text: str) -> list[str]:
    """Split text into lines in the same way as the Python parser, with their line endings."""
    return io.StringIO(text, newline="").readlines()


@dataclass(frozen=True)
class _Token:
    type: int
    text: str
    line: int
    end: int
    """The offset after the last character of the token."""


def _tokens(expression: str) -> list[_Token]:
    wrapped = f"({expression})"
    starts = [0]
    for line in _lines(wrapped):
        starts.append(starts[-1] + len(line))
    tokens = [
        _Token(token.type, token.string, token.end[0], starts[token.end[0] - 1] + token.end[1] - 1)
        for token in tokenize.generate_tokens(io.StringIO(wrapped, newline="").readline)
        if token.type != tokenize.ENDMARKER
    ]
    outer = [position for position, token in enumerate(tokens) if token.type not in _IGNORED_TOKENS][-1]
    return tokens[1:outer]
