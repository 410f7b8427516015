"""Request builders for reads of a single item, a batch of items, one or more partitions, or a whole table or index.

A plan describes the requests of a pattern, with parameters in place of values. A builder inserts the arguments of a
call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import AttributeValue
from keyplan.design.keys.entity_keys import BoundKeyAttribute
from keyplan.design.planning.indexes import (
    drops_expired,
    hydration_attributes,
    index_holds,
    index_holds_discriminator,
    needs_whole_items,
    requested_attributes,
)
from keyplan.design.planning.plan import Plan, SortCondition
from keyplan.design.requests.items import item_key_maker, key_identity, key_value_maker, walk_values
from keyplan.design.requests.writer import (
    WALK_VALUE,
    Arguments,
    ExpressionWriter,
    Fragment,
    RequestPlaceholders,
    ValueMaker,
)
from keyplan.design.requests.writes import not_expired

Request = dict[str, Any]


class GetRequest:
    """Request builder for a plan that reads items by key."""

    def __init__(self, plan: Plan) -> None:
        assert plan.key is not None, "a read of one item names it"
        self.plan = plan
        self.key = item_key_maker(plan.key)
        """Builds the primary key of the item that a call reads, given the arguments of the call."""
        self._walk = None if plan.walk is None else walk_values(plan.key, plan.walk[1])
        self.members: Request = {"ConsistentRead": True} if plan.consistent else {}
        self.projection = projection_members(requested_attributes(plan))
        """The request parameters that project the attributes of a view. Empty for whole items."""
        self.members |= self.projection
        """The parameters of every request, except the table and the key."""

    def request(self, arguments: Arguments, table: str) -> Request:
        """Return the parameters of the GetItem request for one item."""
        return {"TableName": table, "Key": self.key(arguments), **self.members}

    def keys(self, arguments: Arguments) -> list[dict[str, AttributeValue]]:
        """Return the keys of a batch read, in the order in which the call passes the values."""
        assert self._walk is not None, "a batch goes over several values"
        return [self.key({**arguments, WALK_VALUE: value}) for value in self._walk(arguments)]

    def batch(self, keys: list[dict[str, AttributeValue]], table: str) -> Request:
        """Return the BatchGetItem request for up to 100 keys."""
        return {"RequestItems": {table: {"Keys": keys, **self.members}}}


def projection_members(attributes: Iterable[str] | None) -> Request:
    """Return the request parameters that project these attributes. If `attributes` is None, return an empty dict."""
    if attributes is None:
        return {}
    writer = ExpressionWriter(RequestPlaceholders(), {})
    text = ", ".join(writer.name(name) for name in attributes)
    return {"ProjectionExpression": text, "ExpressionAttributeNames": dict(writer.fragment(text).names)}


def hydration_members(plan: Plan) -> Request:
    """Return the parameters of the request that reads the full items of a hydrated query or scan. The keys are not
    included.
    """
    members: Request = {"ConsistentRead": True} if plan.consistent else {}
    return members | projection_members(hydration_attributes(plan))


class RangeRequest:
    """Request builder for a query or a scan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        placeholders = RequestPlaceholders()
        self._index = plan.index.name if plan.index is not None else None
        self._partition: list[tuple[str, ValueMaker]] = []
        if plan.key is not None:
            self._partition = [(value.attribute, key_value_maker(value)) for value in plan.key.partition]
        self._sorts = [] if plan.key is None else [_SortExpression(attribute) for attribute in plan.key.sort]
        self._key = None if plan.key is None else self._key_condition(placeholders)
        self._counted = service_can_count(plan) if plan.select == "count" else None
        self._filter = self._filter_of(plan, placeholders)
        self._projection = None
        if plan.select == "count" and not self._counted:
            self._projection = _identifying_attributes(plan, placeholders)
        elif (attributes := requested_attributes(plan)) is not None:
            self._projection = _projection(attributes, placeholders)
        self._select = "COUNT" if self._counted else None
        if self._projection is None and needs_whole_items(plan):
            self._select = "ALL_ATTRIBUTES"
        self._walk = None if plan.walk is None else walk_values(plan.key, plan.walk[1])

    @property
    def counts(self) -> bool:
        """Whether the requests ask DynamoDB only for the number of items. The responses then contain no items."""
        return bool(self._counted)

    @property
    def filter(self) -> str:
        """The longest possible filter expression, or an empty string if the plan has no filter."""
        return "" if self._filter is None else self._filter.longest

    def partitions(self, arguments: Arguments) -> list[Arguments]:
        """Return the arguments for the request to each partition that a call reads, without duplicate partitions.

        If a call reads several partitions, each element contains the arguments of the call and the value that selects
        the partition. Otherwise, the list contains only the arguments of the call.
        """
        if self._walk is None:
            return [arguments]
        keys: dict[tuple[Any, ...], Arguments] = {}
        for value in self._walk(arguments):
            partition = {**arguments, WALK_VALUE: value}
            keys.setdefault(key_identity(self.partition(partition)), partition)
        return list(keys.values())

    def partition(self, arguments: Arguments) -> dict[str, AttributeValue]:
        """Return the partition key that a call with these arguments reads, or an empty dict for a scan."""
        return {attribute: make(arguments) for attribute, make in self._partition}

    def is_empty(self, request: Mapping[str, Any]) -> bool:
        """Return True if the key range of a request is empty. DynamoDB would reject such a request."""
        values = request.get("ExpressionAttributeValues", {})
        return any(part.is_empty(values) for part in self._sorts)

    def request(self, arguments: Arguments, table: str) -> Request:
        """Return the parameters of the Query request for one partition, or of the Scan request."""
        plan = self.plan
        request: Request = {"TableName": table}
        names: dict[str, str] = {}
        values: dict[str, AttributeValue] = {}
        if self._index is not None:
            request["IndexName"] = self._index
        if self._key is not None:
            request["KeyConditionExpression"] = self._key.bind(arguments, names, values)
        if self._filter is not None:
            request["FilterExpression"] = self._filter.bind(arguments, names, values)
        if self._projection is not None:
            request["ProjectionExpression"] = self._projection.bind(arguments, names, values)
        if names:
            request["ExpressionAttributeNames"] = names
        if values:
            request["ExpressionAttributeValues"] = values
        if plan.descending:
            request["ScanIndexForward"] = False
        if plan.consistent:
            request["ConsistentRead"] = True
        if self._select is not None:
            request["Select"] = self._select
        return request

    def _key_condition(self, placeholders: RequestPlaceholders) -> Fragment:
        writer = ExpressionWriter(placeholders, {})
        texts = []
        for attribute, make in self._partition:
            texts.append(f"{writer.name(attribute)} = {writer.value(attribute, make)}")
        texts += [part.text(writer) for part in self._sorts]
        return writer.fragment(" AND ".join(texts))

    def _filter_of(self, plan: Plan, placeholders: RequestPlaceholders) -> Fragment | None:
        fields = {name: field for spec in reversed(plan.entities) for name, field in spec.fields.items()}
        writer = ExpressionWriter(placeholders, fields)
        texts = [] if plan.filter is None else [writer.condition(plan.filter)]
        ttl = plan.schema.ttl
        if plan.select == "count" and drops_expired(plan) and ttl is not None and index_holds(plan, ttl):
            texts.append(not_expired(writer, ttl))
        literal = plan.schema.literal
        if (
            self._counted
            and not literal
            and plan.schema.discriminator is not None
            and index_holds(plan, plan.schema.discriminator)
        ):
            texts.append(_entity_condition(writer, plan, plan.schema.discriminator))
        if not texts:
            return None
        if len(texts) == 1:
            return writer.fragment(texts[0])
        return writer.fragment(" AND ".join(f"({text})" if " OR " in text else text for text in texts))


