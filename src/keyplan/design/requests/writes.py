"""Request builders for puts, updates, deletes and condition checks, and the condition of each write.

The condition tests whether the item exists, whether it has expired, and whether it has the expected version. Reads and
writes treat an item as deleted after its expiry time, because DynamoDB can take several days to delete it.

A plan describes the requests of a pattern, with parameters in place of values. A builder inserts the arguments of a
call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from keyplan.design.conditions.conditions import AndCondition, OrCondition
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.fields.annotations import AttributeValue
from keyplan.design.fields.stored import encode_value, is_stored_as_absent
from keyplan.design.parameters import WRITE_TIME, Source
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.items import ComputedFields, Item, check_model, item_builder, item_key_maker
from keyplan.design.requests.updates import UpdateExpression
from keyplan.design.requests.writer import Arguments, ExpressionWriter, Fragment, RequestPlaceholders, reader

NOW = "*now*"
"""The name of the argument that contains the time of the call, in whole seconds since 1970."""


def with_time(arguments: Arguments, now_s: float) -> dict[str, Any]:
    """Return the arguments of a call together with the time of the call. `now_s` is in seconds since 1970."""
    return {**arguments, NOW: int(now_s), WRITE_TIME._name: datetime.fromtimestamp(now_s, UTC)}


def now_value(arguments: Arguments) -> AttributeValue:
    """Return the time of the call as a Number of seconds since 1970."""
    return {"N": str(arguments[NOW])}


class WriteConditions:
    """The conditions that the write requests of a plan contain."""

    def __init__(self, plan: Plan, placeholders: RequestPlaceholders) -> None:
        self._spec = plan.entity
        self._placeholders = placeholders
        self._fixed = [*self._existence(plan), *self._declared_condition(plan)]
        self._version = None if plan.version is None else _ExpectedVersion(plan.version, self._spec, placeholders)
        self._known_values = [
            _KnownValue(name, source, self._spec, placeholders) for name, source in plan.assumed.items()
        ]
        self.has_conditions = bool(self._fixed or self._version or self._known_values)
        """Whether writes of this plan have a condition."""

    def bind(self, arguments: Arguments, names: dict[str, str], values: dict[str, AttributeValue]) -> str | None:
        """Return the condition expression for a call, or None if the plan has no condition.

        Its placeholders are added to `names` and `values`.
        """
        fragments = self._fixed
        if self._version is not None or self._known_values:
            fragments = [
                *fragments,
                *(part.fragment(arguments) for part in (self._version, *self._known_values) if part),
            ]
        if not fragments:
            return None
        return _joined_with_and(fragments, [fragment.bind(arguments, names, values) for fragment in fragments])

    @property
    def longest(self) -> str:
        """The longest possible condition expression, or an empty string if the plan has no condition."""
        fragments = [*self._fixed, *(part.longest for part in (self._version, *self._known_values) if part)]
        if not fragments:
            return ""
        return _joined_with_and(fragments, [fragment.longest for fragment in fragments])

    def _writer(self) -> ExpressionWriter:
        return ExpressionWriter(self._placeholders, self._spec.fields)

    def _existence(self, plan: Plan) -> list[Fragment]:
        ttl = self._spec.checked_expiry
        if plan.exists == "must":
            writer = self._writer()
            exists = writer.fragment(f"attribute_exists({writer.name(plan.schema.partition)})")
            return [exists] if ttl is None else [exists, self._not_expired(ttl)]
        if plan.exists == "must_not":
            return [self._absence(plan, ttl)]
        if plan.operation == "UpdateItem" and ttl is not None:
            return [self._not_expired(ttl)]  # an upsert must not revive an expired item
        return []

    def _not_expired(self, ttl: str) -> Fragment:
        writer = self._writer()
        return writer.fragment(not_expired(writer, ttl), has_or=True)

    def _absence(self, plan: Plan, ttl: str | None) -> Fragment:
        """Return the condition under which a `create` pattern may write its item: no such item exists, the existing
        item has expired, or the pattern allows replacing it.
        """
        writer = self._writer()
        texts = [f"attribute_not_exists({writer.name(plan.schema.partition)})"]
        if ttl is not None:
            texts.append(expired(writer, ttl))
        if plan.replaceable is not None:
            text = writer.condition(plan.replaceable)
            texts.append(f"({text})" if isinstance(plan.replaceable, AndCondition) else text)
        return writer.fragment(" OR ".join(texts), has_or=len(texts) > 1)

    def _declared_condition(self, plan: Plan) -> list[Fragment]:
        if plan.condition is None:
            return []
        writer = self._writer()
        return [writer.fragment(writer.condition(plan.condition), has_or=isinstance(plan.condition, OrCondition))]


def _joined_with_and(fragments: Sequence[Fragment], texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    pairs = zip(fragments, texts, strict=True)
    return " AND ".join(f"({text})" if fragment.has_or else text for fragment, text in pairs)


def not_expired(writer: ExpressionWriter, ttl: str) -> str:
    """Return the condition that an item has not expired. `ttl` is the expiry attribute."""
    name = writer.name(ttl)
    return f"attribute_not_exists({name}) OR {name} > {writer.value('now', now_value)}"


def expired(writer: ExpressionWriter, ttl: str) -> str:
    """Return the condition that an item has expired. `ttl` is the expiry attribute."""
    return f"{writer.name(ttl)} <= {writer.value('now', now_value)}"


class _ExpectedVersion:
    """The condition that an item has the expected version. An item without a version attribute has version 0."""

    def __init__(self, source: Source, spec: EntitySpec, placeholders: RequestPlaceholders) -> None:
        assert spec.version is not None, "only a versioned entity has an expected version"
        self._read = reader(source)
        writer = ExpressionWriter(placeholders, spec.fields)
        name = writer.name(spec.fields[spec.version].attribute)
        value = writer.source(spec.version, source, encode_value)
        self._equal = writer.fragment(f"{name} = {value}")
        text = f"attribute_not_exists({name}) OR {name} = {value}"
        self._equal_or_absent = Fragment(text, self._equal.names, self._equal.values, has_or=True)

    def fragment(self, arguments: Arguments) -> Fragment:
        return self._equal_or_absent if self._read(arguments) == 0 else self._equal

    @property
    def longest(self) -> Fragment:
        return self._equal_or_absent


class _KnownValue:
    """The condition that a field has the value that the caller passed to `.assuming(...)`."""

    def __init__(self, name: str, source: Source, spec: EntitySpec, placeholders: RequestPlaceholders) -> None:
        field = spec.fields[name]
        self._read = reader(source)
        absent = ExpressionWriter(placeholders, spec.fields)
        self._absent = absent.fragment(f"attribute_not_exists({absent.name(field.attribute)})")
        equal = ExpressionWriter(placeholders, spec.fields)
        path = equal.name(field.attribute)
        self._equal = equal.fragment(f"{path} = {equal.source(f'known_{name}', source, field.encode)}")

    def fragment(self, arguments: Arguments) -> Fragment:
        value = self._read(arguments)
        return self._absent if is_stored_as_absent(value) else self._equal

    @property
    def longest(self) -> Fragment:
        return max(self._absent, self._equal, key=lambda expression: len(expression.longest))


def add_expressions(
    request: dict[str, object], condition: str | None, names: Mapping[str, str], values: Mapping[str, AttributeValue]
) -> None:
    """Add a condition, attribute names and attribute values to a request. An empty mapping of names or values is
    omitted, because DynamoDB rejects it.
    """
    if condition is not None:
        request["ConditionExpression"] = condition
    if names:
        request["ExpressionAttributeNames"] = names
    if values:
        request["ExpressionAttributeValues"] = values


Request = dict[str, Any]


class WriteRequest:
    """Request builder for a plan that writes one item.

    `action` builds an action for a transaction, and `request` builds a separate request.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        placeholders = RequestPlaceholders()
        self._conditions = WriteConditions(plan, placeholders)
        self._update = UpdateExpression(plan, placeholders) if plan.operation == "UpdateItem" else None
        self.key = _key_of(plan, self.entity)
        """Builds the primary key of the item that a call writes, given the arguments of the call."""
        self.read_item, self._model = reader(plan.item), plan.entity.model
        """Returns the object to write as a whole item, without checking its class."""
        self._builder = item_builder(plan.entity)
        self._computed = ComputedFields(plan.entity, exists=plan.exists)
        self.sets_fields = self._computed.has_fields
        """Whether fields are computed when a whole item is written: the version or the write times."""
        self._is_put = plan.operation == "PutItem"
        self._is_plain = (
            self._update is None and plan.operation != "ConditionCheck" and not self._conditions.has_conditions
        )
        self._returned = _RETURNED.get(plan.returns)
        self.request: Callable[[Arguments, str], Request] = self._request
        """Builds the request of the plan's operation, given the arguments of a call and the name of the table."""
        if self._is_put and self._is_plain and self._returned is None and not self.sets_fields:
            self.request = self._put_request()
        self.uses_time = plan.entity.checked_expiry is not None or any(
            field.write_time is not None for field in plan.entity.fields.values()
        )
        """Whether the request depends on the time of the call, because the entity expires or stores write times."""

    def entity(self, arguments: Arguments) -> Entity:
        """Return the object to write as a whole item. Raises TypeError unless it is an instance of the
        plan's entity.
        """
        entity: Entity = self.read_item(arguments)
        if entity.__class__ is not self._model:
            check_model(self.plan.pattern, self.plan.entity, entity)
        return entity

    def computed_values(self, arguments: Arguments) -> dict[str, Any]:
        """Return the values of the computed fields if a whole item is written: the version and the write times."""
        return self._computed.values(self.entity(arguments), arguments) if self.sets_fields else {}

    def action(self, arguments: Arguments, table: str) -> Request:
        """Return the parameters of the write for use as an action in a transaction."""
        request: Request
        if self._is_put:
            entity = self.entity(arguments)
            computed = self._computed.values(entity, arguments) if self.sets_fields else None
            request = {"TableName": table, "Item": self._builder.item(entity, computed)}
        else:
            request = {"TableName": table, "Key": self.key(arguments)}
        if self._is_plain:
            return request
        names: dict[str, str] = {}
        values: dict[str, AttributeValue] = {}
        if self._update is not None:
            text = self._update.bind(arguments, names, values)
            if text:
                request["UpdateExpression"] = text
        condition = self._conditions.bind(arguments, names, values)
        if condition is None and self.plan.operation == "ConditionCheck":
            key = self.plan.schema.partition
            names["#key"], condition = key, "attribute_exists(#key) OR attribute_not_exists(#key)"
        add_expressions(request, condition, names, values)
        if condition is not None:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return request

    def _request(self, arguments: Arguments, table: str) -> Request:
        request = self.action(arguments, table)
        if self._returned is not None:
            request["ReturnValues"] = self._returned
        return request

    def _put_request(self) -> Callable[[Arguments, str], Request]:
        """Return a fast function that builds PutItem requests without conditions, which are the most
        frequent writes.
        """
        read_item, model, checked_entity, make_item = self.read_item, self._model, self.entity, self._builder.item

        def request(arguments: Arguments, table: str) -> Request:
            entity = read_item(arguments)
            return {
                "TableName": table,
                "Item": make_item(entity if entity.__class__ is model else checked_entity(arguments)),
            }

        return request


_RETURNED = {"new": "ALL_NEW", "old": "ALL_OLD"}


def _key_of(plan: Plan, entity: Callable[[Arguments], Entity]) -> Callable[[Arguments], Item]:
    if plan.key is not None:
        return item_key_maker(plan.key)
    builder, computed_fields = item_builder(plan.entity), ComputedFields(plan.entity, exists=plan.exists)

    def key(arguments: Arguments) -> Item:
        item = entity(arguments)
        return builder.key({**item.__dict__, **computed_fields.values(item, arguments)})

    return key
