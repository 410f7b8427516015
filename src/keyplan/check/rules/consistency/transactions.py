"""Rules: transactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from keyplan import limits
from keyplan.check.finding import Finding, number
from keyplan.check.partition_load import key_share
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected, of_plan, sentinel_writes
from keyplan.cost.sizes import item_size
from keyplan.design.declaring.transactions import Transaction, TransactionStep
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.placeholders import Text
from keyplan.design.parameters import Each, Param, Source, annotation_of, substitute
from keyplan.design.planning.plan import Plan


@design_rule("KP601", "error", "warning")
def transaction_too_large(subject: Subject) -> Iterator[Finding]:
    """A transaction larger than the service takes

    One transaction holds up to 100 actions on different items and up to 4 MB. A larger one is refused as a whole.
    A step that is repeated for each of several values counts once for each, and every unique rule of an entity adds
    the action on its sentinel: two where a value can be given up for another.

    It is an error where the number is known to be too large, and a warning where nothing bounds it: a list that has
    ten values today has two hundred some day.

    Bound the list (`Annotated[list[TaskId], Field(max_length=50)]`) and divide the work into several transactions that
    are right one by one, or mark the items by one write that readers look at.

    Source: developer guide, "Managing complex workflows with DynamoDB transactions"; API reference,
    TransactWriteItems.
    """
    for transaction in subject.design.transactions:
        counts = [_largest_count(step, transaction) for step in transaction.steps]
        actions = sum(
            _actions_of(step.call.pattern.plan) * (count or 1)
            for step, count in _steps_with_counts(transaction, counts)
        )
        unbounded = [step for step, count in _steps_with_counts(transaction, counts) if count is None]
        if actions > limits.TRANSACTION_ACTIONS:
            yield _too_many(transaction, int(actions))
        elif unbounded:
            yield _unbounded(transaction, unbounded[0])
        else:
            yield from _too_many_bytes(transaction, _steps_with_counts(transaction, counts))


def _steps_with_counts(
    transaction: Transaction[Any], counts: list[float | None]
) -> list[tuple[TransactionStep, float | None]]:
    return list(zip(transaction.steps, counts, strict=True))


def _largest_count(step: TransactionStep, transaction: Transaction[Any]) -> float | None:
    """How often a step happens at most; None where nothing bounds it."""
    if step.repeated is None:
        return 1
    if isinstance(step.repeated.values, tuple):
        return len(step.repeated.values)
    declared = _declared_length(step.repeated)
    returns = transaction.facts.returns
    return declared if declared is not None else returns if returns and returns > limits.TRANSACTION_ACTIONS else None


def _declared_length(each: Each) -> int | None:
    marks = list(get_args(annotation_of(each.values)))
    marks += [part for mark in marks for part in getattr(mark, "metadata", ())]
    return next((mark.max_length for mark in marks if isinstance(getattr(mark, "max_length", None), int)), None)


def _actions_of(plan: Plan) -> int:
    """The item's own action, and those on sentinels: a new value taken, an old one given up."""
    replaces = plan.operation == "PutItem" and plan.reads_first
    return 1 + (2 * len(plan.entity.sentinels) if replaces else sentinel_writes(plan))


def _too_many(transaction: Transaction[Any], actions: int) -> Finding:
    return transaction_too_large.finding(
        transaction.name,
        f"{transaction.name} can have {actions} actions, and a transaction takes {limits.TRANSACTION_ACTIONS}",
        "divide it into transactions that are right one by one",
        transaction.place,
    )


def _unbounded(transaction: Transaction[Any], step: TransactionStep) -> Finding:
    return transaction_too_large.finding(
        transaction.name,
        f"{transaction.name} repeats {step.call.pattern.name} for each of {_repeated_values(step)}, whose length"
        f" nothing bounds: with more than {limits.TRANSACTION_ACTIONS} actions the whole transaction is refused",
        "bound the parameter, such as Annotated[list[str], Field(max_length=50)], and divide the work",
        transaction.place.at("each("),
        step.call.pattern.place,
        severity="warning",
    )


def _repeated_values(step: TransactionStep) -> str:
    return repr(step.repeated.values) if step.repeated is not None else ""


