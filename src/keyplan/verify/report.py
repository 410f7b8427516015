"""The result of a verification (tables, patterns, claims and discrepancies), and its output as JSON and text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from keyplan.cost.figures import figure_table, wrapped
from keyplan.cost.units import ConsumedUnits, average
from keyplan.verify.claims import ClaimResult

Kind = Literal["defect", "wrong", "claim", "failed", "not run"]
"""The kind of a discrepancy.

"defect" means that the measured capacity units differ from the prediction, which is a defect of keyplan. "wrong" means
that a result differs from the expected result, or that a table is declared incorrectly. "claim" means that a claim is
refuted. "failed" means that a call raised an error, or that items could not be loaded. "not run" means that a table
could not be created, or that a pattern was not called.
"""


@dataclass(frozen=True)
class Discrepancy:
    """A difference between the declarations of a design and its behavior."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class TableResult:
    """The items that were loaded into a table, and the discrepancies that were found while loading them."""

    name: str
    loaded: tuple[tuple[str, int, int | None], ...]
    """The name of each entity, the number of its loaded items, and the number that the design declares (None if not
    declared).
    """
    problems: tuple[Discrepancy, ...] = ()


@dataclass(frozen=True)
class PatternResult:
    """The measurements and discrepancies of one pattern."""

    name: str
    operation: str
    place: str
    """The name of the table, or of the table and index (table/index), that the pattern uses."""
    calls: int
    evaluated: float
    """The average number of items that a call reads or writes."""
    returned: float
    predicted: tuple[ConsumedUnits, ...]
    """The predicted capacity units of each call."""
    measured: tuple[ConsumedUnits, ...]
    claims: tuple[ClaimResult, ...]
    problems: tuple[Discrepancy, ...]

    @property
    def verdict(self) -> str:
        """Return "OK", or the kinds of the pattern's discrepancies, such as "wrong"."""
        kinds = dict.fromkeys(problem.kind for problem in self.problems)
        return ", ".join(kinds) or "OK"


@dataclass(frozen=True)
class VerificationReport:
    """The result of verifying a design."""

    design: str
    seed: int
    tables: tuple[TableResult, ...]
    patterns: tuple[PatternResult, ...]
    claims: tuple[ClaimResult, ...]
    """The claims about the whole design, with the verdicts on them."""
    notes: tuple[str, ...]
    incomplete: str = ""
    """A sentence about the items and calls that were skipped because of the time limit, or "" if everything was
    verified.
    """

    @property
    def problems(self) -> Iterator[tuple[str, Discrepancy]]:
        """Yield each discrepancy with the name of the table, pattern or design that it is about."""
        for table in self.tables:
            yield from ((table.name, problem) for problem in table.problems)
        for pattern in self.patterns:
            yield from ((pattern.name, problem) for problem in pattern.problems)
        for claim_result in self.claims:
            if claim_result.standing == "fails":
                yield self.design, claim_problem(claim_result)

    @property
    def failed(self) -> bool:
        """Return True if the verification found a discrepancy."""
        return any(True for _ in self.problems)


def claim_problem(claim_result: ClaimResult) -> Discrepancy:
    """Return a discrepancy for a claim that the verification refuted."""
    source = f" ({claim_result.claim.source})" if claim_result.claim.source else ""
    return Discrepancy("claim", f'"{claim_result.claim.text}"{source}: {claim_result.reason}')


def as_json(report: VerificationReport) -> dict[str, Any]:
    """Return the report as JSON-compatible data."""
    return {
        "design": report.design,
        "data": "generated",
        "seed": report.seed,
        "holds": not report.failed,
        "tables": [
            {**asdict(table), "loaded": [dict(zip(_LOADED, entry, strict=True)) for entry in table.loaded]}
            for table in report.tables
        ],
        "patterns": [_pattern(pattern) for pattern in report.patterns],
        "claims": [_claim(claim) for claim in report.claims],
        "notes": list(report.notes),
        "incomplete": report.incomplete,
    }


_LOADED = ("entity", "items", "declared")


def _pattern(result: PatternResult) -> dict[str, Any]:
    return {
        **asdict(result),
        "predicted": asdict(average(result.predicted)),
        "measured": asdict(average(result.measured)),
        "claims": [_claim(claim) for claim in result.claims],
        "verdict": result.verdict,
    }


