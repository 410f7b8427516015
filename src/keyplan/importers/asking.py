"""Tables described by the service itself, or by whatever speaks its protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from keyplan.client.connect import connect, target_of
from keyplan.errors import KeyplanError, ServiceError
from keyplan.importers.documents import Document
from keyplan.importers.errors import ImportSourceError
from keyplan.importers.nodes import Node

Ask = Callable[[str, dict[str, Any]], Node]
_MORE = ("DescribeTimeToLive", "DescribeContinuousBackups")


def described(url: str, names: Sequence[str]) -> list[Document]:
    """What the service says of tables, or of all that it has. Raises ImportSourceError, and KeyplanError."""
    try:
        target = target_of(url)
        if target.path is not None:
            _check_file(url, Path(target.path))
        connection = connect(url)
    except (ValueError, ImportError) as error:
        raise ImportSourceError(f"--from {url}: {error}") from None
    with connection:
        ask = _asking(url, connection.transport.call, is_elsewhere=not target.is_embedded)
        wanted = [target.prefix + name for name in names] or list(_names(ask, target.prefix))
        if not wanted:
            raise ImportSourceError(f"--from {url}: there is no table")
        called = Path(target.path).name if target.path is not None else target.endpoint or f"aws://{target.region}"
        return [Document(called, answer) for name in wanted for answer in _table(ask, name)]


def _check_file(url: str, path: Path) -> None:
    """Whether there is a database to be read: an empty file would be made one."""
    if not path.is_file():
        raise ImportSourceError(f"--from {url}: there is no such file")
    if not path.stat().st_size:
        raise ImportSourceError(f"--from {url}: there is no table")


def _asking(url: str, call: Callable[[str, dict[str, Any]], Any], *, is_elsewhere: bool) -> Ask:
    """Asks, and words what is no answer of the service: no credentials, no such region, another service."""

    def ask(operation: str, request: dict[str, Any]) -> Node:
        try:
            return Node(call(operation, request), f"--from {url}: {operation}")
        except KeyplanError:
            raise
        except Exception as error:
            if not is_elsewhere:
                raise
            raise ImportSourceError(f"--from {url}: {operation} is not answered: {error}") from None

    return ask


def _names(ask: Ask, prefix: str) -> Iterator[str]:
    request: dict[str, Any] = {}
    while True:
        answer = ask("ListTables", request)
        names = (one.text() for one in answer.need("TableNames").items())
        yield from (name for name in names if name.startswith(prefix))
        last = answer.get("LastEvaluatedTableName")
        if last is None:
            return
        request = {"ExclusiveStartTableName": last.text()}


def _table(ask: Ask, name: str) -> Iterator[Any]:
    """The answers about one table. What stands in for the service may not know of backups or tags."""
    answer = ask("DescribeTable", {"TableName": name})
    yield answer.value
    for operation in _MORE:
        yield from _if_known(ask, operation, {"TableName": name})
    arn = answer.need("Table").need("TableArn").text()
    for tags in _if_known(ask, "ListTagsOfResource", {"ResourceArn": arn}):
        yield {"Tags": tags.get("Tags", [])}


def _if_known(ask: Ask, operation: str, request: dict[str, Any]) -> Iterator[Any]:
    """The answer; nothing where the operation is not known."""
    try:
        yield ask(operation, request).value
    except ServiceError as error:
        if error.code != "UnknownOperationException":
            raise
