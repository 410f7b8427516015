"""Export and import jobs, which are stored in the database and run by a background thread.

An operation stores the document of a job. The thread claims the oldest job that does not have a runner: it records
itself as the job's `runner`, and regularly renews this claim with a heartbeat (`beat_s`). After a crash, the next
engine that opens the database takes over any job that has not had a heartbeat for 30 seconds. An engine that is closed
properly releases its job immediately. Every write to a job's document checks that the job still belongs to its runner.
Therefore, only one of two competing runners continues.

Members of the document: `kind`, `description` (the service's description of the job), `parameters` (the request without
its token), `progress` (of an import), `runner`, `beat_s`, and members that are specific to the kind of job.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson

from keyplan import limits
from keyplan.dynamodb.messages import exports as messages
from keyplan.engine.store.rows import StoreView, Transaction
from keyplan.engine.transfer.errors import ClaimLostError, StoppedError
from keyplan.errors import LimitExceededError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


EXPORT, IMPORT = "export", "import"
IN_PROGRESS, COMPLETED, FAILED = "IN_PROGRESS", "COMPLETED", "FAILED"

BEAT_S = 5.0

Document = dict[str, Any]

_log = logging.getLogger(__name__)


def arn_of(document: Document) -> str:
    """Return the ARN of an export or import job."""
    arn: str = document["description"][_ARN[document["kind"]]]
    return arn


def status_of(document: Document) -> str:
    """Return the status of an export or import job, such as IN_PROGRESS."""
    status: str = document["description"][_STATUS[document["kind"]]]
    return status


_ARN = {EXPORT: "ExportArn", IMPORT: "ImportArn"}
_STATUS = {EXPORT: "ExportStatus", IMPORT: "ImportStatus"}


def new_arn(database: Database, kind: str, table_arn: str, now_ms: int) -> str:
    """Return the ARN of a new export or import, which ends with the current time in milliseconds and a
    random number.
    """
    return f"{table_arn}/{kind}/{now_ms:014d}-{database.clock.random.getrandbits(32):08x}"


def all_jobs(view: StoreView, kind: str) -> list[Document]:
    """Return the documents of all exports or all imports, sorted by ARN. `kind` is "export" or "import"."""
    return [orjson.loads(body) for _, body in view.documents(f"{kind}:")]


def find(view: StoreView, kind: str, arn: str) -> Document | None:
    """Return the document of the export or import with this ARN, or None if it does not exist."""
    body = view.document(f"{kind}:{arn}")
    return None if body is None else orjson.loads(body)


def save(transaction: Transaction, document: Document) -> None:
    """Store the document of an export or import."""
    transaction.put_document(f"{document['kind']}:{arn_of(document)}", orjson.dumps(document))


def begin(transaction: Transaction, document: Document, now: float) -> Document:
    """Store a new export or import job that does not have a runner yet, and delete expired jobs of the same kind."""
    _purge(transaction, document["kind"], now)
    document = {**document, "runner": None, "beat_s": now}
    save(transaction, document)
    return document


def _purge(transaction: Transaction, kind: str, now: float) -> None:
    """Delete the documents of completed exports or imports that started too long ago to be listed. `kind` is "export"
    or "import".
    """
    for document in all_jobs(transaction, kind):
        if status_of(document) != IN_PROGRESS and document["description"]["StartTime"] + limits.JOB_RETENTION_S <= now:
            transaction.delete_document(f"{kind}:{arn_of(document)}")


def check_number(documents: list[Document], kind: str) -> None:
    """Raise LimitExceededError if the number of exports or imports in progress has reached the limit."""
    limit = limits.EXPORTS_AT_ONCE if kind == EXPORT else limits.IMPORTS_AT_ONCE
    if sum(status_of(document) == IN_PROGRESS for document in documents) >= limit:
        raise LimitExceededError(messages.too_many_jobs(f"{kind}s", limit))


def find_by_token(documents: list[Document], token: str, now: float) -> Document | None:
    """Return the export or import job that was started with this client token. Return None if no such job exists.

    A token is valid until eight hours after the end of its job.
    """
    for document in documents:
        description = document["description"]
        if description["ClientToken"] == token and description.get("EndTime", now) + limits.JOB_TOKEN_S > now:
            return document
    return None


class JobClaim:
    """The claim of a runner (an engine's thread) on an export or import job."""

    def __init__(self, database: Database, runner: str, document: Document, stop: threading.Event) -> None:
        self._database = database
        self._runner = runner
        self._kind, self._arn = document["kind"], arn_of(document)
        self._stop = stop
        self._heartbeat_at = database.clock.monotonic()

    def heartbeat(self) -> None:
        """Record a heartbeat of the export or import job, unless one was recorded in the last few seconds.

        Raises StoppedError if the engine is being closed, and ClaimLostError if the job does not belong to this runner
        any longer.
        """
        if self._stop.is_set():
            raise StoppedError
        now = self._database.clock.monotonic()
        if now - self._heartbeat_at >= BEAT_S:
            self._heartbeat_at = now
            self._database.store.write(lambda transaction: self.save(transaction, self.confirm(transaction)))

    def confirm(self, transaction: Transaction) -> Document:
        """Return the stored document of the export or import job. Raises ClaimLostError unless the job still belongs to
        this runner.
        """
        document = find(transaction, self._kind, self._arn)
        if document is None or status_of(document) != IN_PROGRESS or document["runner"] != self._runner:
            raise ClaimLostError
        return document

    def save(self, transaction: Transaction, document: Document) -> None:
        """Store the document of the export or import job, with the current time as its heartbeat."""
        save(transaction, {**document, "beat_s": self._database.clock.now()})

    def finish(self, transaction: Transaction, status: str, **members: Any) -> Document:
        """End the export or import job with the status `status`, and return the job's document.

        `transaction` is the transaction in which the related changes are made. `members` are added to the job's
        description. Raises ClaimLostError if the job does not belong to this runner any longer.
        """
        document = self.confirm(transaction)
        members_at_end = {_STATUS[self._kind]: status, "EndTime": round(self._database.clock.now(), 3), **members}
        document = {**document, "description": {**document["description"], **members_at_end}, "runner": None}
        save(transaction, document)
        return document

    def release(self) -> None:
        """Give up the claim on the export or import job, so that another runner can claim it.

        Raises ClaimLostError if the job does not belong to this runner any longer.
        """

        def give_up(transaction: Transaction) -> None:
            save(transaction, {**self.confirm(transaction), "runner": None})

        self._database.store.write(give_up)


_DIGEST_BYTES = 8
_GROUP_BYTES = 8
_DEFAULT_PAGE = 10
_MIN_BYTES = 56  # tokens have at least 112 hexadecimal digits, in groups of 16

Order = Callable[[str], Any]
"""A function that returns the sort key of an export or import job, given the job's ARN. Jobs are listed in descending
order of their sort keys.
"""


def list_jobs(database: Database, kind: str) -> list[Document]:
    """Return the exports or imports that ListExports or ListImports can return. `kind` is "export" or "import". If a
    job is in progress, wake the background thread.
    """
    jobs = all_jobs(database.store.view(), kind)
    if any(status_of(document) == IN_PROGRESS for document in jobs):
        database.wake_jobs()
    since = database.clock.now() - limits.JOB_RETENTION_S
    return [document for document in jobs if document["description"]["StartTime"] > since]


def find_listed_job(database: Database, kind: str, arn: str) -> Document | None:
    """Return the export or import with this ARN, or None if it does not exist. If the job is in progress, wake the
    background thread.
    """
    document = find(database.store.view(), kind, arn)
    if document is not None and status_of(document) == IN_PROGRESS:
        database.wake_jobs()
    return document


def page(
    documents: list[Document], kind: str, order: Order, *, size: int | None, token: str | None
) -> tuple[list[Document], str | None]:
    """Return a page of up to `size` exports or imports, in descending order, and the token for the next page. The token
    is None on the last page.

    Raises ValidationError if the given `token` is invalid.
    """
    ordered = sorted(documents, key=lambda document: order(arn_of(document)), reverse=True)
    if token is not None:
        last_position = order(_arn_of_token(kind, token))
        ordered = [document for document in ordered if order(arn_of(document)) < last_position]
    size = size or _DEFAULT_PAGE
    next_token = _token(kind, arn_of(ordered[size - 1])) if len(ordered) > size else None
    return ordered[:size], next_token


def _token(kind: str, arn: str) -> str:
    content = arn.encode()
    content += b"\x00" * max(-len(content) % _GROUP_BYTES, _MIN_BYTES - _DIGEST_BYTES - len(content))
    return (_digest(kind, content) + content).hex()


def _arn_of_token(kind: str, token: str) -> str:
    try:
        decoded = bytes.fromhex(token)
        digest, content = decoded[:_DIGEST_BYTES], decoded[_DIGEST_BYTES:]
        if digest == _digest(kind, content):
            return content.rstrip(b"\x00").decode()
    except ValueError:
        pass
    raise ValidationError(messages.token_invalid(token))


def _digest(kind: str, content: bytes) -> bytes:
    return blake2b(kind.encode() + content, digest_size=_DIGEST_BYTES).digest()
