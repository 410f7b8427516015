"""Runs a design's patterns on generated data, and compares their results and capacity units with predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from keyplan import limits
from keyplan.client.connection import Connection
from keyplan.client.requests import Context, Retries
from keyplan.client.tables import PlanTable, create_request
from keyplan.clock import ManualClock, SystemClock
from keyplan.cost.estimate import estimate
from keyplan.cost.expected import expected, pages
from keyplan.cost.prices import PriceBook
from keyplan.cost.prices import book as shipped_book
from keyplan.cost.units import ConsumedUnits, average, total
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.table_faults import table_faults
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.errors import Fault
from keyplan.design.keys.encodings import MissingField, TemplateError
from keyplan.design.parameters import Each, Param
from keyplan.design.planning.indexes import all_faults
from keyplan.design.requests.items import Item, item_builder
from keyplan.design.requests.writes import NOW
from keyplan.design.schema import Schema
from keyplan.engine.engine import Engine
from keyplan.errors import KeyplanError, ServiceError
from keyplan.verify.answers import difference, entities_in, meaning_of
from keyplan.verify.arguments import ArgumentGenerator
from keyplan.verify.claims import MeasuredPattern, judge, judge_design_claim, undeclared_numbers
from keyplan.verify.generate import EntityGenerator, generators
from keyplan.verify.model import Exchange, ModelTable, Recorder, StoredEntities, canonical, sentinels_of
from keyplan.verify.predict import predict
from keyplan.verify.report import Discrepancy, PatternResult, TableResult, VerificationReport, claim_problem
from keyplan.verify.values import SampleError, ValueGenerator

Progress = Callable[[str, int, int], None]
"""A function that is called with a name, the number of completed steps and the total number of steps.

