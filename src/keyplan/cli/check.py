"""`keyplan check` and `keyplan rule`: findings in designs, and the page of a rule."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from keyplan.cli.designs import Region, refusal
from keyplan.cli.price import book_of

Format = Literal["text", "json", "sarif"]


def check(
    designs: Annotated[list[str], typer.Argument(help="Design modules (a.b.design) or Python files.")],
    format: Annotated[Format, typer.Option("--format", help="How findings are printed.")] = "text",
    select: Annotated[list[str] | None, typer.Option("--select", help="Only these rules, such as KP203.")] = None,
) -> None:
    """Check designs like a compiler: findings with place, reason and fix. Exit code 1 if there is an error."""
    from keyplan.check import report  # noqa: PLC0415 - `keyplan --help` needs no rules
    from keyplan.check.checking import CHANGE_RULES, RULES  # noqa: PLC0415
    from keyplan.check.checking import check as check_design  # noqa: PLC0415
    from keyplan.cli.designs import load  # noqa: PLC0415

    select = [code.upper() for code in select or ()]
    of_changes = [code for code in select if code in CHANGE_RULES]
    if of_changes:
        raise refusal(f"keyplan check: {', '.join(of_changes)} compares two designs: `keyplan diff OLD NEW`")
    unknown = [code for code in select if code not in RULES]
    if unknown:
        raise refusal(f"keyplan check: there is no rule {', '.join(unknown)}; `keyplan rule` lists them")
    rules = [RULES[code] for code in select] if select else None
    reports = [check_design(load(target), rules) for target in designs]
    if format == "text":
        typer.echo(report.text(reports), nl=False)
    else:
        typer.echo((report.json if format == "json" else report.sarif)(reports), nl=False)
    if any(one.failed for one in reports):
        raise typer.Exit(1)


def rule(
    code: Annotated[str | None, typer.Argument(help="The rule, such as KP203; all when left out.")] = None,
) -> None:
    """Show the page of a rule, or the list of them."""
    from keyplan.check.checking import PAGES  # noqa: PLC0415

    if code is None:
        for each in PAGES.values():
            typer.echo(f"{each.code} {'/'.join(each.severities):15} {each.title}")
        return
    known = PAGES.get(code.upper())
    if known is None:
        raise refusal(f"keyplan rule: there is no rule {code}; `keyplan rule` lists them")
    typer.echo(f"{known.code} {known.slug} ({', '.join(known.severities)})\n\n{known.page}")


def explain(
    pattern: Annotated[str, typer.Argument(help="A pattern: module.pattern, or file.py:pattern.")],
    region: Region = "us-east-1",
) -> None:
    """Explain a pattern: request, plan, cost, findings."""
    from keyplan.check.checking import check  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.cli.designs import load, pattern_of  # noqa: PLC0415
    from keyplan.export.explain import explain as explained  # noqa: PLC0415

    target, _, name = pattern.rpartition(":" if ":" in pattern else ".")
    if not target or name == "py":
        raise refusal("keyplan explain: name a pattern as module.pattern or file.py:pattern")
    design = load(target)
    found = pattern_of("explain", design, name)
    typer.echo(explained(found, book_of("explain", region), check(design).findings), nl=False)
