"""Rules for transactions: size, repeated items and contention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from keyplan import limits
from keyplan.check.finding import Finding, number
from keyplan.check.partition_load import key_share
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected, expected_for_plan, sentinel_writes
from keyplan.cost.sizes import item_size
from keyplan.design.declaring.argument_checks import has_validator
from keyplan.design.declaring.transactions import Transaction, TransactionStep
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.placeholders import Text
from keyplan.design.parameters import Each, Param, Source, annotation_of, attribute_of, substitute
from keyplan.design.planning.plan import Plan


@design_rule("KP601", "error", "warning")
def transaction_too_large(subject: Subject) -> Iterator[Finding]:
    """Transaction is too large

    Finds transactions with more than 100 actions or more than 4 MB of data (error). Also finds steps that are repeated
    for each element of a list without a maximum length (warning). A repeated step adds one action for each element.
    Each unique constraint of an entity adds an action on the item that reserves the value, or two actions if the value
    can change.

    Why is this bad? DynamoDB rejects a transaction with more than 100 actions or more than 4 MB of data. A list that
    has ten elements today can have two hundred later.

    Fix: limit the length of the list (`Annotated[list[TaskId], Field(max_length=50)]`), and split the work into several
    transactions, each of which leaves the data consistent. Alternatively, record the change in a single item, and check
    this item when reading the data.

    Source: developer guide, "Managing complex workflows with DynamoDB transactions"; API reference, TransactWriteItems.
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
    """Return the maximum number of times that a step of a transaction is executed, or None if it is unbounded."""
    if step.repeated is None:
        return 1
    if isinstance(step.repeated.values, tuple):
        return len(step.repeated.values)
    declared = _declared_length(step.repeated)
    returns = transaction.facts.expected_items
    return declared if declared is not None else returns if returns and returns > limits.TRANSACTION_ACTIONS else None


def _declared_length(repetition: Each) -> int | None:
    marks = list(get_args(annotation_of(repetition.values)))
    marks += [part for mark in marks for part in getattr(mark, "metadata", ())]
    return next((mark.max_length for mark in marks if isinstance(getattr(mark, "max_length", None), int)), None)


def _actions_of(plan: Plan) -> int:
    """Return the number of transaction actions for a write, including the actions on the items that reserve unique
    values.
    """
    replaces = plan.operation == "PutItem" and plan.reads_first
    return 1 + (2 * len(plan.entity.sentinels) if replaces else sentinel_writes(plan))


def _too_many(transaction: Transaction[Any], actions: int) -> Finding:
    return transaction_too_large.finding(
        transaction.name,
        f"{transaction.name} fails: it can have {actions} actions, and a transaction has at most"
        f" {limits.TRANSACTION_ACTIONS}",
        "split it into transactions that are each correct alone",
        transaction.place,
    )


def _unbounded(transaction: Transaction[Any], step: TransactionStep) -> Finding:
    return transaction_too_large.finding(
        transaction.name,
        f"{transaction.name} fails with more than {limits.TRANSACTION_ACTIONS} actions: it repeats"
        f" {step.call.pattern.name} for each of {_repeated_values(step)}, which has no maximum length",
        "bound the parameter, such as Annotated[list[str], Field(max_length=50)], and split the work",
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
            f"{transaction.name} fails: it puts up to {total / limits.MIB:.1f} MB of items, and a"
            " transaction has at most 4 MB",
            "split it, or write the large part of the items before the transaction",
            transaction.place,
        )


@design_rule("KP602", "error", "warning", conflicts=True)
def duplicate_item_in_transaction(subject: Subject) -> Iterator[Finding]:
    """Transaction writes an item twice

    Finds transactions with two steps whose keys are equal because they come from the same parameters. Also finds
    repeated steps whose key does not depend on the repeated value, and two new items with the same unique value. A step
    that adds an amount to an item for each element of a list is reported if two elements can identify the same item
    (warning). Such a step is not reported if the parameter is a set, or a list with a pydantic validator such as
    `AfterValidator(no_repeats)`.

    Why is this bad? DynamoDB rejects a transaction with two actions on one item, even if one of them only checks a
    condition.

    Fix: combine the changes in one pattern: `item(...).set(...).condition(...)`. For a list, add up the amounts for
    each item before the call, and declare a validator that rejects duplicate elements. The validator runs before a
    request is sent.

    Source: developer guide, "Managing complex workflows with DynamoDB transactions"; API reference, TransactWriteItems:
    no two actions may target the same item.
    """
    for transaction in subject.design.transactions:
        writes_by_key: dict[Origin, tuple[str, TransactionWrite]] = {}
        for write in transaction_writes(transaction):
            if write.step.repeated is not None and not write.varies and write.sources:
                yield _duplicate(
                    transaction.name,
                    f"repeats {write.step.call.pattern.name} for each of {write.step.repeated.values!r} with the"
                    " same key",
                    write,
                    None,
                )
            for label, key in write.keys:
                if key in writes_by_key:
                    first = writes_by_key[key][1]
                    problem = f"writes {label} twice, in step {first.number} ({_pattern_name(first)}) and in step"
                    yield _duplicate(
                        transaction.name,
                        f"{problem} {write.number} ({_pattern_name(write)}), with the same key",
                        write,
                        writes_by_key[key][1],
                    )
                    break
                writes_by_key[key] = (label, write)
            if write.varies and _adds_amount(write.plan) and _may_repeat(write.step.repeated):
                yield _may_be_duplicate(transaction, write)


