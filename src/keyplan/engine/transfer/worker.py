"""The background thread for exports and imports, which claims jobs, runs them, and releases them on shutdown."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from keyplan.clock import ManualClock
from keyplan.dynamodb.messages import exports as messages
from keyplan.engine.background import Worker
from keyplan.engine.database import Database
from keyplan.engine.store.failures import Failure
from keyplan.engine.store.rows import Transaction
from keyplan.engine.transfer import jobs
from keyplan.engine.transfer.errors import ClaimLostError, StoppedError, TransferError
from keyplan.engine.transfer.jobs import Document, JobClaim
from keyplan.errors import EngineClosedError, StorageError

LEASE_S = 30.0
INTERNAL = "InternalServerError"

Run: TypeAlias = Callable[[Database, Document, JobClaim], None]
Fail: TypeAlias = Callable[[Database, JobClaim, str, str], None]

_log = logging.getLogger(__name__)


class Jobs(Worker[Document]):
    """The engine's thread for export and import jobs, which runs only while jobs are in progress."""

    def __init__(self, database: Database) -> None:
        super().__init__("keyplan-jobs")
        self._database = database
        # Processes in different containers can share a file and have the same process ID.
        self._runner = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"

    def _pending(self) -> list[Document]:
        view = self._database.store.view()
        stored = [document for kind in (jobs.EXPORT, jobs.IMPORT) for document in jobs.all_jobs(view, kind)]
        pending = [document for document in stored if jobs.status_of(document) == jobs.IN_PROGRESS]
        return sorted(pending, key=lambda document: document["description"]["StartTime"])

    def _run(self) -> None:
        try:
            while (document := self._claim_next()) is not None:
                self._run_job(document)
        except EngineClosedError:
            return
        except (StorageError, Failure):
            # The job stays pending. The next request that describes or lists jobs wakes a new thread.
            _log.exception("exports and imports were interrupted")

    def _claim_next(self) -> Document | None:
        """Claim the next export or import job and return it. Return None if no job is in progress.

        While all jobs are being run by other runners, this method waits. With a ManualClock, it returns None instead,
        because waiting does not advance such a clock.
        """
        clock = self._database.clock
        while pending := self._next_tasks():
            for document in pending:
                claimed = self._database.store.write(partial(self._claim, document))
                if claimed is not None:
                    return claimed
            if isinstance(clock, ManualClock):  # a wait would not advance its time
                return None
            clock.wait(self._stop, jobs.BEAT_S)
        return None

    def _claim(self, candidate: Document, transaction: Transaction) -> Document | None:
        document = jobs.find(transaction, candidate["kind"], jobs.arn_of(candidate))
        if document is None or jobs.status_of(document) != jobs.IN_PROGRESS:
            return None
        now = self._database.clock.now()
        if document["runner"] not in (None, self._runner) and document["beat_s"] + LEASE_S > now:
            return None
        document = {**document, "runner": self._runner, "beat_s": now}
        jobs.save(transaction, document)
        return document

    def _run_job(self, document: Document) -> None:
        run, fail = _export() if document["kind"] == jobs.EXPORT else _import()
        claim = JobClaim(self._database, self._runner, document, self._stop)
        try:
            try:
                if self._database.buckets is None:
                    raise TransferError(INTERNAL, messages.BUCKETS_GONE)
                run(self._database, document, claim)
            except TransferError as error:
                fail(self._database, claim, error.code, error.message)
            except (StoppedError, ClaimLostError, EngineClosedError, StorageError, Failure):
                raise
            except Exception:  # noqa: BLE001 - logged below, because the job must not stay in progress
                _log.exception("%s failed", jobs.arn_of(document))
                fail(self._database, claim, INTERNAL, messages.INTERRUPTED)
        except StoppedError:
            with suppress(ClaimLostError):
                claim.release()
        except ClaimLostError:
            return


def _export() -> tuple[Run, Fail]:
    from keyplan.engine.transfer import exports  # noqa: PLC0415 - few programs export

    return exports.run, exports.fail


def _import() -> tuple[Run, Fail]:
    from keyplan.engine.transfer import imports  # noqa: PLC0415 - few programs import

    return imports.run, imports.fail
