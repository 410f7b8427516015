"""Mutations with an idempotency key: they happen once, whether repeated concurrently or after a lost answer."""

from __future__ import annotations

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.consistency import check, of_kind
from tests.systems.venue_booking.stage import Caller, Stage, all_items, booking_input, code_of

from keyplan.client.errors import UnavailableError
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.venue_booking.api.schema import make_schema

PAY = """mutation ($input: PaymentInput!, $key: String) {
  recordPayment(input: $input, idempotencyKey: $key) { id bookingId amountCents currency method receivedAt recordedBy }
}"""
REQUEST = """mutation ($input: BookingInput!, $key: String) {
  requestBooking(input: $input, idempotencyKey: $key) {
    id code date duration description attendees contact { fullName email phone } language status requestedAt version
  }
}"""
DECIDE = """mutation ($id: ID!, $key: String) {
  %sBooking(id: $id, reason: "So", idempotencyKey: $key) { id status slots eventId decidedAt reason version }
}"""
EVENT = """mutation ($input: EventInput!, $key: String) {
  createEvent(input: $input, idempotencyKey: $key) { id date slots title version description }
}"""
DELETE = "mutation ($id: ID!, $key: String) { deleteEvent(id: $id, idempotencyKey: $key) { id title slots } }"
ISSUE = "mutation ($id: ID!, $key: String) { issueLockCode(eventId: $id, idempotencyKey: $key) { digits validUntil } }"
CHANGE = """mutation ($input: ProfileInput!, $key: String) {
  changeProfile(input: $input, idempotencyKey: $key) { email name version stats { total } }
}"""
MARKET = {"date": "2025-12-06", "duration": "FULL_DAY", "kind": "PUBLIC_EVENT", "title": "Market"}


def payment(booking_id: str, cents: int = 5_000) -> dict[str, Any]:
    return {"bookingId": booking_id, "amountCents": cents, "method": "CASH"}


def test_a_payment_sent_twice_with_one_key_is_recorded_once(
    ada: Caller, admin: Caller, engine: Engine | ServedEngine
) -> None:
    booking = ada.request()
    first = admin.ask(PAY, input=payment(booking["id"]), key="k1")
    assert admin.ask(PAY, input=payment(booking["id"]), key="k1") == first
    assert len(of_kind(all_items(engine), "Payment")) == 1
    assert len(of_kind(all_items(engine), "AuditEntry")) == 1
    other = admin.ask(PAY, input=payment(booking["id"]), key="k2")
    assert other["recordPayment"]["id"] != first["recordPayment"]["id"]


