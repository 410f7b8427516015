"""Profiles, payments, lock codes and the audit log."""

from __future__ import annotations

from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.consistency import of_kind, text
from tests.systems.venue_booking.stage import Caller, Refused, Stage, all_items, code_of

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan_systems.venue_booking.writes import count_bookings

CHANGE = "mutation ($input: ProfileInput!, $version: Int) { changeProfile(input: $input, version: $version) {"
CHANGE += " email name phone language version } }"


def test_a_profile_is_created_from_the_token_on_first_use(stage: Stage, engine: Engine | ServedEngine) -> None:
    caller = stage.person("ada", email="Ada@EXAMPLE.org", name="Ada Rossi")
    me = caller.ask("{ me { id email name role language version createdAt } }")["me"]
    assert me == {
        "id": "ada",
        "email": "ada@example.org",
        "name": "Ada Rossi",
        "role": "USER",
        "language": "ITALIAN",
        "version": 1,
        "createdAt": "2025-10-21T10:00:00+00:00",
    }
    (user,) = of_kind(all_items(engine), "User")
    assert text(user, "PK") == "USER#ada"
    assert text(user, "SK") == "METADATA"
    assert text(user, "GSI1PK") == "EMAIL#ada@example.org"
    assert text(user, "GSI1SK") == "USER"


@pytest.mark.parametrize(
    ("claimed", "phone"), [("+393331234567", "+393331234567"), ("12", None), (39, None), (None, None)], ids=str
)
@pytest.mark.embedded("a rule of tokens")
def test_the_phone_number_of_the_token_is_used_if_it_is_valid(claimed: Any, phone: str | None, stage: Stage) -> None:
    assert stage.person("ada", phone_number=claimed).ask("{ me { phone } }") == {"me": {"phone": phone}}


@pytest.mark.parametrize("name", [None, "", "  "])
def test_a_user_without_a_name_is_named_by_the_address(name: str | None, stage: Stage) -> None:
    ada = stage.person("ada", name=name)
    assert ada.ask("{ me { name } }") == {"me": {"name": "ada@example.org"}}


@pytest.mark.parametrize(
    "claims",
    [
        {"email": None},
        {"email": "nobody"},
        *({"email_verified": claim} for claim in (False, "false", "False", None, list[str](), dict[str, str]())),
        {"name": "a\nb"},
    ],
    ids=str,
)
@pytest.mark.embedded("refused before any table is met")
def test_a_token_from_which_no_profile_can_be_created_is_reported(claims: dict[str, Any], stage: Stage) -> None:
    assert code_of(stage.person("ada", **claims), "{ me { id } }") == "invalid"


@pytest.mark.parametrize("claim", [True, "true"])
def test_a_token_with_a_verified_address_creates_a_profile(claim: object, stage: Stage) -> None:
    assert stage.person("ada", email_verified=claim).ask("{ me { email } }")["me"]["email"] == "ada@example.org"


@pytest.mark.embedded("refused before any table is met")
def test_a_subject_that_is_not_a_valid_id_is_reported(stage: Stage) -> None:
    assert code_of(stage.person("a#b"), "{ me { id } }") == "invalid"


