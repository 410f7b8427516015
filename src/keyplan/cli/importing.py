"""The command `keyplan import`, which generates a design from existing tables, templates, models or schemas."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyplan.cli.designs import Output, refusal, write
from keyplan.errors import KeyplanError

if TYPE_CHECKING:
    from keyplan.importers.documents import Document
    from keyplan.importers.schemas import ImportSource, SourceTable

app = typer.Typer(
    help="Generate an initial design from existing tables, templates, models or schemas.", no_args_is_help=True
)
Files = Annotated[list[str], typer.Argument(help="JSON or YAML files, or - for standard input.", show_default=False)]
Sources = Annotated[list[str], typer.Argument(help="Python files, or - for standard input.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", metavar="NAME=VALUE", help="Value of a template parameter. Can be repeated."),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from", help="Database to read the tables from, such as aws://eu-west-1, http://host:port or data.db."
    ),
]
Described = Annotated[
    list[str] | None,
    typer.Argument(
        help="JSON files, or - for standard input. With --from, pass table names instead of files. Without names, all "
        "tables are imported."
    ),
]


@app.command()
def cloudformation(files: Files, parameter: Parameters = None, output: Output = None, force: Force = False) -> None:
    """Import tables and stream consumers from CloudFormation, SAM or synthesized CDK templates."""
    from keyplan.importers.cloudformation import cloudformation as tables  # noqa: PLC0415 - keeps `keyplan --help` fast

    def import_source() -> ImportSource:
        return tables(_documents(files), dict(map(_parameter, parameter or [])))

    _write("cloudformation", import_source, output, force=force)


@app.command(name="describe-table")
def describe_table(files: Described = None, from_: From = None, output: Output = None, force: Force = False) -> None:
    """Import existing tables from AWS CLI output, a DynamoDB endpoint or a database file.

    Also accepts the output of describe-time-to-live, describe-continuous-backups and list-tags-of-resource. Pass it
    after the describe-table output for the same table.
    """
    from keyplan.importers.describe_table import describe_table as tables  # noqa: PLC0415 - as above

    def import_source() -> ImportSource:
        if from_ is not None:
            from keyplan.importers.describe_table import fetch_descriptions  # noqa: PLC0415 - as above

            return tables(fetch_descriptions(from_, files or []))
        return tables(_documents(files or []))

    _write("describe-table", import_source, output, force=force)


@app.command(name="nosql-workbench")
def nosql_workbench(files: Files, output: Output = None, force: Force = False) -> None:
    """Import NoSQL Workbench data models. Entities are derived from facets or from the keys of sample items."""
    from keyplan.importers.nosql_workbench import nosql_workbench as tables  # noqa: PLC0415 - as above

    _write("nosql-workbench", lambda: tables(_documents(files)), output, force=force)


@app.command()
def pynamodb(files: Sources, output: Output = None, force: Force = False) -> None:
    """Import PynamoDB models from Python files. The files are parsed, not executed."""
    from keyplan.importers.pynamodb import pynamodb as tables  # noqa: PLC0415 - as above

    _write("pynamodb", lambda: tables([(_display_name(name), _text(name)) for name in files]), output, force=force)


@app.command()
def electrodb(
    files: Files,
    table: Annotated[str | None, typer.Option("--table", help="Table name, if the schemas do not specify it.")] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Import ElectroDB schemas from JSON or YAML files that contain entities, lists of entities, or services."""
    from keyplan.importers.electrodb import electrodb as tables  # noqa: PLC0415 - as above

    _write("electrodb", lambda: tables(_documents(files), table), output, force=force)


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise KeyplanError(f"--parameter {text}: write it as NAME=VALUE")
    return name, value


def _documents(files: Sequence[str]) -> list[Document]:
    from keyplan.importers.documents import documents  # noqa: PLC0415 - as above

    if not files:
        raise KeyplanError("missing argument: pass a file name, or - for standard input")
    return [document for name in files for document in documents(_display_name(name), _text(name))]


def _display_name(name: str) -> str:
    return "standard input" if name == "-" else name


def _text(name: str) -> str:
    if name == "-" and sys.stdin is None:  # in a process that was started without standard input
        raise KeyplanError("standard input is closed")
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return content.decode()
    except OSError as error:
        raise KeyplanError(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise KeyplanError(f"{name} is not UTF-8 text") from None


def _notes(table: SourceTable) -> Iterator[str]:
    """Yield notes on table settings that the generated design omits, and on assumptions that it contains."""
    yield from (*table.gaps, *table.guesses)
    for consumer in table.consumers:
        yield from (f"{consumer.name}: {gap}" for gap in consumer.gaps)


def _write(name: str, import_source: Callable[[], ImportSource], output: Path | None, *, force: bool) -> None:
    """Write or print the design that is generated from a source, and print which settings it omits.

    `import_source` returns the imported source. Exit with an error if the import fails.
    """
    from keyplan.importers.writing import design_text  # noqa: PLC0415 - as above

    if output is not None and output.exists() and not force:
        raise refusal(f"keyplan import {name}: {output} already exists: use --force to overwrite it")
    try:
        source = import_source()
        text = design_text(source)
    except KeyplanError as error:
        raise refusal(f"keyplan import {name}: {error}") from None
    except RecursionError:
        raise refusal(f"keyplan import {name}: a table definition is nested too deeply") from None
    table_notes = (f"{table.name}: {note}" for table in source.tables for note in _notes(table))
    for gap in (*source.gaps, *table_notes):
        typer.echo(f"keyplan import {name}: {gap}", err=True)
    write(f"import {name}", text, output)