def _entity_condition(writer: ExpressionWriter, plan: Plan, attribute: str) -> str:
    names = [writer.value(attribute, _constant(spec.name)) for spec in plan.entities]
    return f"{writer.name(attribute)} IN ({', '.join(names)})"


def _constant(text: str) -> ValueMaker:
    return lambda _arguments: {"S": text}


class _SortExpression:
    """A condition on one sort key attribute, as part of a key condition expression."""

    def __init__(self, condition: SortCondition) -> None:
        self._condition = condition
        self._low = key_value_maker(condition.low)
        self._high = None if condition.high is None else key_value_maker(condition.high)
        self._value_placeholders = ("", "")

    def text(self, writer: ExpressionWriter) -> str:
        """Return the condition as the text of an expression."""
        condition = self._condition
        name = writer.name(condition.attribute)
        if self._high is None:
            value = writer.value(condition.attribute, self._low)
            return (
                f"begins_with({name}, {value})" if condition.op == "begins_with" else f"{name} {condition.op} {value}"
            )
        self._value_placeholders = (
            writer.value(f"{condition.attribute}_from", self._low),
            writer.value(f"{condition.attribute}_to", self._high),
        )
        return f"{name} BETWEEN {self._value_placeholders[0]} AND {self._value_placeholders[1]}"

    def is_empty(self, values: Mapping[str, AttributeValue]) -> bool:
        """Return True if the lower bound is greater than the upper bound. `values` are the expression attribute values
        of the request.
        """
        if self._high is None:
            return False
        return bool(sort_value(values[self._value_placeholders[0]]) > sort_value(values[self._value_placeholders[1]]))


