"""Transactions: cancellation reasons and idempotency tokens.

If several requests have the same token within ten minutes, only the first one makes changes. The token is stored in the
database transaction that makes the changes, so it is valid across restarts and processes. Two rows are stored per token
in a separate tree (a sorted set of rows). One row is keyed by the token and contains the digest of the request and the
sizes of the items. The other row is keyed by the time at which the token expires. When a new token is stored, a few
expired tokens are removed, so the tree stays small.

Sources: API reference, TransactionCanceledException and CancellationReason; developer guide, "Amazon DynamoDB
Transactions: How it works", section "Idempotency".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from struct import Struct
from typing import Any, NamedTuple, Protocol

import orjson

from keyplan import limits
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values.encoding import binary_text
from keyplan.engine.items.keys import EmptyKeyError
from keyplan.engine.store import statements
from keyplan.engine.store.rows import Transaction, Tree
from keyplan.engine.tables.catalog import Table
from keyplan.errors import (
    ConditionalCheckFailedError,
    DuplicateItemError,
    IdempotentParameterMismatchError,
    ItemCollectionSizeLimitExceededError,
    ProvisionedThroughputExceededError,
    ResourceNotFoundError,
    ServiceError,
    ThrottlingError,
    TransactionCanceledError,
    TransactionConflictError,
    ValidationError,
)

CODES: dict[type[ServiceError], str] = {
    ConditionalCheckFailedError: "ConditionalCheckFailed",
    DuplicateItemError: "DuplicateItem",
    ItemCollectionSizeLimitExceededError: "ItemCollectionSizeLimitExceeded",
    ProvisionedThroughputExceededError: "ProvisionedThroughputExceeded",
    ResourceNotFoundError: "ResourceNotFound",
    ThrottlingError: "ThrottlingError",
    TransactionConflictError: "TransactionConflict",
    ValidationError: "ValidationError",
}

CANCELLING_ERRORS = tuple(CODES)
"""Errors of a single action that cancel the whole transaction."""


class CancellationReasons:
    """The cancellation reasons of a transaction, with at most one error per action."""

    __slots__ = ("_errors",)

    def __init__(self, actions: int) -> None:
        self._errors: list[ServiceError | None] = [None] * actions

    def add(self, action: int, error: ServiceError) -> None:
        """Record the error of the action at the position `action`."""
        self._errors[action] = error

    def raise_any(self) -> None:
        """Raise TransactionCanceledError if any action failed."""
        if any(self._errors):
            raise _cancelled(self._errors)


def cancelled_by(number: int, error: ServiceError, *, action_count: int) -> TransactionCanceledError:
    """Return the error for a transaction that was cancelled by the action at the position `number`."""
    return _cancelled([error if position == number else None for position in range(action_count)])


def _cancelled(errors: Sequence[ServiceError | None]) -> TransactionCanceledError:
    reasons = [_reason(error) for error in errors]
    codes = messages.cancelled(reason["Code"] for reason in reasons)
    return TransactionCanceledError(codes, CancellationReasons=reasons)


class LocatableAction(Protocol):
    """An action of a transaction that can determine the key of its item in a given table."""

    def locate(self, table: Table) -> bytes:
        """Return the stored form of the item's key. Raises ValidationError if the key is invalid for the table."""


def locate(actions: Sequence[tuple[Table, LocatableAction]]) -> list[bytes]:
    """Return the stored key of each action's item in a transaction.

    An empty key value raises ValidationError. Otherwise, the first action that is invalid for its table raises
    TransactionCanceledError. If all actions are valid, but two of them affect the same item, ValidationError is raised.
    """
    keys: list[tuple[str, bytes]] = []
    for number, (table, action) in enumerate(actions):
        try:
            keys.append((table.name, action.locate(table)))
        except EmptyKeyError:
            raise
        except ValidationError as error:
            raise cancelled_by(number, error, action_count=len(actions)) from error
    check_distinct(keys)
    return [key for _, key in keys]


def check_distinct(keys: Sequence[tuple[str, bytes]]) -> None:
    """Raise ValidationError if two elements of `keys` are equal. The elements are pairs of a table name and a stored
    key.
    """
    if len(set(keys)) < len(keys):
        raise ValidationError(messages.SEVERAL_ON_ONE_ITEM)


