"""The sweep, which sets the status of overdue questions to EXPIRED and decrements their agents' numbers of open
questions.

A question has an EXPIRE task exactly as long as it counts toward the agent's quota. The task is created together with
the question, and deleted by the transaction that closes or expires the question. Therefore, even a late sweep corrects
the agent's number of open questions exactly, including questions that have been deleted.
"""

from __future__ import annotations

from keyplan.client.errors import TransactionFailedError
from keyplan_systems.ask_a_human import design_questions, records
from keyplan_systems.ask_a_human.base import STALE, Base, Failures
from keyplan_systems.ask_a_human.domain import questions
from keyplan_systems.ask_a_human.domain.timestamps import SECOND_MS, iso
from keyplan_systems.ask_a_human.entities import WorkerTask
from keyplan_systems.ask_a_human.questions import EXPIRE

MAX_TASKS = 100


class Sweeper:
    """Expires questions after their deadline. Several workers can run concurrently."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def run_once(self) -> int:
        """Set the status of overdue questions to EXPIRED and return their number.

        If a question cannot be expired, the other questions are still expired, and an UnfinishedError with all errors
        is raised at the end.
        """
        now_ms, failures = self._base.now_ms, Failures()
        call = design_questions.due_errands(EXPIRE, iso(now_ms))
        tasks = self._connection.iterate(call, page_size=MAX_TASKS, unreadable=failures.errors.append)
        expired_count = sum(failures.run_up_to(lambda task: self._sweep(task, now_ms), tasks, MAX_TASKS))
        failures.raise_if_any(expired_count)
        return expired_count

    def _sweep(self, task: WorkerTask, now_ms: int) -> int:
        item = self._connection.run(design_questions.question_by_id(task.question))
        if item is None:
            call = design_questions.give_back(task.agent, EXPIRE, task.question)
        elif questions.expire(records.question(item), now_ms) is None:
            return 0  # the question was closed concurrently, and the index still contains the deleted entry
        else:
            call = design_questions.expire(task.question, task.agent, now_ms // SECOND_MS, EXPIRE)
        try:
            self._connection.run(call)
        except TransactionFailedError as error:
            if all(isinstance(reason, (*STALE, type(None))) for reason in error.reasons):
                return 0  # another sweep was faster
            raise
        return 1