def _too_many_bytes(
    transaction: Transaction[Any], steps: list[tuple[TransactionStep, float | None]]
) -> Iterator[Finding]:
    total = 0.0
    for step, count in steps:
        plan = step.call.pattern.plan
        if plan.operation == "PutItem":
            size = item_size(plan.entity)
            total += (size.most or size.p99) * (count or 1)
    if total > limits.TRANSACTION_BYTES:
        yield transaction_too_large.finding(
            transaction.name,
            f"{transaction.name} puts up to {total / limits.MIB:.1f} MB of items, and a transaction takes 4 MB",
            "divide it, or keep the large part of the items outside and write it before the transaction",
            transaction.place,
        )


@design_rule("KP602", "error")
def duplicate_item_in_transaction(subject: Subject) -> Iterator[Finding]:
    """The same item twice in one transaction

    A transaction is refused when two of its actions are on one item, even if one of them only checks a condition.
    A check and an update of the same item, or two updates of two of its fields, are one update with a condition.

    Found are steps whose keys are provably equal because they come from the same parameters, a repeated step whose
    key does not depend on what it is repeated for, and two new items that would take one unique value.

    Join both changes in one pattern: `key_of(...) & set_(...) & when(...)`.

    Source: developer guide, "Managing complex workflows with DynamoDB transactions"; API reference,
    TransactWriteItems: no two actions may target the same item.
    """
    for transaction in subject.design.transactions:
        seen: dict[Origin, tuple[str, Written]] = {}
        for one in written_by(transaction):
            if one.step.repeated is not None and not one.varies and one.sources:
                yield _duplicate(
                    transaction.name,
                    f"repeats {one.step.call.pattern.name} for each of {one.step.repeated.values!r}, and its key is the"
                    " same every time",
                    one,
                    None,
                )
            for what, key in one.keys:
                if key in seen:
                    first = seen[key][1]
                    problem = f"writes {what} twice, in step {first.number} ({_pattern_name(first)}) and in step"
                    yield _duplicate(
                        transaction.name,
                        f"{problem} {one.number} ({_pattern_name(one)}), with the same key",
                        one,
                        seen[key][1],
                    )
                    break
                seen[key] = (what, one)


def _pattern_name(one: Written) -> str:
    return one.step.call.pattern.name


def _duplicate(name: str, does: str, one: Written, other: Written | None) -> Finding:
    pattern = one.step.call.pattern
    return duplicate_item_in_transaction.finding(
        name,
        f"{name} {does}: the service refuses a transaction with two actions on one item",
        "join the changes and the conditions in one pattern, and use it once",
        pattern.place,
        None if other is None else other.step.call.pattern.place,
    )


@design_rule("KP603", "advice")
def single_item_transaction(subject: Subject) -> Iterator[Finding]:
    """A transaction of one item

    A single write is atomic by itself and takes conditions. As a transaction of one action it costs twice the write
    units, conflicts with other transactions, and gives nothing more.

    Run the pattern by itself. Entities with unique values become transactions on their own where they need to.

    Source: developer guide, "Managing complex workflows with DynamoDB transactions" (capacity of transactions).
    """
    for transaction in subject.design.transactions:
        if len(transaction.steps) != 1 or transaction.steps[0].repeated is not None:
            continue
        inner = transaction.steps[0].call.pattern
        if inner.plan.operation == "ConditionCheck" or inner.plan.keeps_unique:
            continue
        alone, together = expected(inner).units.written, of_plan(transaction.plan, transaction.facts).units.written
        yield single_item_transaction.finding(
            transaction.name,
            f"{transaction.name} holds one write, {inner.name}: {number(together)} write units instead of"
            f" {number(alone)}, and no more safety",
            f"run {inner.name} by itself",
            transaction.place,
            inner.place,
        )


_CONTENDED_RATE = 10


