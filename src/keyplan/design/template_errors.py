"""What can be wrong with a template, and with a value that is to go into one."""

from __future__ import annotations

from typing import Any


class TemplateError(ValueError):
    """A template has no meaning: bad syntax, an unknown field, or a field its spec cannot take.

    `position` is the offset in `text` of the first character at fault, `fix` says what to write instead.
    """

    def __init__(self, text: str, position: int, problem: str, fix: str) -> None:
        super().__init__(f"{problem} (at {position} of {text!r}): {fix}")
        self.text = text
        self.position = position
        self.problem = problem
        self.fix = fix


class EncodingError(ValueError):
    """A spec cannot take a field; the template that wrote it adds the place (TemplateError)."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"{problem}: {fix}")
        self.problem = problem
        self.fix = fix


class KeyValueError(ValueError):
    """A value cannot become part of a key. `delimiter` is set when it would forge another key."""

    def __init__(self, field: str, value: Any, problem: str, delimiter: str | None = None) -> None:
        super().__init__(f"{field}={value!r} cannot be part of a key: {problem}")
        self.field = field
        self.value = value
        self.problem = problem
        self.delimiter = delimiter


class MissingField(KeyError):  # noqa: N818  named for the state it reports, as LookupErrors of a key are read
    """A key needs a field that has no value."""

    def __init__(self, field: str, template: str = "") -> None:
        super().__init__(field)
        self.field = field
        self.template = template

    def __str__(self) -> str:
        where = f" of the key {self.template!r}" if self.template else ""
        return f"the field {self.field!r}{where} has no value"
