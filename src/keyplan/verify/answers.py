"""Computes the expected results of read patterns from a design's declarations, and compares them with the actual
results.

The declarations are evaluated on entity objects, without using keys, indexes or requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, get_args

from keyplan.cost.selectivity import entity_field_name
from keyplan.design.conditions.builders import KeyCondition
from keyplan.design.conditions.conditions import Condition
from keyplan.design.conditions.evaluation import fill, holds
from keyplan.design.declaring.patterns import Page, Pattern
from keyplan.design.entities import Entity, EntitySpec, ReadModel
from keyplan.design.fields.annotations import plain_value
from keyplan.design.keys.placeholders import BoundPlaceholder
from keyplan.design.parameters import CALL_SOURCES, Each, EveryShard, Param, Source, value_of
from keyplan.design.planning.plan import KeyValue, Plan
from keyplan.design.requests.items import absent_as_none, item_builder, prefix_text
from keyplan.design.requests.writer import Arguments
from keyplan.verify.generate import has_choices
from keyplan.verify.model import StoredEntities, index_key, position_of, read_back
from keyplan.verify.population import AlignedPart, align

Op = Literal["=", "<", "<=", ">", ">=", "between", "begins_with", "reads"]
_SHOWN = 3


def evaluate_condition(condition: Condition, values: Mapping[str, Any]) -> bool | None:
    """Return whether a condition is true for the field values `values`. Return None if the condition cannot be
    evaluated.
    """
    try:
        return holds(condition, values)
    except (TypeError, ValueError):
        return None  # the operand cannot be stored, such as a datetime without a time zone


@dataclass(frozen=True, eq=False)
class KeyTest:
    """A comparison of one field with values, derived from the key condition of a pattern."""

    field: str
    op: Op
    low: Source
    high: Source = None
    encoded: BoundPlaceholder | None = None
    """The placeholder whose encoding is applied to both sides of the comparison. None if unencoded values
    are compared.
    """
    text_placeholder: BoundPlaceholder | None = None
    """The placeholder of the compared parameter, if the pattern specifies the key as text. None for other keys."""

    def text(self, arguments: Arguments) -> str:
        """Return a description of the comparison that contains the argument values of a call."""
        if self.op == "between":
            return f"{self.field} between {_value(self.low, arguments)!r} and {_value(self.high, arguments)!r}"
        value = _value(self.low, arguments)
        if self.op == "begins_with":
            return f"begins_with({self.field}, {value!r})"
        if isinstance(self.low, Each):
            return f"{self.field} in ({', '.join(map(repr, value))})"
        return f"{self.field} {'=' if self.op == 'reads' else self.op} {value!r}"


@dataclass(frozen=True, eq=False)
class ReadMeaning:
    """The rules that determine which stored items a read pattern should return, derived from the pattern's
    declaration.
    """

    plan: Plan
    key_tests: tuple[KeyTest, ...]
    unmatched_texts: tuple[str, ...]
    """The keys that the pattern specifies as text but that do not match any key of the entity.

    If such keys exist, the expected result is unknown.
    """

    def key_tests_of(self, spec: EntitySpec) -> tuple[KeyTest, ...]:
        """Return the comparisons in the key condition, with the field names of the given entity."""
        return _key_tests_of(self, spec)

    def includes(self, spec: EntitySpec, entity: Entity, arguments: Arguments, now_s: int) -> bool | None:
        """Return whether a call with these arguments should return `entity`. Return None if this is unknown.

        `spec` declares the entity, and `now_s` is the current time in epoch seconds.
        """
        values = entity.__dict__
        verdicts: list[bool | None] = []
        for key_test in self.key_tests_of(spec):
            verdicts.append(key_test.field in spec.fields and _passes(key_test, values[key_test.field], arguments))
            if verdicts[-1] is False:
                return False
        if not self.may_hold(spec, entity, now_s):
            return False
        if self.plan.filter is not None:
            stored = {name: absent_as_none(value) for name, value in values.items()}
            stored |= {name: stored.get(own_name) for name, own_name in _foreign_field_names(self.plan, spec).items()}
            verdicts.append(evaluate_condition(fill(self.plan.filter, arguments), stored))
        return False if False in verdicts else None if None in verdicts else True

    def constants(self, spec: EntitySpec, entities: Sequence[Entity]) -> Sequence[Entity]:
        """Return the entity objects that satisfy all comparisons with constants in the pattern's key condition."""
        fixed = [
            key_test
            for key_test in self.key_tests_of(spec)
            if not isinstance(key_test.low, CALL_SOURCES) and key_test.high is None
        ]
        if not fixed:
            return entities
        return [
            entity
            for entity in entities
            if all(_passes(key_test, getattr(entity, key_test.field), {}) for key_test in fixed)
        ]

    def may_hold(self, spec: EntitySpec, entity: Entity, now_s: int) -> bool:
        """Return True if reads of the pattern's table or index can return an entity object.

        Return False if the object is not in the index. Also return False if the object has expired and the pattern
        omits expired items.
        """
        if self.plan.index is not None:
            bound = spec.key_in(self.plan.index)
            if bound is None or not index_key(bound, spec).holds(entity.__dict__):
                return False
        return self.plan.expired == "keep" or not has_expired(spec, entity, now_s)

    def expected_items(
        self, stored_entities: StoredEntities, arguments: Arguments, now_s: int
    ) -> list[tuple[EntitySpec, Entity]] | None:
        """Return the declaration and the object of each stored entity that a call with these arguments should return.

        Return None if the expected result is unknown.
        """
        items = []
        for spec in self.plan.entities:
            exact = [
                key_test
                for key_test in self.key_tests_of(spec)
                if key_test.op == "=" and key_test.encoded is None and not isinstance(key_test.low, (Each, EveryShard))
            ]
            fields = tuple(dict.fromkeys(key_test.field for key_test in exact))
            values = {key_test.field: _value(key_test.low, arguments) for key_test in exact}
            if any(name not in spec.fields for name in fields):
                continue
            for entity in stored_entities.with_values(spec, fields, [values[name] for name in fields]):
                verdict = self.includes(spec, entity, arguments, now_s)
                if verdict is None:
                    return None
                if verdict:
                    items.append((spec, entity))
        return items

    def text(self, arguments: Arguments) -> str:
        """Return a description of the key condition that contains the argument values of a call."""
        return " and ".join(key_test.text(arguments) for key_test in self.key_tests) or "the pattern"


