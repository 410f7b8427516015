"""Tables described by the service itself, or by whatever speaks its protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from keyplan.connecting import connect, target_of
from keyplan.errors import ServiceError
from keyplan.importing.documents import Document
from keyplan.importing.errors import ImportSourceError

Ask = Callable[[str, dict[str, Any]], Any]
_MORE = ("DescribeTimeToLive", "DescribeContinuousBackups")


def described(url: str, names: Sequence[str]) -> list[Document]:
    """What the service says of tables, or of all that it has. Raises ImportSourceError, and KeyplanError."""
    try:
        target = target_of(url)
        if target.path is not None and not Path(target.path).is_file():
            raise ImportSourceError(f"--from {url}: there is no such file")
        connection = connect(url)
    except (ValueError, ImportError) as error:
        raise ImportSourceError(f"--from {url}: {error}") from None
    with connection:
        ask = _asking(url, connection.transport.call)
        wanted = [target.prefix + name for name in names] or list(_names(ask, target.prefix))
        if not wanted:
            raise ImportSourceError(f"--from {url}: there is no table")
        called = Path(target.path).name if target.path is not None else target.endpoint or f"aws://{target.region}"
        return [Document(called, answer) for name in wanted for answer in _table(ask, name)]


def _asking(url: str, call: Ask) -> Ask:
    """Asks, and words what goes wrong before the service could answer: no credentials, no such region."""

    def ask(operation: str, request: dict[str, Any]) -> Any:
        try:
            return call(operation, request)
        except ServiceError:
            raise
        except Exception as error:
            if not type(error).__module__.startswith("botocore."):
                raise
            raise ImportSourceError(f"--from {url}: {error}") from None

    return ask


def _names(ask: Ask, prefix: str) -> Iterator[str]:
    request: dict[str, Any] = {}
    while True:
        answer = ask("ListTables", request)
        yield from (name for name in answer["TableNames"] if name.startswith(prefix))
        if "LastEvaluatedTableName" not in answer:
            return
        request = {"ExclusiveStartTableName": answer["LastEvaluatedTableName"]}


def _table(ask: Ask, name: str) -> Iterator[Any]:
    """The answers about one table. What stands in for the service may not know of backups or tags."""
    answer = ask("DescribeTable", {"TableName": name})
    yield answer
    for operation in _MORE:
        yield _if_known(ask, operation, {"TableName": name})
    tags = _if_known(ask, "ListTagsOfResource", {"ResourceArn": answer["Table"]["TableArn"]})
    yield {"Tags": tags.get("Tags", [])}


def _if_known(ask: Ask, operation: str, request: dict[str, Any]) -> Any:
    try:
        return ask(operation, request)
    except ServiceError as error:
        if error.code != "UnknownOperationException":
            raise
        return {"Tags": []}
