"""Client request tokens: a transaction with the same token within ten minutes is applied once.

A token is kept in the database, written in the transaction that it stands for, so that it holds across
restarts and between processes. The tree of tokens has two rows for each: one under the token, with what
it was used for and how large the items were, and one under the moment at which it expires, by which expired
tokens are found. Each
new token removes a few expired ones, so the tree never holds much more than ten minutes' worth.

Source: developer guide, "Amazon DynamoDB Transactions: How it works", Idempotency.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from struct import Struct
from typing import Any, NamedTuple

import orjson

from keyplan import limits
from keyplan.dynamodb.messages import transactions as messages
from keyplan.dynamodb.values.encoding import binary_text
from keyplan.engine.store import statements
from keyplan.engine.store.rows import Transaction, Tree
from keyplan.errors import IdempotentParameterMismatchError

DOCUMENT = "idempotency"
"""The document that says which tree holds the tokens; there is none before the first token."""

_MEMBER = "ClientRequestToken"
_BY_TOKEN = b"t"
_BY_EXPIRY = b"e"
_MOMENT_BYTES = 8
_DIGEST_BYTES = 16
_REMOVED_AT_ONCE = 4
_SIZE = Struct(">I")

_tree = lru_cache(maxsize=4)(statements.tree)


class Token(NamedTuple):
    """A client request token and the digest of the parameters it came with."""

    text: str
    digest: bytes

    @property
    def key(self) -> bytes:
        """Where the token's row lies."""
        return _BY_TOKEN + self.text.encode()


def token_of(request: dict[str, Any]) -> Token | None:
    """The token of a request in either form; the order of its members makes no difference."""
    text = request.get(_MEMBER)
    if text is None:
        return None
    parameters = {name: value for name, value in request.items() if name != _MEMBER and value is not None}
    encoded = orjson.dumps(parameters, default=binary_text, option=orjson.OPT_SORT_KEYS)
    return Token(text, blake2b(encoded, digest_size=_DIGEST_BYTES).digest())


def repeated(transaction: Transaction, token: Token, now: float) -> list[int] | None:
    """The sizes kept of a transaction that was committed with this token within ten minutes, if there is one.

    Raises IdempotentParameterMismatchError if its parameters were others.
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


def record(transaction: Transaction, token: Token, now: float, sizes: Sequence[int]) -> None:
    """Keep the token for ten minutes, in the transaction that it stands for, and its items' sizes in bytes."""
    tree = _tokens(transaction)
    _remove_expired(transaction, tree, now)
    expires_at = _milliseconds(now + limits.TRANSACTION_TOKEN_S)
    transaction.put(tree, token.key, expires_at, token.digest + b"".join(map(_SIZE.pack, sizes)))
    transaction.put(tree, _expiry_key(expires_at) + token.key, 0, b"")


def _tokens(transaction: Transaction) -> Tree:
    document = transaction.document(DOCUMENT)
    if document is not None:
        return _tree(int(document))
    tree = transaction.create_tree()
    transaction.put_document(DOCUMENT, b"%d" % tree.number)
    return tree


def _remove_expired(transaction: Transaction, tree: Tree, now: float) -> None:
    moment = _milliseconds(now)
    expired = transaction.rows(tree, _BY_EXPIRY, _expiry_key(moment + 1), limit=_REMOVED_AT_ONCE)
    for key, _, _ in expired:
        token_key = key[len(_BY_EXPIRY) + _MOMENT_BYTES :]
        row = transaction.point(tree, token_key)
        if row is not None and row[0] <= moment:  # used again since: that use has its own expiry
            transaction.delete(tree, token_key)
        transaction.delete(tree, key)


def _expiry_key(moment: int) -> bytes:
    return _BY_EXPIRY + moment.to_bytes(_MOMENT_BYTES, "big")


def _milliseconds(moment: float) -> int:
    return int(moment * 1000)