While items are loaded, these are the name of an entity, the number of items that have been loaded for the whole design,
and the total number of items.
"""


ITEMS = 4000
"""The default number of items to generate in total."""
READS, WRITES, SCANS = 20, 10, 2
"""The number of calls of each pattern that reads, writes or scans."""
MAX_ITEMS = 10_000
"""The maximum total number of items in all calls to one pattern. Patterns with many items per call are called fewer
times.
"""
START_S = 1_767_225_600.0
"""The current time in the engine and in the generated data: the start of 2026 in UTC, in epoch seconds."""
_CLOCK = SystemClock()


@dataclass(frozen=True)
class LoadedTables:
    """The tables that were created, and the result of loading items into each declared table."""

    schemas: Mapping[str, Schema]
    """The schemas of the created tables, by table name."""
    results: tuple[TableResult, ...]


def load(
    design: Design,
    entity_generators: Mapping[EntitySpec, EntityGenerator],
    recorder: Recorder,
    stored_entities: StoredEntities,
    progress: Progress,
    *,
    is_over: Callable[[], bool] = lambda: False,
) -> LoadedTables:
    """Create the tables of a design and fill them with generated items, until all items are loaded or `is_over` returns
    True.

    If a table cannot be created, the result for this table contains discrepancies.
    """
    schemas: dict[str, Schema] = {}
    results = []
    total_items = sum(generator.amount.count for generator in entity_generators.values())
    loaded_count = 0
    for table in design.tables:
        problems = _create(table, recorder)
        loaded: list[tuple[str, int, int | None]] = []
        if problems is None:
            schemas[table.name] = table.schema
            # Faults of a table that do not prevent its creation.
            problems = [Discrepancy("wrong", fault_text(fault)) for fault in table_faults(table)]
            for spec in table.entities:
                try:
                    for count in _fill(spec, entity_generators[spec], recorder, stored_entities):
                        progress(spec.name, loaded_count + count, total_items)
                        if is_over():
                            break
                except (SampleError, ServiceError, TemplateError, MissingField) as error:
                    problems.append(Discrepancy("failed", f"{spec.name} could not be loaded in full: {error}"))
                loaded_count += len(stored_entities.all(spec))
                loaded.append((spec.name, len(stored_entities.all(spec)), entity_generators[spec].amount.declared))
        results.append(TableResult(table.name, tuple(loaded), tuple(problems)))
    return LoadedTables(schemas, tuple(results))


def _create(table: Table, recorder: Recorder) -> list[Discrepancy] | None:
    """Create a table. Return None if this succeeds, and otherwise the discrepancies to report."""
    plain = replace(table.schema, stream=None)  # streams do not matter here
    try:
        recorder.engine.call("CreateTable", create_request(PlanTable(plain, table.entities), table.name))
    except ServiceError as error:
        faults = table_faults(table)
        return [Discrepancy("not run", fault_text(fault)) for fault in faults] or [
            Discrepancy("not run", error.message)
        ]
    recorder.model_tables[table.name] = ModelTable(table.schema)
    return None


def fault_text(fault: Fault) -> str:
    """Format a fault of a declaration on one line."""
    return f"{fault.code}: {fault.problem}; fix: {fault.fix}"


def _fill(
    spec: EntitySpec, generator: EntityGenerator, recorder: Recorder, stored_entities: StoredEntities
) -> Iterator[int]:
    """Write the generated items of an entity in batches. After each batch, yield how many items have been generated."""
    batch: list[Item] = []
    try:
        for number, entity in enumerate(generator.make_all(), 1):
            if stored_entities.exists(spec, entity):
                continue  # another entity has the same key: only one of them can be stored
            stored_entities.add(spec, entity)
            batch += [item_builder(spec).item(entity), *sentinels_of(spec, entity)]
            if len(batch) >= limits.BATCH_WRITE_ITEMS:
                _write(spec.schema.name, batch, recorder)
                batch = []
                yield number
    finally:
        _write(spec.schema.name, batch, recorder)  # even if no more items can be generated


def store(spec: EntitySpec, entity: Entity, recorder: Recorder, stored_entities: StoredEntities) -> None:
    """Store an entity object, together with the items that reserve its unique values."""
    stored = stored_entities.at(spec, entity)
    stored_entities.add(spec, entity)
    if stored is not None:
        _delete(spec.schema.name, sentinels_of(spec, stored), recorder)
    _write(spec.schema.name, [item_builder(spec).item(entity), *sentinels_of(spec, entity)], recorder)


def _delete(table: str, items: list[Item], recorder: Recorder) -> None:
    model_table = recorder.model_tables[table]
    for item in items:
        key = {name: item[name] for name in model_table.schema.key}
        recorder.engine.call("DeleteItem", {"TableName": table, "Key": key})
        model_table.put(item, None)


def _write(table: str, items: list[Item], recorder: Recorder) -> None:
    model_table = recorder.model_tables[table]
    for start in range(0, len(items), limits.BATCH_WRITE_ITEMS):
        puts = [{"PutRequest": {"Item": item}} for item in items[start : start + limits.BATCH_WRITE_ITEMS]]
        recorder.engine.call("BatchWriteItem", {"RequestItems": {table: puts}})
    for item in items:
        model_table.put(item, canonical(item))


def ignore_progress(_name: str, _completed: int, _total: int) -> None:
    """Do nothing. This is the default callback for progress."""


def verify(
    design: Design,
    *,
    items: int = ITEMS,
    seed: int = 0,
    pattern: str | None = None,
    book: PriceBook | None = None,
    progress: Progress = ignore_progress,
    running: Progress = ignore_progress,
    seconds: float | None = None,
) -> VerificationReport:
    """Run the patterns of a design on generated data, and compare their results and capacity units with the
    declarations.

    `items` is the approximate total number of items to generate. The same `seed` generates the same items and calls.
    `pattern` is the name of the only pattern to run, and KeyError is raised if it is unknown. `book` contains the
    prices for checking claims about costs. The default is the newest prices included with keyplan. `progress` is called
    while items are loaded. Before each pattern call, `running` is called with the name of the pattern, the number of
    calls made and the total number of calls. After `seconds`, loading stops and no more calls are started. Patterns
    that were not called are reported as not run, and the report's `incomplete` lists them.
    """
    deadline_s = None if seconds is None else _CLOCK.monotonic() + seconds
    patterns = [design.pattern(pattern)] if pattern is not None else list(design.patterns)
    prices = book or shipped_book()
    month = estimate(design, prices)  # before data is generated, because a price book may be incomplete
    value_generator = ValueGenerator(seed, START_S)
    with closing(Engine.memory(clock=ManualClock(START_S, seed))) as engine:
        run = _Run(
            design,
            Recorder(engine),
            StoredEntities(design.entities),
            value_generator,
            items,
            progress,
            running,
            deadline_s,
        )
        results = {name: run.pattern(name) for name in sorted(patterns, key=_run_group)}
        incomplete = "" if seconds is None else run.incomplete(patterns, seconds)
    reads = [
        read_pattern for read_pattern in patterns if read_pattern.plan.reading and not all_faults(read_pattern.plan)
    ]
    pages_by_read = [(read_pattern.name, pages(read_pattern)) for read_pattern in reads]
    assumed = {
        read_pattern.name: numbers
        for read_pattern in reads
        if (numbers := undeclared_numbers(expected(read_pattern).guesses))
    }
    return VerificationReport(
        design=design.name,
        seed=seed,
        tables=run.loaded.results,
        patterns=tuple(results[name] for name in patterns),
        claims=tuple(judge_design_claim(claim, month, prices, pages_by_read, assumed) for claim in design.claims)
        if not pattern
        else (),
        notes=tuple(_notes(run.loaded)),
        incomplete=incomplete,
    )


def _run_group(pattern: Pattern[..., Any]) -> int:
    """Return the position of a pattern's group in the order in which patterns run: reads, then writes that change the
    generated data, then deletes.
    """
    if pattern.plan.reading:
        return 0
    return 2 if pattern.kind in {"delete", "batch_delete"} else 1


def _notes(loaded: LoadedTables) -> Iterator[str]:
    for table in loaded.results:
        for name, count, declared in table.loaded:
            if declared is None:
                yield f"the number of {name} is not declared: {count:,} were generated"
            elif count < declared:
                yield f"{count:,} of the declared {declared:,} {name} were generated, in partitions of declared size"


@dataclass
class _Run:
    """The state of a verification, including the generated data that patterns run on."""

    design: Design
    recorder: Recorder
    stored_entities: StoredEntities
    value_generator: ValueGenerator
    items: int
    progress: Progress
    running: Progress
    deadline_s: float | None
    """The time on the monotonic clock, in seconds, after which loading stops and no more calls are started. None if the
    verification has no time limit.
    """
    loaded: LoadedTables = field(init=False)
    _loading_ended: bool = field(init=False, default=False)
    limited_calls: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The patterns that the time limit stopped, each with the number of calls made and the number of calls planned."""

    def __post_init__(self) -> None:
        generators_by_spec = generators(self.design, self.items, self.value_generator)
        self.loaded = load(
            self.design,
            generators_by_spec,
            self.recorder,
            self.stored_entities,
            self.progress,
            is_over=self._check_loading_ended,
        )
        self._to_load = sum(generator.amount.count for generator in generators_by_spec.values())
        self._argument_generator = ArgumentGenerator(
            self.stored_entities, generators_by_spec, self.value_generator, self._store
        )
        self._scaled = {spec for spec, generator in generators_by_spec.items() if generator.amount.scaled}
        clock = self.recorder.engine.clock
        context = Context(clock=clock, cursor_key=b"verify", retries=Retries(attempts=3))
        context.tables.update(self.loaded.schemas.values())
        self._connection = Connection(self.recorder, context)

    def _check_loading_ended(self) -> bool:
        self._loading_ended = self._is_over()
        return self._loading_ended

    def _is_over(self) -> bool:
        return self.deadline_s is not None and _CLOCK.monotonic() >= self.deadline_s

    def incomplete(self, patterns: Sequence[Pattern[..., Any]], seconds: float) -> str:
        """Return a sentence about the items that were not loaded and the calls that were not made because of the time
        limit, or an empty string.
        """
        parts = []
        loaded = sum(count for table in self.loaded.results for _, count, _ in table.loaded)
        if self._loading_ended and loaded < self._to_load:
            parts.append(f"loaded {loaded:,} of about {self._to_load:,} items")
        limited = {
            pattern.name: self.limited_calls[pattern.name] for pattern in patterns if pattern.name in self.limited_calls
        }
        if uncalled := [name for name, (calls, _) in limited.items() if not calls]:
            parts.append(f"not verified: {', '.join(uncalled)}")
        if shortened := [f"{name} ({calls} of {planned})" for name, (calls, planned) in limited.items() if calls]:
            parts.append(f"with fewer calls: {', '.join(shortened)}")
        return f"the time limit of {seconds:g} seconds was reached; {'; '.join(parts)}" if parts else ""

    def _store(self, spec: EntitySpec, entity: Entity) -> None:
        store(spec, entity, self.recorder, self.stored_entities)

    def pattern(self, pattern: Pattern[..., Any]) -> PatternResult:
        """Call one pattern several times and return its measurements and discrepancies."""
        problems = [Discrepancy("not run", fault_text(fault)) for fault in all_faults(pattern.plan)]
        required_schemas = [step.schema for step in pattern.plan.steps or (pattern.plan,)]
        missing_schemas = [schema for schema in required_schemas if self.loaded.schemas.get(schema.name) is not schema]
        problems += [
            Discrepancy("not run", f"table {schema.name} {self._missing_reason(schema)}") for schema in missing_schemas
        ]
        if problems:
            return self._result(pattern, [], tuple(dict.fromkeys(problems)))
        runs: list[_CallResult] = []
        calls = _call_count(pattern)
        for number in range(calls):
            if self._is_over():
                self.limited_calls[pattern.name] = number, calls
                problems += [] if runs else [Discrepancy("not run", "the time limit was reached")]
                break
            self.running(pattern.name, number, calls)
            try:
                runs.append(self._call(pattern))
            except KeyplanError as error:
                self.recorder.pop_exchanges()
                problems.append(Discrepancy("failed", f"{type(error).__name__}: {error}"))
                break
        problems += _first_problem([run.defect for run in runs], "defect", len(runs))
        problems += _first_problem([run.wrong_result for run in runs], "wrong", len(runs))
        if pattern.plan.reading and runs and not problems and not any(run.total_returned for run in runs):
            problems += self._always_empty(pattern, len(runs))
        return self._result(pattern, runs, tuple(problems))

    def _missing_reason(self, schema: Schema) -> str:
        is_declared = any(table.schema is schema for table in self.design.tables)
        return (
            "cannot be created"
            if is_declared
            else f"does not belong to this design: import it into the module of {self.design.name}"
        )

    def _call(self, pattern: Pattern[..., Any]) -> _CallResult:
        plan, arguments = pattern.plan, self._argument_generator.draw(pattern)
        call = pattern(**arguments)
        self.recorder.pop_exchanges()
        is_list = plan.operation in {"Query", "Scan"} and plan.select == "all" and plan.limit is None
        run_call = self._connection.all if is_list and plan.page_size is None else self._connection.run
        result: Any = run_call(call)
        exchanges = self.recorder.pop_exchanges()
        with_time = {**arguments, NOW: int(self.value_generator.now_s)}
        call_result = _CallResult(measured=total(exchange.consumed for exchange in exchanges))
        self._compare_with_prediction(call_result, pattern, exchanges)
        if plan.reading:
            # A call with a page size costs one page. Its result is correct if the results of all pages are.
            entities = self._connection.all(call) if is_list and plan.page_size is not None else result
            call_result.returned, call_result.total_returned = _count(result), _count(entities)
            call_result.wrong_result = difference(
                pattern, self.stored_entities, with_time, entities, int(self.value_generator.now_s)
            )
        else:
            call_result.returned = call_result.evaluated
            call_result.wrong_result = self._check_writes(exchanges)
        return call_result

    def _compare_with_prediction(
        self, call_result: _CallResult, pattern: Pattern[..., Any], exchanges: Sequence[Exchange]
    ) -> None:
        for exchange in exchanges:
            prediction = predict(exchange, pattern.plan, self.recorder.model_tables)
            call_result.predicted += prediction.consumed
            extra_operation = "BatchGetItem" if pattern.plan.hydrated else None if pattern.plan.reading else "GetItem"
            if exchange.operation != extra_operation:  # otherwise, another request of the call counts its items
                call_result.evaluated += prediction.evaluated
            if prediction.consumed != exchange.consumed:
                call_result.defect = (
                    f"{exchange.operation} cost {exchange.consumed.text()}, but"
                    f" {prediction.consumed.text()} was predicted"
                )
            scanned = exchange.answer.get("ScannedCount", prediction.evaluated)
            if exchange.operation in {"Query", "Scan"} and scanned != prediction.evaluated:
                call_result.defect = (
                    f"{exchange.operation} read {scanned} items, but {prediction.evaluated} were predicted"
                )
            if prediction.has_more is not None and prediction.has_more != ("LastEvaluatedKey" in exchange.answer):
                call_result.defect = f"{exchange.operation} ended a page at an unexpected item"

    def _check_writes(self, exchanges: Sequence[Exchange]) -> str | None:
        """Update the stored objects with the writes of recorded requests.

        Return a message if the key attributes of a written item do not match its fields, otherwise None.
        """
        for spec, item, entity in self.stored_entities.apply(exchanges, self.loaded.schemas):
            expected, stored = canonical(item_builder(spec).item(entity)), canonical(item)
            names = [name for name in spec.schema.key_attributes() if expected.get(name) != stored.get(name)]
            if names:
                return f"left {', '.join(names)} of {spec.name} different from the values that its fields define"
        return None

    def _always_empty(self, pattern: Pattern[..., Any], calls: int) -> list[Discrepancy]:
        plan, meaning = pattern.plan, meaning_of(pattern)
        stored = {spec.name: len(self.stored_entities.all(spec)) for spec in plan.entities}
        if not any(stored.values()):
            return []
        counts = ", ".join(f"{count:,} {name}" for name, count in stored.items())
        reads = [f"{key_test.field} = {key_test.low!r}" for key_test in meaning.key_tests if key_test.op == "reads"]
        reason = f": no key can match {meaning.unmatched_texts[0]!r}" if meaning.unmatched_texts else ""
        reason = reason or (f": none has {' and '.join(reads)}" if reads else "")
        return [Discrepancy("wrong", f"returned no items in {calls} calls for stored items ({counts}){reason}")]

    def _result(
        self, pattern: Pattern[..., Any], runs: Sequence[_CallResult], problems: tuple[Discrepancy, ...]
    ) -> PatternResult:
        plan = pattern.plan
        claims = tuple(judge(claim, self._figures(pattern, runs)) for claim in pattern.facts.claims) if runs else ()
        failures = tuple(claim_problem(claim) for claim in claims if claim.standing == "fails")
        return PatternResult(
            name=pattern.name,
            operation=plan.operation,
            place=f"{plan.schema.name}/{plan.index.name}" if plan.index is not None else plan.schema.name,
            calls=len(runs),
            evaluated=sum(run.evaluated for run in runs) / len(runs) if runs else 0.0,
            returned=sum(run.returned for run in runs) / len(runs) if runs else 0.0,
            predicted=tuple(run.predicted for run in runs),
            measured=tuple(run.measured for run in runs),
            claims=claims,
            problems=(*problems, *failures),
        )

    def _figures(self, pattern: Pattern[..., Any], runs: Sequence[_CallResult]) -> MeasuredPattern:
        plan = pattern.plan
        is_scaled = (
            plan.operation in {"Query", "Scan"}
            and _cost_grows_with_table(pattern)
            and self._scaled.intersection(plan.entities)
        )
        mean = average([run.measured for run in runs])
        return MeasuredPattern(
            reads=tuple(run.measured.reads for run in runs),
            writes=tuple(run.measured.writes for run in runs),
            items=sum(run.evaluated for run in runs) / len(runs),
            split=mean.text(),
            at_scale=expected(pattern).units.read if is_scaled else None,
            pages=pages(pattern),
            assumed=undeclared_numbers(expected(pattern).guesses),
        )