def test_concurrent_payments_with_one_key_are_one_payment_and_one_response(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine
) -> None:
    booking = ada.request()
    admins = [stage.admin() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        result = list(
            pool.map(
                lambda caller: caller.ask(PAY, input=payment(booking["id"]), key="k")["recordPayment"]["id"], admins
            )
        )
    assert len(set(result)) == 1
    assert len(of_kind(all_items(engine), "Payment")) == 1


def test_a_payment_with_a_lost_response_is_sent_again_with_its_key(
    stage: Stage, ada: Caller, admin: Caller, engine: Engine | ServedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    booking = ada.request()
    transact = stage.connection.transact

    def lost(*calls: Any, **options: Any) -> None:
        transact(*calls, **options)
        raise UnavailableError("the answer was lost")

    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "transact", lost)
        assert code_of(admin, PAY, input=payment(booking["id"]), key="k") == "unavailable"
    assert admin.ask(PAY, input=payment(booking["id"]), key="k")["recordPayment"]["amountCents"] == 5_000
    assert len(of_kind(all_items(engine), "Payment")) == 1


def test_every_repeated_mutation_gets_its_first_response(
    stage: Stage, ada: Caller, admin: Caller, engine: Engine | ServedEngine, clock: ManualClock
) -> None:
    numbers = itertools.count()

    def twice(caller: Caller, query: str, **variables: Any) -> Any:
        responses, key = [], f"key-{next(numbers)}"
        for _ in range(2):
            responses.append(caller.ask(query, key=key, **variables))
            clock.advance(5)
        assert responses[0] == responses[1]
        return next(iter(responses[0].values()))

    created = twice(ada, REQUEST, input=booking_input())
    approved = twice(admin, DECIDE % "approve", id=created["id"])
    twice(admin, ISSUE, id=approved["eventId"])
    twice(admin, DECIDE % "reject", id=created["id"])
    market = twice(admin, EVENT, input=MARKET)
    twice(admin, DELETE, id=market["id"])
    assert twice(ada, CHANGE, input={"name": "Ada R."})["name"] == "Ada R."
    assert twice(ada, CHANGE, input={"email": "new@example.org"})["email"] == "ada@example.org"
    items = all_items(engine)
    kinds = Counter(item.get("entityType", {}).get("S") for item in items)
    assert (kinds["Booking"], kinds["Event"], kinds["EmailCode"], kinds["AuditEntry"]) == (1, 0, 1, 5)
    assert check(engine) == 1


def test_a_repeated_claim_returns_the_first_profile_and_sends_no_second_code(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine
) -> None:
    first = ada.ask(CHANGE, input={"email": "new@example.org", "name": "Ada R."}, key="k")
    assert first["changeProfile"]["name"] == "Ada R."
    vouched = stage.person("ada", email="new@example.org")
    assert vouched.ask(CHANGE, input={"email": "new@example.org"})["changeProfile"]["version"] == 3
    assert ada.ask(CHANGE, input={"email": "new@example.org", "name": "Ada R."}, key="k") == first
    assert ada.ask("{ me { email version } }") == {"me": {"email": "new@example.org", "version": 3}}
    assert len(of_kind(all_items(engine), "EmailCode")) == 1


def test_a_change_with_a_rejected_address_changes_nothing(stage: Stage, ada: Caller) -> None:
    stage.person("bob").ask("{ me { id } }")
    ada.ask("{ me { id } }")
    assert code_of(ada, CHANGE, input={"email": "bob@example.org", "name": "Bob"}) == "email_taken"
    assert ada.ask("{ me { name version } }") == {"me": {"name": "Ada", "version": 1}}


def test_a_key_with_another_mutation_or_other_arguments_is_rejected(ada: Caller, admin: Caller, stage: Stage) -> None:
    booking = ada.request()
    admin.ask(PAY, input=payment(booking["id"]), key="k")
    assert code_of(admin, PAY, input=payment(booking["id"], 5_001), key="k") == "idempotency_key_reused"
    assert code_of(admin, DECIDE % "reject", id=booking["id"], key="k") == "idempotency_key_reused"
    other = stage.admin("other").ask(PAY, input=payment(booking["id"]), key="k")
    assert other["recordPayment"]["recordedBy"] == "other", "keys are each user's own"


def test_a_rejection_is_not_stored_and_the_key_can_be_used_again(ada: Caller, admin: Caller) -> None:
    booking = ada.request()
    assert code_of(admin, PAY, input=payment("none"), key="k") == "not_found"
    assert admin.ask(PAY, input=payment(booking["id"]), key="k")["recordPayment"]["bookingId"] == booking["id"]
    for key in ("", "a b", "x" * 129, "caff\u00e8"):
        assert code_of(admin, PAY, input=payment(booking["id"]), key=key) == "invalid"


def test_a_key_can_be_reused_after_a_day(ada: Caller, admin: Caller, clock: ManualClock) -> None:
    booking = ada.request()
    first = admin.ask(PAY, input=payment(booking["id"]), key="k")
    clock.advance(86_400)
    assert admin.ask(PAY, input=payment(booking["id"]), key="k") != first


def test_every_mutation_accepts_an_idempotency_key() -> None:
    mutation = make_schema()._schema.mutation_type
    assert mutation is not None
    assert [name for name, field in mutation.fields.items() if "idempotencyKey" not in field.args] == []