@lru_cache(maxsize=4096)
def _key_tests_of(meaning: ReadMeaning, spec: EntitySpec) -> tuple[KeyTest, ...]:
    bound = spec.key_in(meaning.plan.index)
    if bound is None:
        return meaning.key_tests
    return tuple(
        replace(key_test, field=entity_field_name(meaning.plan, bound, key_test.field))
        for key_test in meaning.key_tests
    )


@lru_cache(maxsize=4096)
def _foreign_field_names(plan: Plan, spec: EntitySpec) -> dict[str, str]:
    """Map the field names of the other entities of a plan to this entity's names for the same attributes.

    A condition compares attributes, and entities can use different field names for the same attribute. A field name is
    mapped to "" if this entity does not store the attribute. The condition is then false.
    """
    names_by_attribute = {stored.attribute: name for name, stored in spec.fields.items()}
    return {
        name: names_by_attribute.get(stored.attribute, "")
        for other in plan.entities
        for name, stored in other.fields.items()
        if name not in spec.fields
    }


def has_expired(spec: EntitySpec, entity: Entity, now_s: int) -> bool:
    """Return True if the expiry time of an entity object has passed."""
    ttl = spec.checked_expiry
    if ttl is None:
        return False
    value = item_builder(spec).item(entity).get(ttl)
    return value is not None and "N" in value and float(value["N"]) <= now_s


@lru_cache(maxsize=4096)
def meaning_of(pattern: Pattern[..., Any]) -> ReadMeaning:
    """Return the rules that determine which stored items a read pattern should return. Results are cached."""
    plan = pattern.plan
    terms = pattern._terms
    if not isinstance(terms, KeyCondition):
        return ReadMeaning(plan, tuple(KeyTest(name, "=", source) for name, source in terms.key.items()), ())
    lossy = _partial_encodings(plan)
    sources = {**terms.partition, **terms.sort}
    key_tests = [KeyTest(name, "=", source, encoded=lossy.get(name)) for name, source in sources.items()]
    if terms.range is not None:
        key_range = terms.range
        encoded = _encoded_prefix(plan) if key_range.op == "begins_with" else _ranks(plan).get(key_range.field)
        key_tests.append(KeyTest(key_range.field, key_range.op, key_range.low, key_range.high, encoded=encoded))
    text_tests, unmatched_texts = _text_key_tests(plan, terms)
    return ReadMeaning(plan, (*key_tests, *text_tests), tuple(unmatched_texts))