def _reason(error: ServiceError | None) -> dict[str, Any]:
    if error is None:
        return {"Code": "None"}
    code = next(code for kind, code in CODES.items() if isinstance(error, kind))
    return {**error.members, "Code": code, "Message": error.message}


DOCUMENT = "idempotency"
"""The name of the stored document that contains the number of the tree with the idempotency tokens. The document is
created with the first token.
"""

_MEMBER = "ClientRequestToken"
_BY_TOKEN = b"t"
_BY_EXPIRY = b"e"
_TIME_BYTES = 8
_DIGEST_BYTES = 16
_REMOVED_AT_ONCE = 4
_SIZE = Struct(">I")

_tree = lru_cache(maxsize=4)(statements.tree)


class IdempotencyToken(NamedTuple):
    """A ClientRequestToken, and the digest of the parameters of the request that contains it."""

    text: str
    digest: bytes

    @property
    def key(self) -> bytes:
        """The key of the row that stores the token."""
        return _BY_TOKEN + self.text.encode()


class AddedDetail(str):
    """A value of ReturnConsumedCapacity that the engine added to a request so that the response contains the consumed
    capacity.

    The value is not part of the request's digest, because the client did not send it.
    """

    __slots__ = ()


def token_of(request: dict[str, Any]) -> IdempotencyToken | None:
    """Return the idempotency token of a request, or None if the request has no ClientRequestToken.

    The order of the request parameters does not affect the digest.
    """
    text = request.get(_MEMBER)
    if text is None:
        return None
    parameters = {
        name: value
        for name, value in request.items()
        if not (name == _MEMBER or value is None or isinstance(value, AddedDetail))
    }
    encoded = orjson.dumps(parameters, default=binary_text, option=orjson.OPT_SORT_KEYS)
    return IdempotencyToken(text, blake2b(encoded, digest_size=_DIGEST_BYTES).digest())


def repeated_sizes(transaction: Transaction, token: IdempotencyToken, now: float) -> list[int] | None:
    """Return the item sizes of a transaction that was committed with this token in the last ten minutes. Return None if
    no such transaction exists.

    Raises IdempotentParameterMismatchError if that transaction had different parameters.
    """
    document = transaction.document(DOCUMENT)
    if document is None:
        return None
    row = transaction.point(_tree(int(document)), token.key)
    if row is None or row[0] <= _milliseconds(now):
        return None
    if row[1][:_DIGEST_BYTES] != token.digest:
        raise IdempotentParameterMismatchError(messages.OTHER_PARAMETERS)
    return [size for (size,) in _SIZE.iter_unpack(row[1][_DIGEST_BYTES:])]


def record_token(transaction: Transaction, token: IdempotencyToken, now: float, sizes: Sequence[int]) -> None:
    """Store the token in the given transaction, together with the item sizes in bytes. The token is valid for ten
    minutes.
    """
    tree = _token_tree(transaction)
    _remove_expired(transaction, tree, now)
    expires_at = _milliseconds(now + limits.TRANSACTION_TOKEN_S)
    transaction.put(tree, token.key, expires_at, token.digest + b"".join(map(_SIZE.pack, sizes)))
    transaction.put(tree, _expiry_key(expires_at) + token.key, 0, b"")


def _token_tree(transaction: Transaction) -> Tree:
    document = transaction.document(DOCUMENT)
    if document is not None:
        return _tree(int(document))
    tree = transaction.create_tree()
    transaction.put_document(DOCUMENT, b"%d" % tree.number)
    return tree


def _remove_expired(transaction: Transaction, tree: Tree, now: float) -> None:
    now_ms = _milliseconds(now)
    expired = transaction.rows(tree, _BY_EXPIRY, _expiry_key(now_ms + 1), limit=_REMOVED_AT_ONCE)
    for key, _, _ in expired:
        token_key = key[len(_BY_EXPIRY) + _TIME_BYTES :]
        row = transaction.point(tree, token_key)
        if row is not None and row[0] <= now_ms:  # otherwise it was used again
            transaction.delete(tree, token_key)
        transaction.delete(tree, key)


def _expiry_key(time_ms: int) -> bytes:
    return _BY_EXPIRY + time_ms.to_bytes(_TIME_BYTES, "big")


def _milliseconds(time_s: float) -> int:
    return int(time_s * 1000)