def _adds_amount(plan: Plan) -> bool:
    """Return True if an update adds to or subtracts from a number. Several such updates to one item can be combined
    into one.
    """
    return any(action.name in {"add", "subtract"} for action in plan.actions)


def _may_repeat(repetition: Each | None) -> bool:
    """Return True if a step is repeated for each value of a list parameter, and no validator of the list rejects
    duplicates.
    """
    if repetition is None or not isinstance(repetition.values, Param) or _declared_length(repetition) == 1:
        return False
    annotation = annotation_of(repetition.values)
    bare = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return (get_origin(bare) or bare) in {list, tuple} and not has_validator(annotation)


def _may_be_duplicate(transaction: Transaction[Any], write: TransactionWrite) -> Finding:
    values = _repeated_values(write.step)
    return duplicate_item_in_transaction.finding(
        transaction.name,
        f"{transaction.name} fails if two of {values} name the same {write.entity.name}:"
        f" {_pattern_name(write)} would write it twice",
        f"add up the amounts of one {write.entity.name} before the call, and reject repeats in {values} with a"
        " validator: Annotated[list[...], AfterValidator(...)]",
        transaction.place.at(f"each({values})"),
        severity="warning",
    )


def _pattern_name(write: TransactionWrite) -> str:
    return write.step.call.pattern.name


def _duplicate(name: str, behaviour: str, write: TransactionWrite, other_write: TransactionWrite | None) -> Finding:
    pattern = write.step.call.pattern
    return duplicate_item_in_transaction.finding(
        name,
        f"{name} fails: it {behaviour}",
        "combine the changes and conditions in one pattern, and use it once",
        pattern.place,
        None if other_write is None else other_write.step.call.pattern.place,
    )


@design_rule("KP603", "advice")
def single_item_transaction(subject: Subject) -> Iterator[Finding]:
    """Transaction has a single write

    Finds transactions that consist of a single step that is not repeated.

    Why is this bad? A single write is atomic and accepts conditions. A transaction costs twice the write units and can
    conflict with other transactions, without a benefit for a single item.

    Fix: call the pattern without a transaction. Writes of entities with unique values become transactions
    automatically.

    Source: developer guide, "Managing complex workflows with DynamoDB transactions" (capacity of transactions).
    """
    for transaction in subject.design.transactions:
        if len(transaction.steps) != 1 or transaction.steps[0].repeated is not None:
            continue
        inner = transaction.steps[0].call.pattern
        if inner.plan.operation == "ConditionCheck" or inner.plan.keeps_unique:
            continue
        single_units, transaction_units = (
            expected(inner).units.total_write,
            expected_for_plan(transaction.plan, transaction.facts).units.total_write,
        )
        yield single_item_transaction.finding(
            transaction.name,
            f"{transaction.name} costs {number(transaction_units)} write units instead of {number(single_units)},"
            " for no"
            f" benefit: its only write is {inner.name}",
            f"call {inner.name} without a transaction",
            transaction.place,
            inner.place,
        )


_CONTENDED_RATE = 10


