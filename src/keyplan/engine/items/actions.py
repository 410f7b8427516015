"""Actions on one item, used by both single-item operations and transactions.

An action is created from a request, or from one element of a transaction request, and validated without access to the
table. `locate` then determines the item's key in the table, and `outcome` computes the new version of the stored item.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from keyplan import limits
from keyplan.dynamodb.expressions.compiled import CompiledUpdate, check_placeholders, compile_condition, compile_update
from keyplan.dynamodb.expressions.legacy import compile_attribute_updates
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values import attribute, encoding
from keyplan.dynamodb.values.attribute import check_depth, normalise_item
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items import versions, writes
from keyplan.engine.items.conditions import WriteCondition, measured_values, normalised_parameters, write_guard
from keyplan.engine.items.reads import check_scalar_paths
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ValidationError


class ItemPut(NamedTuple):
    """An action that creates or completely replaces an item."""

    guard: WriteCondition | None
    new: versions.Version

    @property
    def key(self) -> Item:
        """The item itself, which contains its key."""
        return self.new.item

    @property
    def payload(self) -> int:
        """The size, in bytes, of the item in the request."""
        return self.new.size

    def locate(self, table: Table) -> bytes:
        """Return the stored form of the item's key. Raises ValidationError if the item is not valid for the table or
        its indexes.
        """
        key = table.key.of_item(self.new.item)
        if table.indexes:
            writes.check_index_keys(table, self.new.item)
        return key

    def outcome(self, _table: Table, _old: versions.Version | None) -> versions.Version | None:
        """Return the new version of the item, which consists of the attributes in the request and does not depend on
        the old version.
        """
        return self.new


class ItemUpdate(NamedTuple):
    """An action that changes attributes of an item or creates the item."""

    key: Item
    update: CompiledUpdate | None
    guard: WriteCondition | None
    values: Item | None
    payload: int
    """Size in bytes of the key and the expression values in the request."""
    too_deep: str = messages.NESTING
    """The error message for an update whose result would exceed the nesting limit for attribute values."""

    def locate(self, table: Table) -> bytes:
        """Return the stored form of the key. Raises ValidationError if the key is invalid or the update would change
        it.
        """
        key = table.key.of_key(self.key)
        if self.update is not None:
            for name in table.key.names:
                if name in self.update.attributes:
                    raise ValidationError(messages.key_update(name))
            if table.indexes:
                writes.check_assigned_types(table, self.update.assigned(self.values))
            check_scalar_paths(table, self.update.paths_read)
        return key

    def check_charge(self) -> None:
        """Raise ValidationError if the size that DynamoDB computes for the update exceeds the maximum size of an item.
        The item that results from the update can be smaller than the computed size.
        """
        if self.update is not None and self.update.charge.exceeds(limits.ITEM_BYTES, self.values or {}):
            raise ValidationError(messages.UPDATED_ITEM_TOO_LARGE)

    def outcome(self, table: Table, old: versions.Version | None) -> versions.Version | None:
        """Return the item after the update. Raises ValidationError if the result is invalid.

        If the item does not exist and the update only removes attributes, the item is not created and the result is
        None.
        """
        item = old.item if old is not None else dict(self.key)
        changed: frozenset[str] = frozenset()
        if self.update is not None:
            changed = self.update.attributes
            item = self.update.apply(item, self.values, exists=old is not None)
            for path in self.update.paths:
                if len(path) > 1:  # a value may be nested too deep inside a document
                    check_depth(item.get(str(path[0]), {}), self.too_deep)
            if old is None and len(item) == len(self.key):
                return None
        if table.indexes:
            writes.check_index_keys(table, item, updated=True)
        size = (
            attribute.item_bytes(item)
            if old is None
            else attribute.changed_item_bytes(old.item, old.size, item, changed)
        )
        if size > limits.ITEM_BYTES:
            raise ValidationError(messages.UPDATED_ITEM_TOO_LARGE)
        return versions.Version(item, size, encoding.encode(item))


class ItemDelete(NamedTuple):
    """An action that deletes an item."""

    key: Item
    guard: WriteCondition | None
    payload: int
    """Size in bytes of the key and the expression values in the request."""

    def locate(self, table: Table) -> bytes:
        """Return the stored form of the key. Raises ValidationError if the key is invalid for the table."""
        return table.key.of_key(self.key)

    def outcome(self, _table: Table, _old: versions.Version | None) -> versions.Version | None:
        """Return None, because the item does not exist after the deletion."""
        return None


class ItemCheck(NamedTuple):
    """An action that checks a condition on an item without changing the item."""

    key: Item
    guard: WriteCondition | None
    payload: int
    """Size in bytes of the key and the expression values in the request."""

    def locate(self, table: Table) -> bytes:
        """Return the stored form of the key. Raises ValidationError if the key is invalid for the table."""
        return table.key.of_key(self.key)

    def outcome(self, _table: Table, old: versions.Version | None) -> versions.Version | None:
        """Return the item unchanged."""
        return old


Action: TypeAlias = ItemPut | ItemUpdate | ItemDelete | ItemCheck


def put(request: dict[str, Any], form: Form) -> ItemPut:
    """Create the put action for a request. Raises ValidationError for invalid values, an oversized item or an invalid
    condition, checked in this order.
    """
    new = versions.from_item(request["Item"], wire=form.wire)
    return ItemPut(write_guard(request, form), new)


def delete(request: dict[str, Any], form: Form) -> ItemDelete:
    """Create the delete action for a request. Raises ValidationError for an invalid condition or key value, checked in
    this order.
    """
    guard = write_guard(request, form)
    key, size = normalise_item(request["Key"], wire=form.wire)
    return ItemDelete(key, guard, size + _values_bytes(guard))


def condition_check(request: dict[str, Any], form: Form) -> ItemCheck:
    """Create the condition check action for a request. The parameters and errors are the same as those of `delete`."""
    return ItemCheck(*delete(request, form))


def _values_bytes(guard: WriteCondition | None) -> int:
    return attribute.item_bytes(guard.values) if guard is not None and guard.values else 0


def update(request: dict[str, Any], form: Form) -> ItemUpdate:
    """Create the update action for a request. Raises ValidationError for an invalid key value or expression, checked in
    this order.
    """
    return update_with_key(normalise_item(request["Key"], wire=form.wire), request, form)


def update_with_key(measured_key: tuple[Item, int], request: dict[str, Any], form: Form) -> ItemUpdate:
    """Create the update action for a request whose key has already been checked.

    `measured_key` contains the key in canonical form and its size in bytes.
    """
    key, key_bytes = measured_key
    text = request.get("UpdateExpression")
    condition_text = request.get("ConditionExpression")
    if text is None and condition_text is None:
        updates = request.get("AttributeUpdates")
        compiled = compile_attribute_updates(normalised_parameters(updates, form)) if updates else None
        return ItemUpdate(key, compiled, write_guard(request, form), None, key_bytes)
    names, (values, values_bytes) = request.get("ExpressionAttributeNames"), measured_values(request, form)
    names_used: frozenset[str] = frozenset()
    values_used: frozenset[str] = frozenset()
    compiled = condition = None
    if text is not None:
        compiled = compile_update(text, names)
        compiled.check(values)
        names_used, values_used = compiled.names_used, compiled.values_used
    if condition_text is not None:
        condition = compile_condition(condition_text, names, "ConditionExpression")
        condition.check(values)
        names_used |= condition.names_used
        values_used |= condition.values_used
    if names or values:
        check_placeholders(names, values, names_used, values_used)
    guard = None if condition is None else WriteCondition(condition, values or {})
    return ItemUpdate(key, compiled, guard, values, key_bytes + values_bytes)