def test_a_changed_address_moves_its_guard_and_releases_the_old_one(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    ada = stage.person("ada")
    ada.ask("{ me { id } }")
    moved = stage.person("ada", email="new@example.org")
    changed = moved.ask(CHANGE, input={"email": " New@Example.org ", "phone": "333 123 4567", "language": "ENGLISH"})
    assert changed["changeProfile"] == {
        "email": "new@example.org",
        "name": "Ada",
        "phone": "+393331234567",
        "language": "ENGLISH",
        "version": 2,
    }
    guards = {item["PK"]["S"] for item in all_items(engine) if item["SK"]["S"] == "GUARD"}
    assert guards == {"EMAIL#new@example.org"}
    other = stage.person("other", email="ada@example.org")
    assert other.ask("{ me { email } }") == {"me": {"email": "ada@example.org"}}


def test_the_address_of_another_user_is_rejected_in_any_case(stage: Stage, ada: Caller) -> None:
    ada.ask("{ me { id } }")
    bob = stage.person("bob")
    bob.ask("{ me { id } }")
    assert code_of(bob, CHANGE, input={"email": "ADA@example.ORG"}) == "email_taken"
    assert code_of(stage.person("eve", email="Ada@Example.org"), "{ me { id } }") == "email_taken"


def test_an_empty_change_and_a_stale_version_are_rejected(ada: Caller) -> None:
    ada.ask("{ me { id } }")
    assert code_of(ada, CHANGE, input={}) == "invalid"
    assert code_of(ada, CHANGE, input={"name": "A"}, version=4) == "stale_version"
    assert code_of(ada, CHANGE, input={"phone": "1"}) == "invalid"


def test_a_change_without_a_version_is_applied_on_top_of_concurrent_changes(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.ask("{ me { id } }")
    run, overtakes = stage.connection.run, [True, False, True]

    def overtaken(call: Any, **options: Any) -> Any:
        if call.pattern.name == "replace_user" and overtakes.pop():
            run(count_bookings("ada", 1, 0, 0, 0))
        return run(call, **options)

    monkeypatch.setattr(stage.connection, "run", overtaken)
    assert ada.ask(CHANGE, input={"name": "Ada R."})["changeProfile"]["version"] == 3
    me = ada.ask("{ me { name stats { pending } } }")["me"]
    assert me == {"name": "Ada R.", "stats": {"pending": 1}}
    assert code_of(ada, CHANGE, input={"name": "x"}, version=3) == "stale_version"


def test_administrators_find_users_by_address_and_list_them(stage: Stage, admin: Caller, clock: ManualClock) -> None:
    for name in ("eve", "ada", "bob"):
        stage.person(name).ask("{ me { id } }")
        clock.advance(1)
    assert admin.ask('{ userByEmail(email: "BOB@example.org") { id } }') == {"userByEmail": {"id": "bob"}}
    assert admin.ask('{ userByEmail(email: "none@example.org") { id } }') == {"userByEmail": None}
    assert code_of(admin, '{ userByEmail(email: "bob") { id } }') == "invalid"
    first = admin.ask("{ users(first: 2) { entries { id } cursor } }")["users"]
    assert [user["id"] for user in first["entries"]] == ["eve", "ada"]
    rest = admin.ask("query ($c: String) { users(first: 2, after: $c) { entries { id } } }", c=first["cursor"])
    assert rest["users"]["entries"] == [{"id": "bob"}]


def test_a_lock_code_is_shown_for_thirty_days_after_its_hours(admin: Caller, clock: ManualClock) -> None:
    event = admin.event(date="2025-10-21", duration="EVENING")["id"]
    digits = admin.ask(ISSUE, id=event)["issueLockCode"]["digits"]
    clock.advance((12 * 60 + 30 - 1) * 60 + 30 * 86_400)  # noon at the venue, until half past midnight
    assert admin.ask(CODE, id=event)["lockCode"]["digits"] == digits
    clock.advance(60)
    assert admin.ask(CODE, id=event) == {"lockCode": None}


PAY = "mutation ($input: PaymentInput!) { recordPayment(input: $input) { id amountCents currency } }"
PAYMENTS = "query ($id: ID!) { payments(bookingId: $id) { entries { amountCents method recordedBy } } }"


def test_payments_are_recorded_and_seen_by_the_owner(
    stage: Stage, ada: Caller, admin: Caller, clock: ManualClock
) -> None:
    booking = ada.request()
    for cents in (5_000, 2_500):
        admin.ask(PAY, input={"bookingId": booking["id"], "amountCents": cents, "method": "TRANSFER"})
        clock.advance(1)
    result = ada.ask(PAYMENTS, id=booking["id"])["payments"]["entries"]
    assert result == [{"amountCents": cents, "method": "TRANSFER", "recordedBy": "root"} for cents in (5_000, 2_500)]
    assert code_of(stage.person("bob"), PAYMENTS, id=booking["id"]) == "not_found"
    wrong = {"bookingId": booking["id"], "amountCents": 0, "method": "CASH"}
    assert code_of(ada, PAY, input=wrong) == "forbidden"
    with pytest.raises(Refused) as refused:
        admin.ask(PAY, input=wrong)
    assert (refused.value.code, list(refused.value.details["fields"])) == ("invalid", ["amountCents"])


def test_an_invalid_payment_is_rejected_and_leaves_no_entry(admin: Caller, engine: Engine | ServedEngine) -> None:
    assert code_of(admin, PAY, input={"bookingId": "none", "amountCents": 1, "method": "CASH"}) == "not_found"
    assert all_items(engine) == []


CODE = "query ($id: ID!) { lockCode(eventId: $id) { digits validFrom validUntil } }"
ISSUE = "mutation ($id: ID!) { issueLockCode(eventId: $id) { digits } }"


def test_a_lock_code_is_visible_to_the_owner_of_the_booking(
    stage: Stage, ada: Caller, admin: Caller, engine: Engine | ServedEngine
) -> None:
    booking = ada.request(duration="EVENING")
    event = admin.decide("approve", booking["id"])["eventId"]
    assert ada.ask(CODE, id=event) == {"lockCode": None}
    digits = admin.ask(ISSUE, id=event)["issueLockCode"]["digits"]
    assert len(digits) == 6
    result = ada.ask(CODE, id=event)["lockCode"]
    assert result == {
        "digits": digits,
        "validFrom": "2025-11-15T19:00:00+00:00",
        "validUntil": "2025-11-15T23:30:00+00:00",
    }
    assert code_of(stage.person("bob"), CODE, id=event) == "forbidden"
    (item,) = of_kind(all_items(engine), "LockCode")
    assert (text(item, "PK"), text(item, "SK")) == (f"EVENT#{event}", "LOCKCODE")
    ada.decide("cancel", booking["id"])
    assert of_kind(all_items(engine), "LockCode") == []
    assert code_of(admin, ISSUE, id=event) == "not_found"


def test_every_action_of_an_administrator_is_in_the_audit_log(ada: Caller, admin: Caller, clock: ManualClock) -> None:
    booking, other = ada.request(), ada.request(date="2025-11-20")
    event = admin.decide("approve", booking["id"])["eventId"]
    acts: list[tuple[str, dict[str, Any]]] = [
        (ISSUE, {"id": event}),
        (PAY, {"input": {"bookingId": booking["id"], "amountCents": 100, "method": "CASH"}}),
    ]
    for query, variables in acts:
        clock.advance(1)
        admin.ask(query, **variables)
    for action, target in (("reject", other), ("cancel", booking)):
        clock.advance(1)
        admin.decide(action, target["id"])
    clock.advance(1)
    market = admin.event()
    clock.advance(1)
    admin.ask("mutation ($id: ID!) { deleteEvent(id: $id) { id } }", id=market["id"])
    log = admin.ask('{ audit(month: "2025-10") { entries { actorId action subject } } }')["audit"]["entries"]
    assert [entry["action"] for entry in log] == [
        "DELETE_EVENT", "CREATE_EVENT", "CANCEL_BOOKING", "REJECT_BOOKING", "RECORD_PAYMENT", "ISSUE_LOCK_CODE",
        "APPROVE_BOOKING",
    ]  # fmt: skip
    assert {entry["actorId"] for entry in log} == {"root"}
    query = "query ($id: ID!) { auditOf(subject: $id) { entries { action details { name value } } } }"
    result = admin.ask(query, id=booking["id"])["auditOf"]["entries"]
    assert [entry["action"] for entry in result] == ["APPROVE_BOOKING", "RECORD_PAYMENT", "CANCEL_BOOKING"]
    assert {"name": "amount_cents", "value": "100"} in result[1]["details"]


def test_actions_of_owners_are_not_in_the_audit_log(ada: Caller, engine: Engine | ServedEngine) -> None:
    ada.decide("cancel", ada.request()["id"])
    assert of_kind(all_items(engine), "AuditEntry") == []


def test_a_failed_decision_leaves_no_entry(ada: Caller, admin: Caller, engine: Engine | ServedEngine) -> None:
    first, second = ada.request(), ada.request()
    admin.decide("approve", first["id"])
    with pytest.raises(Refused):
        admin.decide("approve", second["id"])
    assert len(of_kind(all_items(engine), "AuditEntry")) == 1


def test_lists_by_status_may_lag_and_decisions_do_not(tmp_path: Any) -> None:
    from tests.systems.venue_booking.test_races import faulty  # noqa: PLC0415 - loads many modules

    with faulty(tmp_path, Faults(gsi_lag=5.0)) as world:
        ada, admin, clock = world.stage.person("ada"), world.stage.admin(), world.clock
        booking = ada.request()
        clock.advance(6)
        admin.decide("approve", booking["id"])
        listed = admin.ask("{ bookings { entries { id status } } }")["bookings"]["entries"]
        assert listed == [{"id": booking["id"], "status": "PENDING"}]
        with pytest.raises(Refused) as refused:
            admin.decide("approve", booking["id"])
        assert refused.value.code == "already_decided"
        result = admin.ask("query ($id: ID!) { booking(id: $id) { status } }", id=booking["id"])
        assert result == {"booking": {"status": "APPROVED"}}
