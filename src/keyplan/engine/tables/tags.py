"""Tags of tables and streams: validation, limits, and lookup of the tagged resource by ARN.

Source: developer guide, "Tagging restrictions in DynamoDB".
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import requests as request_messages
from keyplan.dynamodb.messages import tables as messages
from keyplan.engine.tables import descriptions
from keyplan.engine.tables.catalog import Table
from keyplan.errors import AccessDeniedError, ResourceInUseError, ResourceNotFoundError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database

_PUNCTUATION = frozenset("+-=._:/@")
_RESERVED = "aws:"
_KEY_LENGTH = 128
_VALUE_LENGTH = 256


@dataclass(frozen=True, slots=True)
class TaggedResource:
    """A resource that can have tags: a table or its current stream. The stream's tags are separate from those of the
    table.
    """

    table: Table
    is_stream: bool

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the resource, as a map from keys to values."""
        document = self.table.document
        tags: dict[str, str] = document["stream"].get("tags", {}) if self.is_stream else document["tags"]
        return tags

    def with_tags(self, tags: dict[str, str]) -> dict[str, Any]:
        """Return a copy of the table's document in which the resource has these tags."""
        document = self.table.document
        if self.is_stream:
            return {**document, "stream": {**document["stream"], "tags": tags}}
        return {**document, "tags": tags}


def merge_tags(tags: dict[str, str], new_tags: list[dict[str, Any]]) -> dict[str, str]:
    """Return the existing tags, updated with `new_tags`.

    Raises ValidationError if a tag is invalid or repeated, or if the number or total size of the resulting tags is too
    large.
    """
    keys: set[str] = set()
    for tag in new_tags:
        _check(tag.get("Key"), tag.get("Value"))
        if tag["Key"] in keys:
            raise ValidationError(messages.tag_twice(tag["Key"]))
        keys.add(tag["Key"])
    merged_tags = {**tags, **{tag["Key"]: tag["Value"] for tag in new_tags}}
    if len(merged_tags) > limits.TAGS_PER_RESOURCE:
        raise ValidationError(messages.TOO_MANY_TAGS)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in merged_tags.items())
    if size > limits.TAG_SET_BYTES:
        raise ValidationError(messages.tags_too_large(size, limits.TAG_SET_BYTES))
    return merged_tags


def check_keys(keys: list[str]) -> None:
    """Raise ValidationError if a tag key is invalid, or if the request contains more keys than the number of tags that
    a resource can have.
    """
    if len(keys) > limits.TAGS_PER_RESOURCE:
        raise ValidationError(messages.TOO_MANY_TAGS)
    for key in keys:
        _check_key(key)


def _check(key: str | None, value: str | None) -> None:
    _check_key(key)
    if value is None or len(value) > _VALUE_LENGTH or not _has_allowed_characters(value):
        raise ValidationError(messages.tag_value(value))


def _check_key(key: str | None) -> None:
    if key is not None and key.lower().startswith(_RESERVED):
        raise ValidationError(messages.tag_reserved(key))
    if key is None or not 0 < len(key) <= _KEY_LENGTH or not _has_allowed_characters(key):
        raise ValidationError(messages.tag_key(key))


def _has_allowed_characters(text: str) -> bool:
    """Return True if the string consists only of letters, digits, spaces and the punctuation that tags allow."""
    return all(character in _PUNCTUATION or unicodedata.category(character)[0] in "LNZ" for character in text)


def find_resource(database: Database, arn: str) -> TaggedResource:
    """Return the resource with this ARN, as of the last reload of the catalog.

    Raises AccessDeniedError for an ARN of another account, ValidationError for an ARN in another Region, and
    ResourceNotFoundError if the resource does not exist. A stream has separate tags only while it is enabled. A stream
    that has ended is not found (observed in DynamoDB, October 2026).
    """
    _, _, _, region, account, _ = arn.split(":", 5)
    if account != database.settings.account:
        raise AccessDeniedError(messages.ACCESS_DENIED)
    if region != database.settings.region:
        raise ValidationError(request_messages.invalid_arn(arn))
    table = descriptions.find_existing(database, arn.partition("/stream/")[0])
    if table is None or descriptions.status(table, database.clock.now()) == "CREATING":
        raise ResourceNotFoundError(messages.resource_not_found(arn))
    is_stream = arn != descriptions.table_arn(database, table.name)
    if is_stream and arn != table.document.get("stream", {}).get("arn"):
        raise ResourceNotFoundError(messages.resource_not_found(arn))
    return TaggedResource(table, is_stream)


def find_taggable(database: Database, arn: str) -> TaggedResource:
    """Return the resource with this ARN, so that its tags can be changed.

    Raises ResourceInUseError if the table is being deleted, and any error that `find_resource` raises.
    """
    resource = find_resource(database, arn)
    if resource.table.gone_at is not None:
        raise ResourceInUseError(messages.being_deleted(resource.table.name))
    return resource
