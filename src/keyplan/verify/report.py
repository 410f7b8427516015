"""What verifying a design found: tables, patterns, claims, and whether all of it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from keyplan.cost.units import Spent, average
from keyplan.verify.claims import Judged

Kind = Literal["defect", "wrong", "claim", "failed", "not run"]
"""defect: prediction and receipt differ, which is keyplan's own fault. wrong: the answer is not what was meant."""


@dataclass(frozen=True)
class Problem:
    """Something that does not hold."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class TableResult:
    """A table, and what was loaded into it."""

    name: str
    loaded: tuple[tuple[str, int, int | None], ...]
    """By entity: how many items, and how many the design declares."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class PatternResult:
    """What running a pattern showed."""

    name: str
    operation: str
    place: str
    """The table, or table/index, that it reads; the table that it writes."""
    calls: int
    evaluated: float
    """Items that an average call reads, or writes."""
    returned: float
    predicted: tuple[Spent, ...]
    """By call."""
    measured: tuple[Spent, ...]
    claims: tuple[Judged, ...]
    problems: tuple[Problem, ...]

    @property
    def verdict(self) -> str:
        """OK, or what kind of problem there is."""
        kinds = dict.fromkeys(problem.kind for problem in self.problems)
        return ", ".join(kinds) or "OK"


@dataclass(frozen=True)
class Report:
    """What verifying a design showed."""

    design: str
    seed: int
    tables: tuple[TableResult, ...]
    patterns: tuple[PatternResult, ...]
    claims: tuple[Judged, ...]
    """Of the whole design."""
    notes: tuple[str, ...]

    @property
    def problems(self) -> Iterator[tuple[str, Problem]]:
        """Everything that does not hold, with the name it is about."""
        for table in self.tables:
            yield from ((table.name, problem) for problem in table.problems)
        for pattern in self.patterns:
            yield from ((pattern.name, problem) for problem in pattern.problems)
        for judged in self.claims:
            if judged.standing == "fails":
                yield self.design, claim_problem(judged)

    @property
    def failed(self) -> bool:
        """Whether anything does not hold."""
        return any(True for _ in self.problems)


def claim_problem(judged: Judged) -> Problem:
    """A claim that does not hold, as a problem."""
    source = f" ({judged.claim.source})" if judged.claim.source else ""
    return Problem("claim", f'"{judged.claim.text}"{source}: {judged.reason}')


def as_json(report: Report) -> dict[str, Any]:
    """The report for machines."""
    return {
        "design": report.design,
        "seed": report.seed,
        "holds": not report.failed,
        "tables": [
            {
                "name": table.name,
                "loaded": [
                    {"entity": name, "items": count, "declared": declared} for name, count, declared in table.loaded
                ],
                "problems": [_problem(one) for one in table.problems],
            }
            for table in report.tables
        ],
        "patterns": [_pattern(one) for one in report.patterns],
        "claims": [_claim(one) for one in report.claims],
        "notes": list(report.notes),
    }


def _pattern(result: PatternResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "operation": result.operation,
        "place": result.place,
        "calls": result.calls,
        "evaluated": result.evaluated,
        "returned": result.returned,
        "predicted": asdict(average(result.predicted)),
        "measured": asdict(average(result.measured)),
        "claims": [_claim(one) for one in result.claims],
        "verdict": result.verdict,
        "problems": [_problem(one) for one in result.problems],
    }


def _claim(judged: Judged) -> dict[str, str]:
    return {
        "text": judged.claim.text,
        "source": judged.claim.source,
        "standing": judged.standing,
        "reason": judged.reason,
    }


def _problem(problem: Problem) -> dict[str, str]:
    return {"kind": problem.kind, "text": problem.text}
