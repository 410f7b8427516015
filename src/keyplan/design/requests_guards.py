"""Conditions that every write carries: the item is there or not, has not expired, has the version that is expected.

An item whose expiry has passed counts as gone, for writes as for reads: the service deletes it hours or days
later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keyplan.design.conditions import All, Any_
from keyplan.design.entities import EntitySpec
from keyplan.design.field_encoding import encode_value, is_nothing
from keyplan.design.field_types import AttributeValue
from keyplan.design.plan import Plan
from keyplan.design.requests_sources import Arguments, reader
from keyplan.design.requests_text import Fragment, Placeholders, Writer
from keyplan.design.symbols import Source

NOW = "*now*"
"""Among the arguments: the moment of the call, whole seconds since 1970."""


def expiry_of(spec: EntitySpec) -> str | None:
    """The attribute that holds the expiry of an entity's items; None where they do not expire."""
    ttl = spec.schema.ttl
    return ttl if any(stored.attribute == ttl for stored in spec.fields.values()) else None


def now_value(arguments: Arguments) -> AttributeValue:
    """The moment of the call as a Number."""
    return {"N": str(arguments[NOW])}


class Guards:
    """The conditions of one writing plan."""

    def __init__(self, plan: Plan, placeholders: Placeholders) -> None:
        self._spec = plan.entity
        self._placeholders = placeholders
        self._always = [*self._existence(plan), *self._own(plan)]
        self._version = None if plan.version is None else _Version(plan.version, self._spec, placeholders)
        self._known = [_Known(name, source, self._spec, placeholders) for name, source in plan.known.items()]

    def bind(self, arguments: Arguments, names: dict[str, str], values: dict[str, AttributeValue]) -> str | None:
        """The whole condition of a call; None where there is none."""
        fragments = self._always
        if self._version is not None or self._known:
            fragments = [*fragments, *(part.fragment(arguments) for part in (self._version, *self._known) if part)]
        if not fragments:
            return None
        return _joined(fragments, [fragment.bind(arguments, names, values) for fragment in fragments])

    @property
    def longest(self) -> str:
        """The condition of the call for which it is longest; empty where there is none."""
        fragments = [*self._always, *(part.longest for part in (self._version, *self._known) if part)]
        if not fragments:
            return ""
        return _joined(fragments, [fragment.longest for fragment in fragments])

    def _writer(self) -> Writer:
        return Writer(self._placeholders, self._spec.fields)

    def _existence(self, plan: Plan) -> list[Fragment]:
        ttl = expiry_of(self._spec)
        if plan.exists == "must":
            writer = self._writer()
            there = writer.fragment(f"attribute_exists({writer.name(plan.schema.partition)})")
            return [there] if ttl is None else [there, self._alive(ttl)]
        if plan.exists == "must_not":
            return [self._absence(plan, ttl)]
        if plan.operation == "UpdateItem" and ttl is not None:
            return [self._alive(ttl)]  # an update that may create must not wake what has expired
        return []

    def _alive(self, ttl: str) -> Fragment:
        writer = self._writer()
        return writer.fragment(alive(writer, ttl), is_choice=True)

    def _absence(self, plan: Plan, ttl: str | None) -> Fragment:
        """That no item is there, or one that may be replaced."""
        writer = self._writer()
        texts = [f"attribute_not_exists({writer.name(plan.schema.partition)})"]
        if ttl is not None:
            texts.append(expired(writer, ttl))
        if plan.replace_when is not None:
            text = writer.condition(plan.replace_when)
            texts.append(f"({text})" if isinstance(plan.replace_when, All) else text)
        return writer.fragment(" OR ".join(texts), is_choice=len(texts) > 1)

    def _own(self, plan: Plan) -> list[Fragment]:
        if plan.condition is None:
            return []
        writer = self._writer()
        return [writer.fragment(writer.condition(plan.condition), is_choice=isinstance(plan.condition, Any_))]


def _joined(fragments: Sequence[Fragment], texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    pairs = zip(fragments, texts, strict=True)
    return " AND ".join(f"({text})" if fragment.is_choice else text for fragment, text in pairs)


def alive(writer: Writer, ttl: str) -> str:
    """That an item has not expired."""
    name = writer.name(ttl)
    return f"attribute_not_exists({name}) OR {name} > {writer.value('now', now_value)}"


def expired(writer: Writer, ttl: str) -> str:
    """That an item has expired."""
    return f"{writer.name(ttl)} <= {writer.value('now', now_value)}"


class _Version:
    """That the item has the version that is expected; one that was never counted has version 0."""

    def __init__(self, source: Source, spec: EntitySpec, placeholders: Placeholders) -> None:
        assert spec.version is not None, "only a versioned entity has an expected version"
        self._read = reader(source)
        writer = Writer(placeholders, spec.fields)
        name = writer.name(spec.fields[spec.version].attribute)
        value = writer.source(spec.version, source, encode_value)
        self._counted = writer.fragment(f"{name} = {value}")
        text = f"attribute_not_exists({name}) OR {name} = {value}"
        self._first = Fragment(text, self._counted.names, self._counted.values, is_choice=True)

    def fragment(self, arguments: Arguments) -> Fragment:
        return self._first if self._read(arguments) == 0 else self._counted

    @property
    def longest(self) -> Fragment:
        return self._first


class _Known:
    """That a field has the value the caller says it has."""

    def __init__(self, name: str, source: Source, spec: EntitySpec, placeholders: Placeholders) -> None:
        stored = spec.fields[name]
        self._read = reader(source)
        absent = Writer(placeholders, spec.fields)
        self._absent = absent.fragment(f"attribute_not_exists({absent.name(stored.attribute)})")
        equal = Writer(placeholders, spec.fields)
        path = equal.name(stored.attribute)
        self._equal = equal.fragment(f"{path} = {equal.source(f'known_{name}', source, stored.encode)}")

    def fragment(self, arguments: Arguments) -> Fragment:
        value = self._read(arguments)
        return self._absent if is_nothing(value) else self._equal

    @property
    def longest(self) -> Fragment:
        return max(self._absent, self._equal, key=lambda one: len(one.longest))


def add_expressions(
    request: dict[str, object], condition: str | None, names: Mapping[str, str], values: Mapping[str, AttributeValue]
) -> None:
    """Put what was bound into a request; empty members are refused, so they are left out."""
    if condition is not None:
        request["ConditionExpression"] = condition
    if names:
        request["ExpressionAttributeNames"] = names
    if values:
        request["ExpressionAttributeValues"] = values
