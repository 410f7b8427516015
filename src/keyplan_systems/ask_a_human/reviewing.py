"""What reviewers do: see the flags that wait, the recent answers of a person, and decide."""

from __future__ import annotations

from keyplan.connections.errors import NotFoundError
from keyplan.design import Page
from keyplan_systems.ask_a_human import design_responses, records
from keyplan_systems.ask_a_human.base import Base
from keyplan_systems.ask_a_human.domain.abuse import Action
from keyplan_systems.ask_a_human.domain.moments import iso
from keyplan_systems.ask_a_human.domain.questions import Response
from keyplan_systems.ask_a_human.entities import Flag


class Reviewing:
    """The uses of reviewers, for programs of the operator: there is no route to them."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def waiting(self, limit: int, cursor: str | None = None) -> Page[Flag]:
        """Flags nobody has decided about, oldest first."""
        return self._connection.run(design_responses.unreviewed_flags(), limit=limit, cursor=cursor)

    def recent_answers(self, person: str, limit: int, cursor: str | None = None) -> Page[Response]:
        """A person's answers, newest first; those of the last moments may be missing."""
        page = self._connection.run(design_responses.recent_answers(person), limit=limit, cursor=cursor)
        return Page(tuple(map(records.response, page)), page.cursor)

    def decide(self, flag_id: str, action: Action) -> Flag | None:
        """Record a decision, which replaces an earlier one; None if there is no such flag any more."""
        try:
            return self._connection.run(design_responses.review_flag(flag_id, action, iso(self._base.now_ms)))
        except NotFoundError:
            return None