@design_rule("KP604", "warning")
def contended_transaction(subject: Subject) -> Iterator[Finding]:
    """A transaction that many callers want on one item

    While a transaction is prepared and committed, a second one on any of its items is refused with a conflict, and
    so are single writes. Retries sort that out while conflicts are rare. An item that is in more than ten transactions
    a second, such as a global counter or the account of the largest customer, makes conflicts the rule.

    It is reckoned from the transaction's peak rate and the share of the most used item of each step.

    Take the shared item out of the transaction (count from the stream, or with a single atomic `add`), or keep it in
    several items of which each transaction takes one.

    Source: developer guide, "Managing complex workflows with DynamoDB transactions" (transaction conflict handling).
    """
    for transaction in subject.design.transactions:
        rate = transaction.facts.rate
        if rate is None:
            continue
        for one in written_by(transaction):
            share = key_share(one.entity.key.attributes, one.entity, one.sources)
            if share is None or rate.highest * share <= _CONTENDED_RATE:
                continue
            item = f"the most used {one.entity.name}" if share < 1 else f"the one {one.entity.name}"
            yield contended_transaction.finding(
                transaction.name,
                f"{transaction.name} runs {number(rate.highest)} times a second at the peak, and {item} is in"
                f" {number(rate.highest * share)} of these (step {one.number}, {one.step.call.pattern.name}): they"
                " conflict with each other and are refused",
                "take the shared item out of the transaction, and keep it by a single atomic add or from the stream;"
                " or divide it into several items",
                transaction.place,
                one.step.call.pattern.place,
            )


Origin = tuple[object, ...]
"""Where a value comes from; equal origins give equal values within one call."""


@dataclass(frozen=True, eq=False)
class Written:
    """A step of a transaction, with the item that it is about."""

    number: int
    """Its place in the transaction, from 1."""
    step: TransactionStep
    plan: Plan
    sources: Mapping[str, Source]
    """By key field, in the transaction's own parameters."""

    @property
    def entity(self) -> EntitySpec:
        """Whose item it is."""
        return self.plan.entity

    @property
    def keys(self) -> Iterator[tuple[str, Origin]]:
        """The keys of what it writes: its item's, and with an item's creation those of its sentinels."""
        yield self.entity.name, self._key(self.entity.key)
        if self.plan.operation == "PutItem":
            for rule in self.entity.sentinels:
                yield f"the unique {', '.join(rule.fields)} of {self.entity.name}", self._key(rule.key)

    def _key(self, bound: BoundKey) -> Origin:
        return (self.plan.schema.name, *(_made(part, self.sources) for part in bound.attributes))

    @property
    def varies(self) -> bool:
        """Whether its repetitions are about different items."""
        return any(isinstance(source, Each) for source in self.sources.values())


def written_by(transaction: Transaction[Any]) -> list[Written]:
    """Every step of a transaction with the sources of its key fields, where they can be told."""
    found = []
    for position, step in enumerate(transaction.steps, 1):
        plan = step.call.pattern.plan
        fields = dict.fromkeys(plan.entity.key.fields)
        if plan.operation == "PutItem":
            fields.update(dict.fromkeys(name for rule in plan.entity.sentinels for name in rule.fields))
        own = key_sources(plan)
        sources = {name: substitute(own[name], step.call.arguments) for name in fields if name in own}
        found.append(Written(position, step, plan, sources))
    return found


def key_sources(plan: Plan) -> dict[str, Source]:
    """Where the fields of the item come from that a write is about, in the write's own parameters."""
    if plan.operation == "PutItem" and isinstance(plan.item, Param):
        return {name: getattr(plan.item, name) for name in plan.entity.fields}
    if plan.key is None:
        return {}
    found: dict[str, Source] = {}
    for value in plan.key.values:
        found.update(value.sources)
    return found


def origin_of(source: Source) -> Origin:
    """A source as something that can be compared."""
    if isinstance(source, Param):
        return ("parameter", source._name, *source._path)
    if isinstance(source, Each):
        return ("each", *(origin_of(source.values) if isinstance(source.values, Param) else source.values))
    return ("constant", repr(source))


def _made(part: BoundKeyAttribute, sources: Mapping[str, Source]) -> Origin:
    if part.template is None:
        return tuple(_of_field(name, sources) for name in part.fields)
    return tuple(
        one.text if isinstance(one, Text) else (one.spec, *_of_field(one.name, sources)) for one in part.template.parts
    )


def _of_field(name: str, sources: Mapping[str, Source]) -> Origin:
    # What is not known is equal to nothing, itself included.
    return origin_of(sources[name]) if name in sources else (object(),)
