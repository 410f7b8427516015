"""Functions that load JSON and YAML files, and detect the kind of a document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from keyplan.importers.nodes import ImportSourceError

CLOUDFORMATION = "a CloudFormation template"
DESCRIBE_TABLE = "output of aws dynamodb describe-table"
ELECTRODB = "a schema of ElectroDB"
WORKBENCH = "a NoSQL Workbench model"

_HINTS: tuple[tuple[str, str], ...] = (
    ("ModelName", f"{WORKBENCH}: keyplan import nosql-workbench"),
    ("DataModel", f"{WORKBENCH}: keyplan import nosql-workbench"),
    ("Resources", f"{CLOUDFORMATION}: keyplan import cloudformation"),
    ("AWSTemplateFormatVersion", f"{CLOUDFORMATION}: keyplan import cloudformation"),
    ("indexes", f"{ELECTRODB}: keyplan import electrodb"),
    ("resources", "a serverless.yml: import the template that `serverless package` generates"),
    ("planned_values", "a Terraform plan: import the table itself, keyplan import describe-table --from aws://region"),
    ("Table", f"{DESCRIBE_TABLE}: keyplan import describe-table"),
    ("TableDescription", f"{DESCRIBE_TABLE}: keyplan import describe-table"),
    ("TableStatus", f"{DESCRIBE_TABLE}: keyplan import describe-table"),
    ("TableNames", "output of aws dynamodb list-tables, which contains only names"),
)
"""Pairs of a member that identifies an unexpected kind of document, and a hint for the error message.

The hint names the kind of document and the command that imports it.
"""


@dataclass(frozen=True)
class Document:
    """A document that was loaded from a file."""

    name: str
    """The name of the file, for use in messages."""
    value: Any

    def member(self, name: str) -> Any:
        """Return a member of the document. Return None if it does not exist or if the document is not a mapping."""
        return self.value.get(name) if isinstance(self.value, Mapping) else None


def documents(name: str, text: str) -> list[Document]:
    """Return the documents in a file, which contains YAML or one or more JSON documents.

    `name` is the name of the file, and `text` is its content. Raises ImportSourceError if the text cannot be parsed.
    """
    file_name = PurePath(name).name or name
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise ImportSourceError(f"{file_name} is empty")
    try:
        if text.lstrip()[0] in "{[":
            return [Document(file_name, value) for value in _json(file_name, text)]
        from keyplan.importers.yaml_text import load  # noqa: PLC0415 - PyYAML is an extra

        return [Document(file_name, load(file_name, text))]
    except RecursionError:
        raise ImportSourceError(f"{file_name} is nested too deeply to be read") from None


def _json(name: str, text: str) -> Iterator[Any]:
    """Yield the JSON values in a text, such as the combined output of several AWS CLI commands."""
    decoder, position = json.JSONDecoder(), 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        try:
            value, position = decoder.raw_decode(text, position)
        except ValueError as error:  # also an integer with more digits than Python accepts
            location = (
                f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
            )
            message = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise ImportSourceError(f"{name} is not JSON: {message}{location}") from None
        yield value


def wrong_document_error(expected_kind: str, document: Document) -> ImportSourceError:
    """Return the error for a document that is not of the kind `expected_kind`, such as "a NoSQL Workbench model"."""
    keys = document.value if isinstance(document.value, Mapping) else {}
    hint = next((text for member, text in _HINTS if member in keys and not text.startswith(expected_kind)), None)
    description = f"it looks like {hint}" if hint else f"it is {_description(document.value)}"
    return ImportSourceError(f"{document.name} is not {expected_kind}: {description}")


def _description(value: Any) -> str:
    if isinstance(value, Mapping):
        names_text = ", ".join(str(key) for key in list(value)[:4])
        return f"a mapping with {names_text}{', ...' if len(value) > 4 else ''}" if value else "an empty mapping"
    return f"a list of {len(value)}" if isinstance(value, list) else f"only the text {str(value)[:40]!r}"
