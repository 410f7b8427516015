"""The command `keyplan export iam`, which writes a least-privilege policy for programs that run a design's patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyplan.cli.designs import DesignName, Output, Prefix, refusal, write

if TYPE_CHECKING:
    from keyplan.design.declaring.design import Design
    from keyplan.design.declaring.patterns import Pattern
    from keyplan.design.declaring.tables import Table
    from keyplan.export.iam import Account, Grant
    from keyplan.export.iam_keys import Bindings

_OPTIONS = {
    "region": re.compile(r"\*|[a-z]{2}(-[a-z]+)+-[0-9]+"),
    "account": re.compile(r"\*|[0-9]{12}"),
    "partition": re.compile(r"aws(-[a-z]+)*"),
}
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--pattern",
        help="Allow only this access pattern. Can be repeated. If omitted, all patterns and consumers are allowed.",
    ),
]
Bind = Annotated[
    list[str] | None,
    typer.Option(
        "--bind",
        help="PARAMETER=VARIABLE: allow requests only if the partition key value supplied by this pattern parameter "
        "equals this IAM policy variable, for example user_id='${aws:userid}'. Can be repeated.",
    ),
]


def iam(
    design: DesignName,
    output: Output = None,
    pattern: Names = None,
    bind: Bind = None,
    prefix: Prefix = "",
    *,
    region: Annotated[str, typer.Option("--region", help="AWS region of the tables. * allows any region.")] = "*",
    account: Annotated[str, typer.Option("--account", help="AWS account of the tables. * allows any account.")] = "*",
    partition: Annotated[str, typer.Option("--partition", help="AWS partition of the tables, such as aws-cn.")] = "aws",
    consumers: Annotated[
        bool | None,
        typer.Option(
            "--consumers/--no-consumers",
            help="Allow reading the streams of all tables (--consumers) or of none (--no-consumers). By default, "
            "allows reading only the streams used by the design's consumers, or none if --pattern is given.",
        ),
    ] = None,
    checkpoints: Annotated[
        bool,
        typer.Option(
            "--checkpoints/--no-checkpoints", help="Allow access to the table that stores consumer checkpoints."
        ),
    ] = True,
    describe: Annotated[
        bool,
        typer.Option(
            "--describe", help="Also allow the requests needed to compare existing tables with their declarations."
        ),
    ] = False,
    create: Annotated[
        bool,
        typer.Option("--create", help="Also allow creating the tables and enabling TTL and point-in-time recovery."),
    ] = False,
    split: Annotated[
        bool,
        typer.Option("--split", help="Write several files if the policy exceeds the size limit of a managed policy."),
    ] = False,
) -> None:
    """Write an IAM policy that allows only the requests that the design's patterns and consumers send."""
    from keyplan.cli.designs import load  # noqa: PLC0415
    from keyplan.export.iam import of_checks, of_creation, policies, policy, size  # noqa: PLC0415
    from keyplan.export.iam_keys import BindError, Bindings, principal_value  # noqa: PLC0415
    from keyplan.streams.checkpoints_table import checkpoint_table  # noqa: PLC0415 - `keyplan --help` needs no designs

    loaded = load(design)
    arn_account = _account(loaded, prefix, region=region, account=account, partition=partition)
    if split and output is None:
        raise refusal("keyplan export iam: --split writes files: add --output FILE")
    patterns = _selected_patterns(loaded, pattern or [])
    bindings = Bindings({name: principal_value(value) for name, value in _parse_bindings(bind or [])})
    try:
        grants = list(_pattern_grants(patterns, bindings))
    except BindError as error:
        raise refusal(f"keyplan export iam: {error}") from None
    runs_consumers = not pattern if consumers is None else consumers
    grants_of_table = of_creation if create else of_checks if describe else _no_grants
    grants += [grant for table in loaded.tables for grant in grants_of_table(table)]
    if runs_consumers:
        read_tables = _read_streams(loaded, any_stream=bool(consumers))
        grants += _consumer_grants(loaded, read_tables, prefix, checkpoints=checkpoint_table() if checkpoints else None)
        grants += grants_of_table(checkpoint_table()) if checkpoints and read_tables else ()
    if not grants:
        raise refusal("keyplan export iam: no permissions to grant: no valid pattern or consumer is selected", code=1)
    policy_document = policy(grants, arn_account)
    documents = policies(grants, arn_account) if split else [policy_document]
    _write(documents, output)
    _print_size(size(policy_document), [size(document) for document in documents])


def _note(text: str) -> None:
    typer.echo(f"note: {text}", err=True)


def _account(design: Design, prefix: str, **options: str) -> Account:
    """Return the Region, account and table prefix for ARNs. Exit with 2 for a value that is invalid in an ARN."""
    from keyplan.export.iam import Account  # noqa: PLC0415 - as above
    from keyplan.export.resources import is_prefix  # noqa: PLC0415

    for option, value in options.items():
        if not _OPTIONS[option].fullmatch(value):
            raise refusal(f"keyplan export iam: --{option} {value!r} is not valid in an ARN")
    if not is_prefix(prefix, design.tables):
        raise refusal(f"keyplan export iam: a table name cannot start with {prefix!r}")
    return Account(options["region"], options["account"], options["partition"], prefix)


