"""The sweep, which stores EXPIRED for questions past their deadline and releases the quota of their agents.

A question's errand of this kind exists exactly as long as the agent's quota counts the question. It is created with the
question and deleted by the transaction that closes or expires it. Therefore a late sweep releases exactly the counted
quota, even after the question itself was deleted.
"""

from __future__ import annotations

from keyplan.client.errors import TransactionFailedError
from keyplan_systems.ask_a_human import design_questions, records
from keyplan_systems.ask_a_human.base import STALE, Base, Failures
from keyplan_systems.ask_a_human.domain import questions
from keyplan_systems.ask_a_human.domain.timestamps import SECOND_MS, iso
from keyplan_systems.ask_a_human.entities import Errand
from keyplan_systems.ask_a_human.questions import EXPIRE

AT_ONCE = 100


class Sweeper:
    """Worker that stores expiry. Several can run at once."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def run_once(self) -> int:
        """Expire the due questions and return their number. Raises an UnfinishedError with the failures at the end."""
        now_ms, failures = self._base.now_ms, Failures()
        waiting = design_questions.due_errands(EXPIRE, iso(now_ms))
        due = self._connection.iterate(waiting, page_size=AT_ONCE, unreadable=failures.found.append)
        swept = sum(failures.first(lambda errand: self._sweep(errand, now_ms), due, AT_ONCE))
        failures.tell(swept)
        return swept

    def _sweep(self, errand: Errand, now_ms: int) -> int:
        stored = self._connection.run(design_questions.question_by_id(errand.question))
        if stored is None:
            call = design_questions.give_back(errand.agent, EXPIRE, errand.question)
        elif questions.expired(records.question(stored), now_ms) is None:
            return 0  # the question was closed concurrently, and the index still contains the deleted errand
        else:
            call = design_questions.expire(errand.question, errand.agent, now_ms // SECOND_MS, EXPIRE)
        try:
            self._connection.run(call)
        except TransactionFailedError as failed:
            if all(isinstance(reason, (*STALE, type(None))) for reason in failed.reasons):
                return 0  # another sweep was first
            raise
        return 1