def _partial_encodings(plan: Plan) -> dict[str, BoundPlaceholder]:
    """Return the placeholders that encode only a part of a field's value, such as the month of a date, by field name.

    Fields that another placeholder of the key condition encodes completely are omitted.
    """
    if plan.key is None:
        return {}
    values = [*plan.key.partition, *(sort.low for sort in plan.key.sort if sort.op in {"=", "begins_with"})]
    placeholders = [
        placeholder
        for value in values
        if value.template is not None
        for placeholder in value.template.placeholders
        if placeholder.name in value.sources
    ]
    exact = {placeholder.name for placeholder in placeholders if placeholder.encoding.reversible}
    return {placeholder.name: placeholder for placeholder in placeholders if placeholder.name not in exact}


def _encoded_prefix(plan: Plan) -> BoundPlaceholder | None:
    """Return the placeholder that encodes the compared value of a begins_with condition in the sort key.

    Return None if the sort key has no such condition, or if it contains the value unencoded.
    """
    low = plan.key.sort[-1].low if plan.key is not None and plan.key.sort else None
    if low is None or low.template is None or low.part != "begins":
        return None
    name = list(low.sources)[-1]
    placeholder = next(placeholder for placeholder in low.template.placeholders if placeholder.name == name)
    return None if placeholder.field.type is str else placeholder


def _ranks(plan: Plan) -> dict[str, BoundPlaceholder]:
    """Return a mapping from field names to the placeholders with the format `rank`, which encode a value as its
    position among the choices.
    """
    values = [value for sort in plan.key.sort for value in (sort.low, sort.high) if value] if plan.key else []
    placeholders = [
        placeholder for value in values if value.template is not None for placeholder in value.template.placeholders
    ]
    return {placeholder.name: placeholder for placeholder in placeholders if placeholder.spec.startswith("rank")}


def _text_key_tests(plan: Plan, terms: KeyCondition) -> tuple[list[KeyTest], list[str]]:
    """Return the comparisons that follow from the keys that a pattern specifies as text.

    Also return the texts that do not match any key of the entity.
    """
    key_tests: list[KeyTest] = []
    unmatched_texts: list[str] = []
    if plan.key is None:
        return key_tests, unmatched_texts
    if terms.partition_text is not None:
        pairs = _align_key(plan, plan.key.partition[0])
        unmatched_texts += [terms.partition_text] if pairs is None else []
        key_tests += [_equal(pair) for pair in pairs or ()]
    if terms.sort_text is not None and plan.key.sort:
        (condition,) = plan.key.sort
        low = _align_key(plan, condition.low)
        high = None if condition.high is None else _align_key(plan, condition.high)
        if low is None or (condition.high is not None and (high is None or len(high) != len(low))):
            unmatched_texts.append(terms.sort_text.low)
        elif low:
            key_tests += [_equal(pair) for pair in low[:-1]]
            key_tests.append(_range_test(terms.sort_text.op, low[-1], None if high is None else high[-1]))
    return key_tests, unmatched_texts


def _align_key(plan: Plan, key_value: KeyValue) -> list[AlignedPart] | None:
    bound = next((bound for spec in plan.entities if (bound := spec.key_in(plan.index)) is not None), None)
    assert bound is not None, "a plan with a key condition has an entity with this key"
    part = next(part for part in bound.attributes if part.attribute == key_value.attribute)
    return None if part.template is None else align(part.template, key_value)


def _equal(pair: AlignedPart) -> KeyTest:
    if pair.literal is not None:
        return KeyTest(pair.field, "reads", pair.literal, encoded=pair.encoded)
    return KeyTest(pair.field, "=", pair.source)


def _range_test(op: str, low: AlignedPart, high: AlignedPart | None) -> KeyTest:
    if low.literal is not None or op == "=":
        return _equal(low)
    if op == "begins_with":
        is_complete = low.is_complete or (isinstance(low.source, Param) and repr(low.source) == low.field)
        if is_complete and not low.is_part:
            return KeyTest(low.field, "=", low.source)
        return KeyTest(low.field, "begins_with", low.source, encoded=low.encoded, text_placeholder=low.text_placeholder)
    if high is not None:
        return KeyTest(low.field, "between", low.source, high.source)
    return KeyTest(low.field, op, low.source)  # type: ignore[arg-type]  # the remaining operators


def _value(source: Source, arguments: Arguments) -> Any:
    return source if isinstance(source, EveryShard) else value_of(source, arguments)


def _passes(key_test: KeyTest, value: Any, arguments: Arguments) -> bool | None:
    if isinstance(key_test.low, EveryShard):
        return True
    if value is None:
        return False
    if key_test.op == "reads" and key_test.encoded is not None:
        return bool(key_test.encoded.encode(value) == key_test.low)
    low = _value(key_test.low, arguments)
    if key_test.encoded is not None:
        return _passes_encoded(key_test, key_test.encoded.encode, value, low, arguments)
    if isinstance(key_test.low, Each):
        return plain_value(value) in [plain_value(member) for member in low]
    try:
        return _OPS[key_test.op](plain_value(value), plain_value(low), plain_value(_value(key_test.high, arguments)))
    except TypeError:
        return None  # the types differ from the field's: the expected result is unknown