@design_rule("KP604", "warning")
def contended_transaction(subject: Subject) -> Iterator[Finding]:
    """Transactions conflict on one item

    Finds items that are accessed by more than ten transactions per second. This rate is the peak rate of a transaction,
    multiplied by the share of its calls that access the same item.

    Why is this bad? While a transaction is in progress, other transactions and writes that access its items fail with a
    conflict. Retries resolve occasional conflicts, but a global counter or the account of the largest customer causes
    conflicts constantly.

    Fix: remove the shared item from the transaction, or distribute its data across several items. For example, update a
    counter with a separate atomic `add`, or in a consumer of the stream.

    Source: developer guide, "Managing complex workflows with DynamoDB transactions" (transaction conflict handling).
    """
    for transaction in subject.design.transactions:
        rate = transaction.facts.rate
        if rate is None:
            continue
        for write in transaction_writes(transaction):
            share = key_share(write.entity.key.attributes, write.entity, write.sources)
            if share is None or rate.highest * share <= _CONTENDED_RATE:
                continue
            item = f"the most used {write.entity.name}" if share < 1 else f"the one {write.entity.name}"
            yield contended_transaction.finding(
                transaction.name,
                f"transactions {transaction.name} conflict and fail: {item} is in"
                f" {number(rate.highest * share)} of {number(rate.highest)} per second at the peak (step"
                f" {write.number}, {write.step.call.pattern.name})",
                "move the shared item out of the transaction (a single atomic add, or the stream), or spread"
                " it over several items",
                transaction.place,
                write.step.call.pattern.place,
            )


Origin = tuple[object, ...]
"""The parameter or constant from which a value is taken, in a comparable form. Two values with equal origins are equal
in each call.
"""


@dataclass(frozen=True, eq=False)
class TransactionWrite:
    """A step of a transaction, with the key fields of the item that it writes."""

    number: int
    """The position of the step in the transaction, starting at 1."""
    step: TransactionStep
    plan: Plan
    sources: Mapping[str, Source]
    """The parameter of the transaction, or the constant, from which the value of each key field is taken."""

    @property
    def entity(self) -> EntitySpec:
        """The entity of the item that the step writes."""
        return self.plan.entity

    @property
    def keys(self) -> Iterator[tuple[str, Origin]]:
        """The keys that the step writes: the item's key and, if it creates the item, the keys that reserve its unique
        values.
        """
        yield self.entity.name, self._key(self.entity.key)
        if self.plan.operation == "PutItem":
            for rule in self.entity.sentinels:
                yield f"the unique {', '.join(rule.fields)} of {self.entity.name}", self._key(rule.key)

    def _key(self, bound: BoundKey) -> Origin:
        return (self.plan.schema.name, *(_origin_of(part, self.sources) for part in bound.attributes))

    @property
    def varies(self) -> bool:
        """Return True if each repetition of the step writes a different item."""
        return any(isinstance(source, Each) for source in self.sources.values())


def transaction_writes(transaction: Transaction[Any]) -> list[TransactionWrite]:
    """Return the steps of a transaction with the parameters and constants from which their key fields are taken."""
    writes = []
    for position, step in enumerate(transaction.steps, 1):
        plan = step.call.pattern.plan
        fields = dict.fromkeys(plan.entity.key.fields)
        if plan.operation == "PutItem":
            fields.update(dict.fromkeys(name for rule in plan.entity.sentinels for name in rule.fields))
        key_values = key_sources(plan)
        sources = {name: substitute(key_values[name], step.call.arguments) for name in fields if name in key_values}
        writes.append(TransactionWrite(position, step, plan, sources))
    return writes


def key_sources(plan: Plan) -> dict[str, Source]:
    """Return the parameter or constant from which each key field of the written item is taken.

    Parameters are those of the pattern, not of a transaction that contains it.
    """
    if plan.operation == "PutItem" and isinstance(plan.item, Param):
        return {name: attribute_of(plan.item, name) for name in plan.entity.fields}
    if plan.key is None:
        return {}
    sources: dict[str, Source] = {}
    for value in plan.key.values:
        sources.update(value.sources)
    return sources


def origin_of(source: Source) -> Origin:
    """Return a comparable form of the parameter or constant from which a value is taken."""
    if isinstance(source, Param):
        return ("parameter", source._name, *source._path)
    if isinstance(source, Each):
        return ("each", *(origin_of(source.values) if isinstance(source.values, Param) else source.values))
    return ("constant", repr(source))


def _origin_of(part: BoundKeyAttribute, sources: Mapping[str, Source]) -> Origin:
    if part.template is None:
        return tuple(_of_field(name, sources) for name in part.fields)
    return tuple(
        piece.text if isinstance(piece, Text) else (piece.spec, *_of_field(piece.name, sources))
        for piece in part.template.parts
    )


def _of_field(name: str, sources: Mapping[str, Source]) -> Origin:
    # An unknown value equals nothing, not even itself.
    return origin_of(sources[name]) if name in sources else (object(),)
