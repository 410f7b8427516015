"""The sweep: EXPIRED stored for questions whose deadline has passed, and their agents' quota given back.

A question's errand of this kind is there exactly as long as its agent's quota counts it: made with the question, and
removed by the transaction that closes or expires it. So a sweep that comes late, even after the question itself is
gone, still gives back what is counted, and never more.
"""

from __future__ import annotations

from keyplan.client.errors import TransactionFailedError
from keyplan_systems.ask_a_human import design_questions, records
from keyplan_systems.ask_a_human.asking import EXPIRE
from keyplan_systems.ask_a_human.base import STALE, Base, Failures
from keyplan_systems.ask_a_human.domain import questions
from keyplan_systems.ask_a_human.domain.moments import SECOND_MS, iso
from keyplan_systems.ask_a_human.entities import Errand

AT_ONCE = 100


class Sweeper:
    """The worker that stores expiry. Several may run at once."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def run_once(self) -> int:
        """Expire what is due; how many questions were. Raises an UnfinishedError of what failed, after all the rest."""
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
            return 0  # closed meanwhile: the index still shows an errand that is gone
        else:
            call = design_questions.expire(errand.question, errand.agent, now_ms // SECOND_MS, EXPIRE)
        try:
            self._connection.run(call)
        except TransactionFailedError as failed:
            if all(isinstance(reason, (*STALE, type(None))) for reason in failed.reasons):
                return 0  # another sweep was first
            raise
        return 1
