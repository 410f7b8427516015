"""The state that the Design pages share: the design with its findings, estimate, generated items and verification."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markupsafe import Markup

from keyplan.check.checking import PAGES, Report, check
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.clock import SystemClock
from keyplan.console.design.claims import Verification
from keyplan.console.design.collections import Collection, EntityFinder, collections, entries, sort_by_variety
from keyplan.console.design.costs import costs
from keyplan.console.design.picture import SEVERITIES, Panel, colors_of, draw, panels, worst_by_subject
from keyplan.console.design.running import PatternRunner, request_text
from keyplan.console.design.sample import Sample
from keyplan.console.source import Source
from keyplan.cost.estimate import Estimate, PatternCost, estimate
from keyplan.cost.expected import Expected, expected
from keyplan.cost.prices import PriceBook, book
from keyplan.cost.sizes import ItemSize, item_size
from keyplan.design.declaring.consumers import Consumer
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Fault, Place, line_number
from keyplan.design.planning.indexes import all_faults
from keyplan.design.schema import Index
from keyplan.export.conditions import condition, key_condition, written_only_if
from keyplan.export.examples import command, example_request
from keyplan.export.explain import claim_lines, explain_consumer, plan_lines

_COSTS_KEPT: Final = 100
_RULES_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@dataclass(frozen=True)
class PatternSummary:
    """A row in the list of patterns."""

    name: str
    doc: str
    operation: str
    target: str
    """The name of the table or index that the pattern reads or writes."""
    entities: tuple[str, ...]
    units: str
    cost: PatternCost
    is_rated: bool
    findings: int
    severity: str
    is_read: bool


@dataclass(frozen=True)
class PatternPlan:
    """A pattern with its plan, an example request and the predicted cost."""

    key: str
    """The key condition of the pattern, or an empty string."""
    filter: str
    """The filter of a read, or the condition of a write."""
    lines: tuple[str, ...]
    notes: tuple[str, ...]
    """The assumptions behind the plan and the estimate."""
    operation: str
    request: str
    """A request with example arguments as JSON, or an empty string if no example can be generated."""
    command: str
    problem: str
    """The reason why no example request is shown, or an empty string."""
    expected: Expected
    per_million: float
    claims: tuple[str, ...]
    faults: tuple[Fault, ...]


class DesignResults:
    """The design that a console shows, and cached results that are computed from it."""

    def __init__(self, design: Design, source: Source) -> None:
        self.design, self.source = design, source
        self.colors = colors_of(design)
        self.cursor_key = secrets.token_bytes(32)
        self._clock = SystemClock()
        self.costs = lru_cache(_COSTS_KEPT)(lambda what_if: costs(self.design, self.book, what_if))
        """A function that returns the costs with other rates, item counts and item sizes."""
        self._collections: dict[tuple[Table, Index | None], list[Collection]] = {}
        self._sample_lock = threading.Lock()

    def warm(self) -> None:
        """Start a thread that computes the findings and the estimate, so that the first page is fast."""
        threading.Thread(target=lambda: (self.pictures, self.summaries), name="design", daemon=True).start()

    @cached_property
    def report(self) -> Report:
        """The report with the findings about the design."""
        return check(self.design)

    @cached_property
    def book(self) -> PriceBook:
        """The prices that the estimates use."""
        return book()

    @cached_property
    def month(self) -> Estimate:
        """The estimated monthly cost at the declared rates, item counts and item sizes."""
        return estimate(self.design, self.book)

    @cached_property
    def panels(self) -> list[Panel]:
        """A diagram of each table, with its entities, indexes and patterns."""
        return panels(self.design, self.report.findings)

    @cached_property
    def pictures(self) -> list[Markup]:
        """The picture of each table as SVG."""
        return [draw(panel, number) for number, panel in enumerate(self.panels)]

    @cached_property
    def verification(self) -> Verification:
        """The verification of the design, which runs in the background."""
        return Verification(self.design, self.book)

    def stop(self) -> None:
        """Stop the verification if it is running."""
        if "verification" in self.__dict__:
            self.verification.stop()

    @cached_property
    def runner(self) -> PatternRunner:
        """The object that runs patterns on the console's database."""
        return PatternRunner(self.source, self.book, self.cursor_key)

    def sample(self) -> Sample:
        """Return generated items for the design. Raises MissingGeneratorError if the extra `verify` is not
        installed.
        """
        with self._sample_lock:
            return self._sample

    @cached_property
    def _sample(self) -> Sample:
        return Sample(self.design, self._clock.now())

    def collections(self, table: Table, index: Index | None) -> list[Collection]:
        """Return the item collections of the generated items. Collections with the most different entities
        come first.
        """
        cached = self._collections.get((table, index))
        if cached is None:
            generated = entries(table.schema, index, self.sample().items(table))
            generated_collections = collections(table.schema, index, generated, EntityFinder(table.entities))
            cached = self._collections[table, index] = sort_by_variety(generated_collections)
        return cached

    def pattern(self, name: str) -> Pattern[..., Any] | None:
        """Return the pattern with the given name, or None if it does not exist."""
        try:
            return self.design.pattern(name)
        except KeyError:
            return None

    # Findings.

    def counts(self) -> list[tuple[str, int]]:
        """Return the number of findings of each severity. Severities without findings are omitted."""
        severities = [finding.severity for finding in self.report.findings]
        return [(severity, severities.count(severity)) for severity in SEVERITIES if severity in severities]

    def findings_about(self, subject: str) -> list[Finding]:
        """Return the findings about a subject, such as the name of a pattern."""
        return [
            member
            for finding in self.report.findings
            for member in (finding, *finding.alike)
            if member.subject == subject
        ]

    # Patterns.

    @cached_property
    def summaries(self) -> list[PatternSummary]:
        """The rows of the list of patterns."""
        costs = {cost.name: cost for cost in self.month.patterns}
        worst = worst_by_subject(self.report.findings)
        return [
            PatternSummary(
                pattern.name,
                first_line(pattern.doc),
                pattern.plan.operation,
                target_of(pattern),
                tuple(dict.fromkeys(spec.name for spec in pattern.plan.entities)),
                units_text(costs[pattern.name].expected),
                costs[pattern.name],
                pattern.facts.rate is not None,
                len(self.findings_about(pattern.name)),
                worst.get(pattern.name, ""),
                pattern.plan.reading,
            )
            for pattern in self.design.patterns
        ]

    @cached_property
    def consumers(self) -> list[tuple[Consumer, Table, str, str]]:
        """Return each consumer with its table, the explanation of its settings, and the severity of its most severe
        finding.
        """
        worst = worst_by_subject(self.report.findings)
        return [
            (consumer, table, explain_consumer(consumer, table), worst.get(consumer.name, ""))
            for table in self.design.tables
            for consumer in table.consumers
        ]

    @cached_property
    def entities(self) -> list[tuple[EntitySpec, ItemSize]]:
        """Return each entity with the estimated size of its items."""
        return [(spec, item_size(spec)) for spec in self.design.entities]

    def plan(self, pattern: Pattern[..., Any]) -> PatternPlan:
        """Return the information that `keyplan explain` shows about a pattern."""
        plan, expectation = pattern.plan, expected(pattern)
        example = example_request(pattern)
        text = problem = line = ""
        operation = plan.operation
        if isinstance(example, str):
            problem = example
        else:
            operation = example.operation  # type: ignore[assignment]  # a transaction for one write with sentinels
            text, line = request_text(example.request), command(example.operation, example.request)
        return PatternPlan(
            key_condition(plan),
            condition(plan.filter) if plan.reading else written_only_if(plan),
            tuple(plan_lines(plan)),
            (*plan.notes, *(f"assumed: {guess}" for guess in expectation.guesses)),
            operation,
            text,
            line,
            problem,
            expectation,
            self.runner.predicted_cost(pattern, expectation) * 1e6,
            tuple(claim_lines(pattern, expectation)),
            tuple(all_faults(plan)),
        )


