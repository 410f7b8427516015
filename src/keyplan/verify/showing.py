"""A report as text: a table of patterns with claimed, predicted and measured side by side, and what does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyplan.cost.units import Spent, average
from keyplan.verify.report import PatternResult, Report


def show(report: Report, console: Console) -> None:
    """Print a report."""
    console.print(Group(*_parts(report)), highlight=False, markup=False, soft_wrap=False)


def _parts(report: Report) -> Iterator[RenderableType]:
    loaded = ", ".join(f"{count:,} {name}" for table in report.tables for name, count, _ in table.loaded)
    yield Text(f"{report.design}: {loaded or 'no items'}, seed {report.seed}")
    yield _patterns(report)
    problems = list(report.problems)
    for name, problem in problems:
        yield Text(f"{name}: {problem.kind}: {problem.text}", style="red" if problem.kind == "defect" else "")
    for judged in report.claims:
        if judged.standing != "fails":
            word = "not proved" if judged.standing == "unproved" else "holds"
            yield Text(f'{report.design}: "{judged.claim.text}" {word}: {judged.reason}')
    for note in report.notes:
        yield Text(f"note: {note}")
    if any(problem.kind == "defect" for _, problem in problems):
        yield Text("a defect is keyplan's own fault: please report it with the design")
    yield Text(_summary(report, len(problems)))


def _patterns(report: Report) -> Table:
    table = Table("pattern", "operation", "table or index", title_justify="left")
    for name in ("calls", "items", "returned"):
        table.add_column(name, justify="right")
    for name in ("claimed", "predicted", "measured", "verdict"):
        table.add_column(name)
    for one in report.patterns:
        table.add_row(
            one.name, one.operation, one.place,
            str(one.calls) if one.calls else "",
            f"{one.evaluated:,.1f}" if one.calls else "",
            f"{one.returned:,.1f}" if one.calls else "",
            "\n".join(judged.claim.text for judged in one.claims),
            _units(one.predicted), _units(one.measured), _verdict(one),
        )  # fmt: skip
    return table


def _units(calls: tuple[Spent, ...]) -> str:
    """Units of an average call; reads and writes apart, and in brackets what indexes have of the writes."""
    if not calls:
        return ""
    told, mean = [], average(calls)
    if mean.reads:
        told.append(f"{mean.reads:,.4g} RCU")
    if mean.writes:
        of_indexes = sum(units for place, units in mean.write.items() if "/" in place)
        told.append(f"{mean.writes:,.4g} WCU" + (f" ({of_indexes:,.4g})" if of_indexes else ""))
    return " + ".join(told) or "0"


def _verdict(result: PatternResult) -> str:
    standings = {judged.standing for judged in result.claims}
    if result.verdict == "OK" and "unproved" in standings:
        return "OK, claim not proved"
    if result.verdict == "OK" and "less" in standings:
        return "OK, less than claimed"
    return result.verdict


def _summary(report: Report, problems: int) -> str:
    run = sum(1 for one in report.patterns if one.calls)
    fine = sum(1 for one in report.patterns if not one.problems)
    what = "1 thing does" if problems == 1 else f"{problems} things do"
    ends = f"{what} not hold" if problems else "everything holds"
    return f"{run} of {len(report.patterns)} patterns run, {fine} without a problem: {ends}"