def _claim(claim_result: ClaimResult) -> dict[str, str]:
    claim = claim_result.claim
    return {
        "text": claim.text,
        "source": claim.source,
        "standing": claim_result.standing,
        "reason": claim_result.reason,
    }


def as_text(report: VerificationReport) -> str:
    """Return the report as text with lines of up to 80 characters. Patterns are grouped by table and index."""
    loaded = ", ".join(f"{count:,} {name}" for table in report.tables for name, count, _ in table.loaded)
    head = wrapped(f"{report.design}: generated data: {loaded or 'no items'}, seed {report.seed}")
    parts = [head, *([_patterns(report.patterns)] if report.patterns else []), "\n".join(_lines(report))]
    return "\n\n".join(parts) + "\n"


def _lines(report: VerificationReport) -> Iterator[str]:
    problems = list(report.problems)
    for name, problem in problems:
        yield wrapped(f"{name}: {problem.kind}: {problem.text}")
    for result in report.patterns:
        for claim_result in result.claims:
            if claim_result.standing == "unproved":
                yield wrapped(f'{result.name}: "{claim_result.claim.text}" unproved: {claim_result.reason}')
    for claim_result in report.claims:
        if claim_result.standing != "fails":
            word = "unproved" if claim_result.standing == "unproved" else "holds"
            yield wrapped(f'{report.design}: "{claim_result.claim.text}" {word}: {claim_result.reason}')
    for note in report.notes:
        yield wrapped(f"note: {note}")
    if report.incomplete:
        yield wrapped(f"incomplete: {report.incomplete}")
    if any(problem.kind == "defect" for _, problem in problems):
        yield "a defect is a bug in keyplan: please report it with the design"
    yield _summary(report, len(problems))


_HEAD = ("pattern", "calls", "items", "returned", "measured", "verdict")


def _patterns(results: Sequence[PatternResult]) -> str:
    groups: dict[str, list[tuple[str, ...]]] = {}
    for result in results:
        groups.setdefault(result.place, []).append(_row(result))
    return figure_table(_HEAD, groups, left_aligned=(0, 4, 5))


def _row(result: PatternResult) -> tuple[str, ...]:
    """Return the table cells for a pattern, followed by notes: the predicted capacity units if they differ from the
    measured ones, and the claims.
    """
    notes = [f"predicted {_units(result.predicted)}"] if _units(result.predicted) != _units(result.measured) else []
    notes += [f"claimed {claim_result.claim.text}" for claim_result in result.claims]
    if not result.calls:
        return (result.name, "", "", "", "", _verdict(result), *notes)
    figures = (str(result.calls), f"{result.evaluated:,.1f}", f"{result.returned:,.1f}", _units(result.measured))
    return (result.name, *figures, _verdict(result), *notes)


def _units(calls: tuple[ConsumedUnits, ...]) -> str:
    """Format the average read and write units of several calls, such as "2 WCU (1)". The number in parentheses is the
    part of the total that indexes use.
    """
    if not calls:
        return ""
    parts, mean = [], average(calls)
    if mean.reads:
        parts.append(f"{mean.reads:,.4g} RCU")
    if mean.writes:
        index_units = sum(units for resource, units in mean.write.items() if "/" in resource)
        parts.append(f"{mean.writes:,.4g} WCU" + (f" ({index_units:,.4g})" if index_units else ""))
    return " + ".join(parts) or "0"


def _verdict(result: PatternResult) -> str:
    standings = {claim_result.standing for claim_result in result.claims}
    if result.verdict == "OK" and "unproved" in standings:
        return "OK, claim unproved"
    if result.verdict == "OK" and "less" in standings:
        return "OK, less than claimed"
    return result.verdict


def _summary(report: VerificationReport, problems: int) -> str:
    run_count = sum(1 for pattern in report.patterns if pattern.calls)
    passed_count = sum(1 for pattern in report.patterns if not pattern.problems)
    problems_text = "1 problem" if problems == 1 else f"{problems} problems"
    outcome = problems_text if problems else "no problems"
    return f"{run_count} of {len(report.patterns)} patterns run, {passed_count} passed: {outcome}"
