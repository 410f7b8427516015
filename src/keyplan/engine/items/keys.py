"""Keys of items and index entries, validated against their key schema and encoded as bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from keyplan import limits
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values import attribute
from keyplan.dynamodb.values.keybytes import escape, join_parts, partition_prefix, scalar_key, tie_hash
from keyplan.dynamodb.values.types import AttributeValue, Item
from keyplan.errors import ValidationError


class EmptyKeyError(ValidationError):
    """Raised if a key value is an empty string or an empty binary value.

    In a transaction, DynamoDB rejects the whole request with this error, whereas other invalid keys cancel the
    transaction.
    """


class KeyAttribute(NamedTuple):
    """The name of a key attribute and its type (S, N or B)."""

    name: str
    kind: str


@dataclass(frozen=True)
class KeySchema:
    """The partition key and sort key attributes of a table or index. An index can have several partition key attributes
    and several sort key attributes.
    """

    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all key attributes, starting with the partition key."""
        return tuple(attribute.name for attribute in (*self.partition, *self.sort))

    @cached_property
    def roles(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the partition key attributes, and the names of the sort key attributes."""
        return tuple(key_attribute.name for key_attribute in self.partition), tuple(
            key_attribute.name for key_attribute in self.sort
        )


class PrimaryKey:
    """The key of a table, with one partition key attribute and at most one sort key attribute."""

    __slots__ = ("_count", "_partition", "_partition_kind", "_sort", "_sort_kind", "names", "schema")

    def __init__(self, schema: KeySchema) -> None:
        self.schema = schema
        self.names = schema.names
        self._partition, self._partition_kind = schema.partition[0]
        self._sort: str | None = schema.sort[0].name if schema.sort else None
        self._sort_kind = schema.sort[0].kind if schema.sort else ""
        self._count = len(self.names)

    def of_key(self, key: Item) -> bytes:
        """Return the stored form of a request's Key parameter, which must be in canonical form. Raises ValidationError
        if the key does not match the schema.

        Invalid key values are reported before superfluous attributes.
        """
        partition = key.get(self._partition)
        if partition is None:
            raise ValidationError(messages.KEY_MISMATCH)
        content = partition.get(self._partition_kind)
        if content is None:
            raise ValidationError(messages.KEY_MISMATCH)
        if self._sort is None:
            stored = partition_prefix(_partition_bytes(self._partition, self._partition_kind, content))
        else:
            sort = key.get(self._sort)
            if sort is None:
                raise ValidationError(messages.KEY_MISMATCH)
            sort_content = sort.get(self._sort_kind)
            if sort_content is None:
                raise ValidationError(messages.KEY_MISMATCH)
            part = _partition_bytes(self._partition, self._partition_kind, content)
            stored = partition_prefix(part) + _sort_bytes(self._sort, self._sort_kind, sort_content)
        if len(key) != self._count:
            raise ValidationError(messages.KEY_MISMATCH)
        return stored

    def of_item(self, item: Item) -> bytes:
        """Return the stored form of an item's key. The item must be in canonical form.

        Raises ValidationError if a key attribute is missing or invalid.
        """
        try:
            content = item[self._partition][self._partition_kind]
            if self._sort is None:
                return partition_prefix(_partition_bytes(self._partition, self._partition_kind, content))
            sort_content = item[self._sort][self._sort_kind]
        except KeyError:
            for name, kind in (*self.schema.partition, *self.schema.sort):
                _check_present(item, name, kind)
            raise
        part = _partition_bytes(self._partition, self._partition_kind, content)
        return partition_prefix(part) + _sort_bytes(self._sort, self._sort_kind, sort_content)

    def extract(self, item: Item) -> Item:
        """Return the key attributes of an item."""
        return {name: item[name] for name in self.names}


def partition_bytes_of(stored_key: bytes) -> bytes:
    """Return the first part of a stored key, which encodes the partition key and is the same for all items of an item
    collection.
    """
    return stored_key[: 6 + int.from_bytes(stored_key[4:6], "big")]


def _check_present(item: Item, name: str, kind: str) -> None:
    value = item.get(name)
    if value is None:
        raise ValidationError(messages.missing_key(name))
    if kind not in value:
        raise ValidationError(messages.key_type(name, kind, next(iter(value))))


def _partition_bytes(name: str, kind: str, content: str) -> bytes:
    if not content:
        raise EmptyKeyError(messages.empty_key(name, kind))
    part = content.encode() if kind == "S" else scalar_key(kind, content)
    if len(part) > limits.PARTITION_KEY_BYTES:
        raise ValidationError(messages.PARTITION_KEY_TOO_LONG)
    return part


def _sort_bytes(name: str, kind: str, content: str) -> bytes:
    if not content:
        raise EmptyKeyError(messages.empty_key(name, kind))
    part = content.encode() if kind == "S" else scalar_key(kind, content)
    if len(part) > limits.SORT_KEY_BYTES:
        raise ValidationError(messages.SORT_KEY_TOO_LONG)
    return part


# A UTF-8 character has at most four bytes, so strings of up to this many characters always fit into a key.
_ALWAYS_VALID_LENGTH = limits.SORT_KEY_BYTES // 4 // limits.KEY_ATTRIBUTES_PER_ROLE


class IndexKey:
    """The key of an index, which determines whether an item has an index entry and where the entry is stored."""

    __slots__ = ("_attributes", "_is_global", "index", "schema")

    def __init__(self, index: str, schema: KeySchema, *, is_global: bool) -> None:
        self.index = index
        self.schema = schema
        self._is_global = is_global
        self._attributes = (*schema.partition, *schema.sort)

    def check_type(self, name: str, type_code: str) -> None:
        """Raise ValidationError if the attribute `name` is a key attribute of the index and its key type differs from
        `type_code`.
        """
        for key_name, kind in self._attributes:
            if key_name == name and kind != type_code:
                raise ValidationError(messages.index_key_type(name, kind, type_code, self.index))

    def check(self, item: Item, *, updated: bool = False) -> None:
        """Raise ValidationError if the value of an index key attribute has the wrong type, is empty or is too long.

        If `updated` is True, the error has the message that DynamoDB returns for the result of an update.
        """
        longest = 0
        for name, kind in self._attributes:
            value = item.get(name)
            if value is None:
                continue
            content = value.get(kind)
            if content is None:
                if updated:
                    raise ValidationError(messages.UPDATED_INDEX_KEY_TYPE)
                raise ValidationError(messages.index_key_type(name, kind, next(iter(value)), self.index))
            if not content:
                if updated:
                    raise EmptyKeyError(messages.empty_updated_index_key(kind))
                raise EmptyKeyError(messages.empty_index_key(name, kind, self.index))
            longest = max(longest, len(content))
        fault = self._size_fault(item) if longest > _ALWAYS_VALID_LENGTH else None
        if fault is not None:
            raise ValidationError(fault)

    def _size_fault(self, item: Item) -> str | None:
        """Return an error message if the value of an index key attribute is too long. Otherwise, return None."""
        partition = sum(attribute.value_bytes(item[name]) for name, _ in self.schema.partition if name in item)
        if partition > limits.PARTITION_KEY_BYTES:
            return messages.PARTITION_KEY_TOO_LONG
        sort = sum(attribute.value_bytes(item[name]) for name, _ in self.schema.sort if name in item)
        return messages.SORT_KEY_TOO_LONG if sort > limits.SORT_KEY_BYTES else None

    def has_same_key(self, left: Item, right: Item) -> bool:
        """Return True if two versions of an item have the same values for the index key attributes."""
        for name, _ in self._attributes:  # noqa: SIM110 - a generator is slower than the comparison
            if left.get(name) != right.get(name):
                return False
        return True

    def entry_key(self, item: Item, table_key: bytes) -> bytes | None:
        """Return the stored key of an item's index entry, given the item's stored key `table_key`.

        Returns None if the item does not have all key attributes of the index and is therefore not in the index.
        """
        prefix = self.entry_prefix(item)
        return None if prefix is None else prefix + self.entry_suffix(table_key)

    def entry_suffix(self, table_key: bytes) -> bytes:
        """Return the last part of an index entry's stored key, which identifies the item with the stored key
        `table_key`.

        Entries of a global index that have the same index key are sorted by a hash of the item's primary key.
        """
        return tie_hash(table_key) + table_key if self._is_global else table_key

    def entry_prefix(self, item: Item) -> bytes | None:
        """Return the first part of the stored key of the item's index entry, or None if a key attribute is missing.

        The value of an attribute that was written before the index was created can have the wrong type, be empty or be
        too long. Such an attribute is treated as missing.
        """
        parts = []
        longest = 0
        for name, kind in self._attributes:
            value = item.get(name)
            content = None if value is None else value.get(kind)
            if not content:
                return None
            longest = max(longest, len(content))
            parts.append(scalar_key(kind, content))
        if longest > _ALWAYS_VALID_LENGTH and self._size_fault(item) is not None:
            return None
        roles = len(self.schema.partition)
        prefix = partition_prefix(parts[0] if roles == 1 else join_parts(parts[:roles]))
        for part in parts[roles:]:
            prefix += escape(part)
        return prefix

    def prefix(self, partition: list[AttributeValue] | tuple[AttributeValue, ...]) -> bytes:
        """Return the common prefix of the stored keys of all index entries with this partition key."""
        if len(partition) == 1:
            ((kind, content),) = partition[0].items()
            return partition_prefix(scalar_key(kind, content))
        return partition_prefix(join_parts(scalar_key(*next(iter(value.items()))) for value in partition))

    @staticmethod
    def sort_bytes(values: list[AttributeValue] | tuple[AttributeValue, ...]) -> bytes:
        """Return the sort key part of a stored index key. If only the leading sort key attributes are given, return the
        start of that part.
        """
        return b"".join(escape(scalar_key(*next(iter(value.items())))) for value in values)
