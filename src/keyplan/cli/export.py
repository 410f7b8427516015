"""The command `keyplan export`, which exports the tables of a design to infrastructure tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from keyplan.cli import export_iam
from keyplan.cli.designs import DesignName, Output, Prefix, refusal, write

if TYPE_CHECKING:
    from keyplan.design.declaring.design import Design
    from keyplan.design.declaring.tables import Table
    from keyplan.design.errors import Fault
    from keyplan.export.resources import TableResource

app = typer.Typer(
    help="Export a design as an infrastructure template, an IAM policy or a NoSQL Workbench model.",
    no_args_is_help=True,
)
app.command(name="iam")(export_iam.iam)
Checkpoints = Annotated[
    bool | None,
    typer.Option(
        "--checkpoints/--no-checkpoints",
        help="Include the table for consumer checkpoints. By default, it is included if the design declares consumers.",
    ),
]


@app.command()
def cloudformation(
    design: DesignName, output: Output = None, prefix: Prefix = "", *, checkpoints: Checkpoints = None
) -> None:
    """Write the tables as an AWS CloudFormation template in JSON format."""
    from keyplan.export.cloudformation import template  # noqa: PLC0415 - `keyplan --help` needs no designs

    loaded, tables = _resources("cloudformation", design, prefix, checkpoints=checkpoints)
    write("export cloudformation", template(loaded, tables), output)
    _print_notes(tables)


@app.command()
def terraform(
    design: DesignName, output: Output = None, prefix: Prefix = "", *, checkpoints: Checkpoints = None
) -> None:
    """Write the tables as a Terraform configuration in JSON syntax. Terraform requires a file name that ends in
    .tf.json.
    """
    from keyplan.export.terraform import configuration  # noqa: PLC0415 - as above

    loaded, tables = _resources("terraform", design, prefix, checkpoints=checkpoints)
    write("export terraform", configuration(loaded, tables), output)
    _print_notes(tables)


@app.command(name="cdk-json")
def cdk_json(
    design: DesignName, output: Output = None, prefix: Prefix = "", *, checkpoints: Checkpoints = None
) -> None:
    """Write the data model (dynamodb_data_model.json) from which the AWS DynamoDB MCP server generates a CDK app."""
    from keyplan.export.cdk_json import collisions, ignored_settings, model  # noqa: PLC0415 - as above

    loaded, tables = _resources("cdk-json", design, prefix, checkpoints=checkpoints, extra_faults=collisions)
    write("export cdk-json", model(loaded, tables), output)
    _print_notes(tables, ignored_settings(tables))


@app.command(name="nosql-workbench")
def nosql_workbench(design: DesignName, output: Output = None, prefix: Prefix = "") -> None:
    """Write a NoSQL Workbench data model with tables, indexes, and a facet with sample items for each entity."""
    from keyplan.export.nosql_workbench import model, notes  # noqa: PLC0415 - as above

    loaded, tables = _resources("nosql-workbench", design, prefix, checkpoints=False)
    write("export nosql-workbench", model(loaded, tables), output)
    _print_notes([], notes(tables))


def _resources(
    name: str,
    target: str,
    prefix: str,
    *,
    checkpoints: bool | None,
    extra_faults: Callable[[Sequence[Table]], Iterable[Fault]] = lambda _: (),
) -> tuple[Design, list[TableResource]]:
    """Return a design and its tables. Exit with 1 if a table cannot be created as it is declared.

    `extra_faults` returns further faults that prevent the export. Exit with 2 if `prefix` makes a table name invalid.
    """
    from keyplan.cli.designs import load  # noqa: PLC0415 - as above
    from keyplan.export.resources import is_prefix, obstacles, resources  # noqa: PLC0415

    design = load(target)
    tables = _tables_to_export(design, checkpoints=checkpoints)
    if not is_prefix(prefix, tables):
        raise refusal(f"keyplan export {name}: a table name cannot start with {prefix!r}")
    if problems := [*obstacles(tables), *extra_faults(tables)]:
        raise refusal("\n\n".join(str(fault.error()) for fault in problems), code=1)
    return design, resources(tables, prefix)


def _tables_to_export(design: Design, *, checkpoints: bool | None) -> list[Table]:
    """Return the design's tables and, if `checkpoints` is True, the table for the consumers' checkpoints.

    If `checkpoints` is None, the checkpoint table is included if a table in the design declares consumers.
    """
    from keyplan.streams.checkpoints_table import DEFAULT_NAME, checkpoint_table  # noqa: PLC0415 - as above

    tables = list(design.tables)
    if checkpoints is None:
        checkpoints = any(table.consumers for table in tables)
    if checkpoints and all(table.name != DEFAULT_NAME for table in tables):
        tables.append(checkpoint_table())
    return tables


def _print_notes(tables: Sequence[TableResource], more_notes: Iterable[str] = ()) -> None:
    """Print notes on declared properties that the exported files do not contain.

    `more_notes` contains additional notes to print.
    """
    from keyplan.export.resources import omitted_settings  # noqa: PLC0415 - as above

    for note in (*omitted_settings(tables), *_unread_streams(tables), *more_notes):
        typer.echo(f"note: {note}", err=True)


def _unread_streams(tables: Sequence[TableResource]) -> Iterable[str]:
    """Return a note for each table with a stream but without a declared consumer.

    The result is empty if the checkpoint table is included.
    """
    from keyplan.streams.checkpoints_table import DEFAULT_NAME  # noqa: PLC0415 - as above

    if any(resource.table.name == DEFAULT_NAME for resource in tables):
        return []
    return [
        f"table {resource.table.name} has a stream but no declared consumer:"
        f" use --checkpoints to include the table {DEFAULT_NAME}"
        for resource in tables
        if resource.table.schema.stream is not None and not resource.table.consumers
    ]