def sort_value(value: AttributeValue) -> Any:
    """Convert a key attribute value to a Python value for sorting.

    Python sorts converted values of the same type in the same order as DynamoDB sorts the attribute values.
    """
    ((code, content),) = value.items()
    return Decimal(content) if code == "N" else content


def service_can_count(plan: Plan) -> bool:
    """Return True if DynamoDB can count the results itself, without returning items.

    The range must contain only items of the pattern's entities, or a filter must select them. For a table declared with
    `literal`, the number includes all items of the range.
    """
    if plan.residue is not None or _expires_unseen(plan):
        return False
    if plan.schema.literal:
        return True
    if index_holds_discriminator(plan):
        if not index_holds(plan, plan.schema.discriminator):
            return False  # a local index fetches it, but cannot filter by it
        attributes = [field.attribute for spec in plan.entities for field in spec.fields.values()]
        return plan.schema.discriminator not in attributes
    if plan.key is None or len(plan.entities) > 1:
        return False
    if all(value.template is None for value in plan.key.partition) and all(
        part.template is None for part in plan.entity.key.attributes
    ):
        return True
    prefixes = [
        sort.low.template.literal_prefix
        for sort in plan.key.sort
        if sort.low.template is not None and sort.op in _CONFINING_OPERATORS
    ]
    return (
        bool(prefixes)
        and bool(prefixes[0])
        and not any(_can_be_in_range(plan, prefixes[0], spec) for spec in plan.siblings)
    )


def _expires_unseen(plan: Plan) -> bool:
    """Return True if a query must omit expired items, but the local index does not project the expiry time."""
    if plan.index is None or plan.index.kind != "LSI":
        return False
    return drops_expired(plan) and not index_holds(plan, plan.schema.ttl)


def _can_be_in_range(plan: Plan, prefix: str, spec: EntitySpec) -> bool:
    """Return True if the range that a plan reads can contain items of `spec`, which is not the plan's entity.

    Only the literal prefixes of the keys are compared. `prefix` is the literal prefix of the sort key condition.
    """
    if spec is plan.entity:
        return False
    key, other_key = plan.entity.key_in(plan.index), spec.key_in(plan.index)
    if key is None or other_key is None:
        return False
    pairs = [
        (_literal_prefix(key.partition[0]), _literal_prefix(other_key.partition[0])),
        (prefix, _literal_prefix(other_key.sort[0])),
    ]
    return all(first.startswith(second) or second.startswith(first) for first, second in pairs)


def _literal_prefix(part: BoundKeyAttribute) -> str:
    return "" if part.template is None else part.template.literal_prefix


_CONFINING_OPERATORS = frozenset({"=", "BETWEEN", "begins_with"})


def _identifying_attributes(plan: Plan, placeholders: RequestPlaceholders) -> Fragment | None:
    """Return a projection of the attributes needed to count items: the keys, the discriminator and the expiry
    attribute.

    Return None if part of the key condition is evaluated on the returned items, which requires their other attributes.
    """
    if plan.residue is not None:
        return None
    index = plan.index.attributes if plan.index is not None else ()
    discriminator = plan.schema.discriminator if index_holds_discriminator(plan) else None
    expiry = plan.schema.ttl if _expires_unseen(plan) else None
    return _projection((*plan.schema.key, *index, *(name for name in (discriminator, expiry) if name)), placeholders)


def _projection(attributes: Iterable[str], placeholders: RequestPlaceholders) -> Fragment:
    writer = ExpressionWriter(placeholders, {})
    return writer.fragment(", ".join(writer.name(name) for name in dict.fromkeys(attributes)))
