"""Sample data: the seed scenarios, and the users who can sign in to a development server."""

from __future__ import annotations

from typing import Final

from keyplan_systems.thinking_trainer.scenarios.loader import seed_scenarios
from keyplan_systems.thinking_trainer.service import Service
from keyplan_systems.web.system import SamplePerson

PEOPLE: Final = (
    SamplePerson("ada", "Ada", "Learns: solves scenarios and follows her profile."),
    SamplePerson("ben", "Ben", "Learns, too: sees neither Ada's attempts nor her profile."),
    SamplePerson("cleo", "Cleo", "Decides which scenarios are offered.", roles=("administrators",)),
)


def load_sample(service: Service) -> None:
    """Add the seed scenarios that do not exist yet. The sample contains no attempts."""
    service.add_scenarios(seed_scenarios())