def first_line(text: str) -> str:
    """Return the first line of a docstring."""
    return text.strip().partition("\n")[0]


def target_of(pattern: Pattern[..., Any]) -> str:
    """Return the name of the table or index that a pattern uses, or the names of all tables that a transaction uses."""
    plan = pattern.plan
    if plan.index is not None:
        return f"{plan.schema.name}/{plan.index.name}"
    return ", ".join(dict.fromkeys(step.schema.name for step in plan.steps or (plan,)))


def units_text(expectation: Expected) -> str:
    """Return the predicted capacity units of a call as text, such as "0.5 RCU + 1.0 WCU"."""
    units = expectation.units
    parts = [f"{units.read:,.1f} RCU"] if units.read or not units.total_write else []
    parts += [f"{units.total_write:,.1f} WCU"] if units.total_write else []
    return " + ".join(parts)


def rule_of(code: str) -> Rule[Any] | None:
    """Return the rule with the given code, or None if it does not exist."""
    return PAGES.get(code.upper())


def rule_page(rule: Rule[Any]) -> Markup:
    """Return the documentation page of a rule, converted from Markdown to HTML. Raw HTML in the Markdown is escaped."""
    return Markup(_RULES_MARKDOWN.render(rule.text))  # noqa: S704 - rendered without raw HTML


def place_text(place: Place) -> str:
    """Return a location in the design's code as text, such as file.py:12."""
    return f"{place.file.rpartition('/')[2]}:{line_number(place)}"


def findings_by_severity(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """Return the findings of each severity, the most severe first. Severities without findings are omitted."""
    groups = [(severity, [finding for finding in findings if finding.severity == severity]) for severity in SEVERITIES]
    return [group for group in groups if group[1]]


def subjects_of(design: Design) -> Mapping[str, str]:
    """Return the path of the page for each subject that a finding can have. Paths are relative to the Design pages."""
    pages = {pattern.name: f"patterns/{pattern.name}" for pattern in design.patterns}
    pages |= {consumer.name: "patterns#consumers" for table in design.tables for consumer in table.consumers}
    return pages | dict(_tables(design))


def _tables(design: Design) -> Iterable[tuple[str, str]]:
    for table in design.tables:
        yield table.name, f"items?table={table.name}"