def _passes_encoded(
    key_test: KeyTest, encode: Callable[[Any], str], value: Any, low: Any, arguments: Arguments
) -> bool | None:
    """Return whether the encoded form of a field's value passes the comparison `key_test`. Return None if this is
    unknown.

    `encode` returns the encoded form of a value. `low` is the value that the call compares with the field.
    """
    if key_test.op in _ORDERING:
        high = None if key_test.high is None else encode(_value(key_test.high, arguments))
        return _OPS[key_test.op](encode(value), encode(low), high)
    if key_test.text_placeholder is not None:
        return encode(value).startswith(key_test.text_placeholder.encode(low))
    if key_test.op == "begins_with" and key_test.encoded is not None:
        return encode(value).startswith(prefix_text(key_test.encoded, low))
    return encode(value) in [encode(member) for member in (low if isinstance(key_test.low, Each) else (low,))]


def _starts_with(value: Any, low: Any, _high: Any) -> bool | None:
    return value.startswith(low) if isinstance(value, str) and isinstance(low, str) else None


_ORDERING = frozenset({"<", "<=", ">", ">=", "between"})
_OPS: dict[str, Callable[[Any, Any, Any], bool | None]] = {
    "=": lambda value, low, _high: bool(value == low),
    "<": lambda value, low, _high: bool(value < low),
    "<=": lambda value, low, _high: bool(value <= low),
    ">": lambda value, low, _high: bool(value > low),
    ">=": lambda value, low, _high: bool(value >= low),
    "between": lambda value, low, high: bool(low <= value <= high),
    "begins_with": _starts_with,
}


Matches = Sequence[tuple[EntitySpec, Entity]]


def entities_in(result: Any) -> list[ReadModel]:
    """Return a list of the entity objects in the result of a pattern call."""
    if isinstance(result, Page):
        return list(result.items)
    if isinstance(result, list):
        return [entity for entity in result if entity is not None]
    return [result] if isinstance(result, ReadModel) else []


def difference(
    pattern: Pattern[..., Any], stored_entities: StoredEntities, arguments: Arguments, result: Any, now_s: int
) -> str | None:
    """Return a description of how a result differs from the expected result.

    Return None if the results are equal. Also return None if the expected result is unknown.
    """
    meaning = meaning_of(pattern)
    expected = meaning.expected_items(stored_entities, arguments, now_s)
    if expected is None or meaning.unmatched_texts or (isinstance(result, int) and meaning.plan.schema.literal):
        return None  # a count of a literal table counts the items of all entities
    text = meaning.text(arguments)
    if isinstance(result, int):
        return None if result == len(expected) else f"counts {result}, but {len(expected)} items match {text}"
    returned = entities_in(result)
    return next(_differences(meaning, text, expected, returned, arguments), None) or _out_of_order(
        pattern, expected, returned
    )


def _differences(
    meaning: ReadMeaning, text: str, expected: Matches, returned: Sequence[ReadModel], arguments: Arguments
) -> Iterator[str]:
    plan = meaning.plan
    expected_by_position = {(spec, position_of(spec, entity)): entity for spec, entity in expected}
    by_position = {_position_key(plan, entity): entity for entity in returned}
    expected_count = len(expected) if plan.limit is None else min(plan.limit, len(expected))
    unexpected = [entity for position, entity in by_position.items() if position not in expected_by_position]
    missing_items = [
        (spec, entity)
        for (spec, position), entity in expected_by_position.items()
        if (spec, position) not in by_position
    ]
    if len(returned) < expected_count:
        cause = _common_cause(meaning, missing_items, arguments)
        yield f"returns {len(returned)} items, but {len(expected)} match {text}{cause}"
    if len(by_position) < len(returned):
        yield f"returns {len(returned) - len(by_position)} items twice"
    if unexpected:
        yield f"returns {_item_names(plan, unexpected)}, which does not match {text}"
    if plan.view is not None:
        for position, entity in by_position.items():
            if position in expected_by_position and any(
                getattr(expected_by_position[position], name) != stored for name, stored in entity
            ):
                yield f"returns {entity!r}, but {expected_by_position[position]!r} was stored"
    elif plan.index is None or plan.hydrated or plan.index.kind == "LSI" or plan.index.project in {"all", None}:
        for position, entity in by_position.items():
            if (
                position in expected_by_position
                and expected_by_position[position] != entity
                and read_back(position[0], expected_by_position[position]) != entity
            ):
                yield f"returns {entity!r}, but {expected_by_position[position]!r} was stored"