@dataclass
class _CallResult:
    """The measurements of one call to a pattern."""

    measured: ConsumedUnits
    predicted: ConsumedUnits = field(default_factory=ConsumedUnits)
    evaluated: float = 0
    returned: float = 0
    total_returned: float = 0
    """The number of results on all pages of the call."""
    defect: str | None = None
    wrong_result: str | None = None


def _count(result: Any) -> int:
    return result if isinstance(result, int) else len(entities_in(result))


def _call_count(pattern: Pattern[..., Any]) -> int:
    if not pattern.parameters:
        return 1
    if pattern.plan.operation == "Scan":
        return SCANS
    calls = READS if pattern.plan.reading else WRITES
    return max(1, min(calls, int(MAX_ITEMS // _items_of_call(pattern))))


def _items_of_call(pattern: Pattern[..., Any]) -> float:
    """Return the declared number of items that a call reads or writes."""
    plan = pattern.plan
    has_many_items = plan.operation == "BatchWriteItem" or plan.walk is not None or any(plan.repeats)
    return max(1.0, pattern.facts.expected_items or 1.0) if has_many_items else 1.0


def _cost_grows_with_table(pattern: Pattern[..., Any]) -> bool:
    """Return True if a read has no partition key or a constant partition key. The read's cost then grows with the
    table.
    """
    key = pattern.plan.key
    if key is None:
        return True
    return not any(isinstance(source, (Param, Each)) for value in key.partition for source in value.sources.values())


def _first_problem(texts: Sequence[str | None], kind: Any, calls: int) -> list[Discrepancy]:
    """Return a list with a discrepancy for the first text that is not None. If all texts are None, return an empty
    list.

    Each text describes the problem of one call. If `calls` is greater than 1, the message includes the number of calls
    with a problem.
    """
    problems = [text for text in texts if text is not None]
    if not problems:
        return []
    frequency = "" if calls == 1 else f" ({len(problems)} of {calls} calls)"
    return [Discrepancy(kind, problems[0] + frequency)]
