"""Lost answers: completed changes are reported as done, others as unknown, and none happens twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.consistency import check, of_kind, text
from tests.systems.venue_booking.samples import VENUE
from tests.systems.venue_booking.stage import Caller, Refused, Stage, all_items, connected, staged

from keyplan.client.connection import Connection
from keyplan.client.requests import Transport
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.errors import InternalServerError

CHANGE = "mutation ($input: ProfileInput!) { changeProfile(input: $input) { email version } }"


@dataclass
class Losing:
    """Transport that can lose the answers to transactions, or the transactions themselves."""

    inner: Transport
    loses: str = ""

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Pass a request on, and lose what is configured."""
        if operation == "TransactWriteItems" and self.loses == "requests":
            raise InternalServerError("lost on the way")
        response = self.inner.call(operation, request)
        if operation == "TransactWriteItems" and self.loses == "answers":
            raise InternalServerError("lost on the way back")
        return response

    def close(self) -> None:
        """Close the wrapped transport."""
        self.inner.close()


@dataclass
class World:
    """System on such a transport."""

    stage: Stage
    engine: Engine | ServedEngine
    transport: Losing

    @contextmanager
    def losing(self, kind: str) -> Iterator[None]:
        """Lose answers, or requests, during the block."""
        self.transport.loses = kind
        yield
        self.transport.loses = ""


@pytest.fixture
def world(engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path) -> Iterator[World]:
    with connected(engine, clock, attempts=3) as below:
        transport = Losing(below.transport)
        with staged(Connection(transport, below.context), clock, tmp_path / "keys", VENUE) as stage:
            yield World(stage, engine, transport)


@pytest.fixture
def ada(world: World) -> Caller:
    caller = world.stage.person("ada")
    caller.ask("{ me { id } }")
    return caller


def test_completed_work_is_reported_as_done_even_if_every_response_was_lost(world: World, ada: Caller) -> None:
    admin = world.stage.admin()
    with world.losing("answers"):
        booking = ada.request()
        assert admin.decide("approve", booking["id"], version=1)["version"] == 2
        assert ada.decide("cancel", booking["id"])["status"] == "CANCELLED"
        admin.event()
        moved = world.stage.person("ada", email="new@example.org")
        assert moved.ask(CHANGE, input={"email": "new@example.org"})["changeProfile"]["email"] == "new@example.org"
    assert check(world.engine) == 1
    assert {text(slot, "date") for slot in of_kind(all_items(world.engine), "EventSlot")} == {"2025-12-06"}


def test_failed_work_has_an_unknown_outcome_and_can_be_repeated(world: World, ada: Caller) -> None:
    admin, booking = world.stage.admin(), ada.request()
    before = all_items(world.engine)
    with world.losing("requests"):
        for work in (
            ada.request,
            lambda: admin.decide("approve", booking["id"]),
            admin.event,
            lambda: ada.ask(CHANGE, input={"email": "new@example.org"}),
        ):
            with pytest.raises(Refused) as refused:
                work()
            assert refused.value.code == "outcome_unknown"
    assert all_items(world.engine) == before
    assert admin.decide("approve", booking["id"])["status"] == "APPROVED"
    assert check(world.engine) == 1