def _selected_patterns(design: Design, names: Sequence[str]) -> list[Pattern[..., Any]]:
    """Return the patterns with the given names or, if `names` is empty, all patterns.

    A pattern with faults is omitted, and a note is printed.
    """
    from keyplan.cli.designs import pattern_of  # noqa: PLC0415 - as above
    from keyplan.design.planning.indexes import all_faults  # noqa: PLC0415

    for name in names:
        pattern_of("export iam", design, name)
    requested = []
    for pattern in design.patterns:
        if names and pattern.name not in names:
            continue
        if faults := all_faults(pattern.plan):
            _note(f"{pattern.name} has a fault and gets no permissions: {faults[0].code}, {faults[0].problem}")
        else:
            requested.append(pattern)
    return requested


def _parse_bindings(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            example = "user_id='${aws:PrincipalTag/user_id}'"
            raise refusal(f"keyplan export iam: --bind {text!r} has no value: write --bind {example}")
        yield name, value


def _pattern_grants(patterns: Sequence[Pattern[..., Any]], bindings: Bindings) -> Iterator[Grant]:
    """Yield the permissions for patterns, and print notes about them.

    If `bindings` is not empty, a note lists the patterns that can still access the partitions of every principal. Exit
    with 2 if a binding is not used by any pattern.
    """
    from keyplan.export.iam import of_pattern  # noqa: PLC0415 - as above

    by_pattern = {pattern.name: list(of_pattern(pattern, bindings)) for pattern in patterns}
    all_grants = [grant for grants in by_pattern.values() for grant in grants]
    used_names = {name for grant in all_grants for name in grant.leading.bound}
    if unused := [name for name in bindings.values if name not in used_names]:
        raise refusal(
            f"keyplan export iam: no partition key of these patterns contains {', '.join(unused)}, so it cannot be"
            " bound"
        )
    for note in dict.fromkeys(note for grant in all_grants for note in grant.leading.notes):
        _note(note)
    unbound = [name for name, grants in by_pattern.items() if any(not grant.leading.bound for grant in grants)]
    if bindings.values and unbound:
        _note(f"these patterns access partitions of every principal: {', '.join(unbound)}")
    yield from all_grants


def _no_grants(_table: Table) -> tuple[Grant, ...]:
    """Return an empty tuple, for programs that need no permissions to create or compare tables."""
    return ()


def _read_streams(design: Design, *, any_stream: bool) -> list[Table]:
    """Return the tables that declare consumers. Programs read the streams of these tables.

    If `any_stream` is True, also return all other tables with a stream. Print a note for each stream without a declared
    consumer.
    """
    undeclared = [table for table in design.tables if table.schema.stream is not None and not table.consumers]
    for table in undeclared:
        _note(
            f"table {table.name} has a stream but no declared consumer: "
            + ("reading the stream is allowed" if any_stream else "use --consumers to allow reading the stream")
        )
    return [table for table in design.tables if table.consumers or (any_stream and table in undeclared)]


def _consumer_grants(
    design: Design, read_tables: Sequence[Table], prefix: str, *, checkpoints: Table | None
) -> Iterator[Grant]:
    """Yield the permissions for running consumers: reading streams, and writing checkpoints and failed records."""
    from keyplan.export.iam import of_consumers, of_failures, stores_failures  # noqa: PLC0415 - as above

    failure_tables = [table for table in design.tables if stores_failures(table)]
    for table in read_tables:
        yield from of_consumers(table, prefix, checkpoints)
        for failure_table in failure_tables:
            yield from of_failures(failure_table, table, prefix)
        if not failure_tables:
            _print_destinations(table)


def _print_destinations(table: Table) -> None:
    if names := sorted({consumer.on_failure for consumer in table.consumers if consumer.on_failure is not None}):
        _note(
            f"the destination of failed records of {table.name} ({', '.join(names)}) is not declared: add its"
            " permissions yourself"
        )


def _write(documents: Sequence[dict[str, Any]], output: Path | None) -> None:
    from keyplan.export.resources import in_json  # noqa: PLC0415 - as above

    for number, policy in enumerate(documents, 1):
        path = output
        if output is not None and len(documents) > 1:
            path = output.with_stem(f"{output.stem}-{number}")
        write("export iam", in_json(policy), path)


def _print_size(size: int, sizes: Sequence[int]) -> None:
    from keyplan.export.iam import MANAGED_POLICY_CHARACTERS as MAX_CHARACTERS  # noqa: PLC0415 - as above

    if max(sizes) > MAX_CHARACTERS:
        advice = "a single statement exceeds the limit" if len(sizes) > 1 else "use --split to write several policies"
        _note(
            f"the policy has {size:,} characters without white space, but a managed policy may have at most"
            f" {MAX_CHARACTERS:,}: {advice}"
        )