def _spec_of(plan: Plan, entity: ReadModel) -> EntitySpec:
    return next(spec for spec in plan.entities if type(entity) in {spec.model, plan.view})


def _position_key(plan: Plan, entity: ReadModel) -> tuple[EntitySpec, bytes]:
    spec = _spec_of(plan, entity)
    return spec, position_of(spec, entity)


def _item_names(plan: Plan, entities: Sequence[ReadModel]) -> str:
    names = []
    for entity in entities[:_SHOWN]:
        spec = _spec_of(plan, entity)
        names.append(_item_name(spec, entity))
    return ", ".join(names) + (f" and {len(entities) - _SHOWN} more" if len(entities) > _SHOWN else "")


def _item_name(spec: EntitySpec, entity: ReadModel) -> str:
    return f"{spec.name}({', '.join(f'{name}={getattr(entity, name)!r}' for name in spec.key.fields)})"


def _common_cause(meaning: ReadMeaning, missing_items: Matches, arguments: Arguments) -> str:
    """Return a description of a property that all missing results share, to append to an error message. Return an empty
    string if none is found.
    """
    for number, key_test in enumerate(meaning.key_tests):
        if key_test.op != "between" or not missing_items:
            continue
        high = value_of(key_test.high, arguments)
        if all(getattr(entity, meaning.key_tests_of(spec)[number].field) == high for spec, entity in missing_items):
            return f": all items with the last {key_test.field} of the range are missing"
    entity_names = {spec.name for spec, _ in missing_items}
    if len(meaning.plan.entities) > 1 and len(entity_names) == 1:
        return (
            f": no {entity_names.pop()} is returned"
            if len(missing_items) > 1
            else f": a {entity_names.pop()} is missing"
        )
    return ""


def _out_of_order(pattern: Pattern[..., Any], expected: Matches, returned: Sequence[ReadModel]) -> str | None:
    """Return a message if results are not in the declared order, or if the limit cut off items that should come first.
    Otherwise, return None.
    """
    ordered_by = pattern.facts.ordered_by
    if not ordered_by:
        return None
    name = ordered_by.removeprefix("-")
    spec = next((spec for spec in pattern.plan.entities if name in spec.fields), None)
    values = [getattr(entity, name) for entity in returned if getattr(entity, name, None) is not None]
    if spec is None:
        return None
    is_descending = pattern.plan.descending or ordered_by != name
    expected_values = [getattr(entity, name, None) for _, entity in expected]
    choices = _choices(spec, name) if has_choices(spec.fields[name]) else None
    if choices and (_has_rank(spec, pattern.plan, name) or not set(values) | set(expected_values) <= {*choices, None}):
        return None
    rank = choices.index if choices else _identity
    if not _is_ascending([rank(value) for value in (reversed(values) if is_descending else values)]):
        return _alphabetical_text(values, name) if choices else f"is not in the order of {name}"
    expected_first = [] if None in expected_values else sorted(expected_values, key=rank, reverse=is_descending)
    misplaced = next((pair for pair in zip(expected_first, values, strict=False) if pair[0] != pair[1]), None)
    return (
        None
        if misplaced is None
        else f"returns {plain_value(misplaced[1])!r} where {name} {plain_value(misplaced[0])!r} comes first"
    )


def _identity(value: Any) -> Any:
    return value


def _choices(spec: EntitySpec, name: str) -> list[Any]:
    """Return the values that a field of type bool, Literal or Enum can have, in their declared order."""
    field_type = spec.fields[name].annotation
    return [False, True] if field_type is bool else list(get_args(field_type)) or list(field_type)


def _has_rank(spec: EntitySpec, plan: Plan, name: str) -> bool:
    """Return True if the sort key contains the position of the field's value among its choices."""
    bound = spec.key_in(plan.index)
    placeholders = (
        [placeholder for part in bound.sort if part.template for placeholder in part.template.placeholders]
        if bound
        else []
    )
    return any(placeholder.name == name and placeholder.spec.startswith("rank") for placeholder in placeholders)


def _alphabetical_text(values: Sequence[Any], name: str) -> str:
    values_text = ", ".join(str(plain_value(value)) for value in dict.fromkeys(values))
    return f"is in the alphabetical order {values_text}, not in the order of {name}"


def _is_ascending(values: Sequence[Any]) -> bool:
    return all(value <= next_value for value, next_value in pairwise(values))
