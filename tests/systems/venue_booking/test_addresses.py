"""Email addresses: claimed, verified by a code or by the issuer, released; and the limits of letters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.consistency import of_kind, text
from tests.systems.venue_booking.samples import VENUE
from tests.systems.venue_booking.stage import (
    Caller,
    Refused,
    Stage,
    all_items,
    booking_input,
    code_of,
    connected,
    staged,
)
from tests.systems.venue_booking.test_outbox import ROOM, Box

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.streams import Runner
from keyplan_systems.venue_booking.domain.addresses import HASHES_KEPT, MAX_TRIES, code_matches, hash_code
from keyplan_systems.venue_booking.entities import UserItem
from keyplan_systems.venue_booking.mail.letters import CodeKind, Letter, LetterWriter
from keyplan_systems.venue_booking.mail.senders import MailUnavailableError, SendResult
from keyplan_systems.venue_booking.outbox import OutboxSender, letter_runner
from keyplan_systems.venue_booking.writes import create_user

REQUEST_CODE = "mutation ($email: String!) { requestEmailCode(email: $email) { id email expiresAt } }"
VERIFY = "mutation ($id: ID!, $code: String!) { verifyEmail(id: $id, code: $code) { id email version } }"
CHANGE = (
    "mutation ($input: ProfileInput!, $v: Int) { changeProfile(input: $input, version: $v) { email name version } }"
)
CODES = "{ myEmailCodes { id email } }"
RELEASE = "mutation ($id: ID!) { releaseEmail(userId: $id) { id email version } }"


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.fixture
def outbox_sender(stage: Stage, box: Box) -> OutboxSender:
    return OutboxSender(stage.service.base, LetterWriter(VENUE, ROOM), box)


@pytest.fixture
def runner(outbox_sender: OutboxSender, tmp_path: Path) -> Runner:
    return letter_runner(outbox_sender, tmp_path / "failed")


def codes_in(box: Box) -> list[tuple[str, str]]:
    """Return the address and the code of each letter with a code."""
    entries = []
    for letter in box.letters:
        if letter.kind is CodeKind.VERIFY_EMAIL:
            plain = letter.message.get_body(("plain",))
            assert plain is not None
            code = re.search(r"^Codice: (\S{4}-\S{4})$", plain.get_content(), re.MULTILINE)
            assert code is not None
            entries.append((letter.message["To"].addresses[0].addr_spec, code[1]))
    return entries


def sent_code(caller: Caller, email: str, box: Box, runner: Runner) -> tuple[str, str]:
    """Return the ID of a claim to an address, and the code in its letter."""
    claim = caller.ask(REQUEST_CODE, email=email)["requestEmailCode"]
    runner.run_once()
    return claim["id"], codes_in(box)[-1][1]


def guards(engine: Engine | ServedEngine) -> set[str]:
    return {item["PK"]["S"].removeprefix("EMAIL#") for item in all_items(engine) if item["SK"]["S"] == "GUARD"}


def held_without_verification(stage: Stage, user_id: str, email: str) -> None:
    """Store a profile as before addresses were verified."""
    base = stage.service.base
    base.connection.run(create_user(UserItem(user_id=user_id, email=email, name="x", created_at=base.now())))


def at_once(works: list[Any]) -> Counter[str]:
    """Count how often concurrent calls succeed, or are refused with which code."""

    def outcome(work: Any) -> str:
        try:
            work()
        except Refused as refused:
            return refused.code
        return "won"

    with ThreadPoolExecutor(len(works)) as pool:
        return Counter(pool.map(outcome, works))


def test_a_claimed_address_reserves_nothing_until_its_code_is_entered(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine, box: Box, runner: Runner
) -> None:
    ada.ask("{ me { id } }")
    changed = ada.ask(CHANGE, input={"email": "New@Example.org", "name": "Ada R."})["changeProfile"]
    assert changed == {"email": "ada@example.org", "name": "Ada R.", "version": 2}
    assert guards(engine) == {"ada@example.org"}
    runner.run_once()
    ((address, code),) = codes_in(box)
    (claim,) = ada.ask(CODES)["myEmailCodes"]
    assert (address, claim["email"]) == ("new@example.org", "new@example.org")
    stored = [text(item, "PK") for item in all_items(engine) if code in str(item) or code.replace("-", "") in str(item)]
    assert stored == [], "only hashes are stored"
    verified = ada.ask(VERIFY, id=claim["id"], code=code.lower().replace("-", ""))["verifyEmail"]
    assert verified == {"id": "ada", "email": "new@example.org", "version": 3}
    assert guards(engine) == {"new@example.org"}
    assert ada.ask(CODES) == {"myEmailCodes": []}
    assert code_of(ada, VERIFY, id=claim["id"], code=code) == "not_found"
    assert stage.person("other", email="ada@example.org").ask("{ me { email } }")["me"]["email"] == "ada@example.org"


def test_a_claim_locks_no_one_out_and_yields_to_the_owner(
    stage: Stage, engine: Engine | ServedEngine, box: Box, runner: Runner
) -> None:
    eve = stage.person("eve")
    eve.ask("{ me { id } }")
    claim, code = sent_code(eve, "ada@example.org", box, runner)
    assert stage.person("ada").ask("{ me { email } }")["me"]["email"] == "ada@example.org"
    assert code_of(eve, VERIFY, id=claim, code=code) == "email_taken"
    assert code_of(eve, REQUEST_CODE, email="ADA@example.org") == "email_taken"
    assert guards(engine) == {"ada@example.org", "eve@example.org"}


def test_a_user_without_a_verified_address_signs_up_with_a_code(stage: Stage, box: Box, runner: Runner) -> None:
    """As with access tokens of Amazon Cognito, which have no claim `email`."""
    tokens: list[dict[str, Any]] = [{"email": None}, {"email_verified": False}]
    for number, claims in enumerate(tokens):
        caller = stage.person(f"user{number}", **claims)
        assert code_of(caller, "{ me { id } }") == "invalid"
        claim, code = sent_code(caller, f"user{number}@example.org", box, runner)
        verified = caller.ask(VERIFY, id=claim, code=code)["verifyEmail"]
        assert verified == {"id": f"user{number}", "email": f"user{number}@example.org", "version": 1}
        assert caller.ask("{ me { name } }")["me"]["name"] == f"User{number}"


def test_wrong_codes_are_counted_and_the_right_one_is_rejected_after_too_many(
    ada: Caller, box: Box, runner: Runner
) -> None:
    claim, code = sent_code(ada, "new@example.org", box, runner)
    for left in range(MAX_TRIES - 1, -1, -1):
        with pytest.raises(Refused) as refused:
            ada.ask(VERIFY, id=claim, code="0000-0000")
        assert (refused.value.code, refused.value.details) == ("wrong_code", {"triesLeft": left})
    assert code_of(ada, VERIFY, id=claim, code=code) == "wrong_code"


def test_concurrent_attempts_are_counted_individually(ada: Caller, box: Box, runner: Runner) -> None:
    claim, code = sent_code(ada, "new@example.org", box, runner)
    guesses = [lambda number=number: ada.ask(VERIFY, id=claim, code=f"AAAA-{number:04}") for number in range(16)]
    assert at_once(guesses) == {"wrong_code": 16}
    assert code_of(ada, VERIFY, id=claim, code=code) == "wrong_code", "the tries are used up"


def test_a_code_is_valid_for_an_hour_and_for_its_own_user(
    stage: Stage, ada: Caller, box: Box, runner: Runner, clock: ManualClock
) -> None:
    claim, code = sent_code(ada, "new@example.org", box, runner)
    assert code_of(stage.person("eve"), VERIFY, id=claim, code=code) == "not_found"
    clock.advance(3_600)
    assert code_of(ada, VERIFY, id=claim, code=code) == "not_found"
    assert code_of(ada, VERIFY, id="a#b", code=code) == "not_found"


def test_one_of_two_users_who_concurrently_verify_one_address_wins(
    stage: Stage, engine: Engine | ServedEngine, box: Box, runner: Runner
) -> None:
    held_without_verification(stage, "mallory", "wanted@example.org")
    people = [stage.person(f"user{number}") for number in range(2)]
    results = [(person, *sent_code(person, "wanted@example.org", box, runner)) for person in people]
    works = [lambda pair=caller_and_code: pair[0].ask(VERIFY, id=pair[1], code=pair[2]) for caller_and_code in results]
    assert at_once(works) == {"won": 1, "email_taken": 1}
    owners = [text(user, "PK") for user in of_kind(all_items(engine), "User") if "wanted" in str(user)]
    assert len(owners) == 1
    assert guards(engine) >= {"wanted@example.org"}


def test_one_code_entered_twice_concurrently_is_used_once(ada: Caller, box: Box, runner: Runner) -> None:
    ada.ask("{ me { id } }")
    claim, code = sent_code(ada, "new@example.org", box, runner)
    outcomes = at_once([lambda: ada.ask(VERIFY, id=claim, code=code) for _ in range(4)])
    assert outcomes["won"] == 1
    assert outcomes.keys() <= {"won", "not_found"}
    assert ada.ask("{ me { email version } }") == {"me": {"email": "new@example.org", "version": 2}}


def test_an_address_stored_before_verification_existed_is_transferred_to_its_owner(stage: Stage) -> None:
    held_without_verification(stage, "eve", "ada@example.org")
    held_without_verification(stage, "mallory", "new@example.org")
    ada = stage.person("ada")
    assert ada.ask("{ me { email } }") == {"me": {"email": "ada@example.org"}}
    moved = stage.person("ada", email="new@example.org").ask(CHANGE, input={"email": "new@example.org"})
    assert moved["changeProfile"]["email"] == "new@example.org"
    for name in ("eve", "mallory"):
        assert stage.person(name).ask("{ me { email } }") == {"me": {"email": None}}


def test_an_administrator_releases_an_address_and_the_action_is_recorded(
    stage: Stage, ada: Caller, admin: Caller
) -> None:
    ada.ask("{ me { id } }")
    assert code_of(ada, RELEASE, id="ada") == "forbidden"
    assert code_of(admin, RELEASE, id="nobody") == "not_found"
    assert admin.ask(RELEASE, id="ada") == {"releaseEmail": {"id": "ada", "email": None, "version": 2}}
    assert code_of(admin, RELEASE, id="ada") == "invalid"
    assert stage.person("owner", email="ada@example.org").ask("{ me { email } }")["me"]["email"] == "ada@example.org"
    log = admin.ask('{ auditOf(subject: "ada") { entries { actorId action } } }')["auditOf"]["entries"]
    assert log == [{"actorId": "root", "action": "RELEASE_EMAIL"}]


def test_a_letter_sent_again_contains_another_code_and_both_are_accepted(
    stage: Stage, ada: Caller, box: Box, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, failures = box.send, [MailUnavailableError("the answer was lost")]

    def lost(letter: Letter) -> SendResult:
        sent = send(letter)
        if failures:
            raise failures.pop()
        return sent

    monkeypatch.setattr(box, "send", lost)
    runner = letter_runner(OutboxSender(stage.service.base, LetterWriter(VENUE, ROOM), box), tmp_path / "failed")
    claim = ada.ask(REQUEST_CODE, email="new@example.org")["requestEmailCode"]["id"]
    for _ in range(5):
        runner.run_once()
        clock.advance(10)
    (_, first), (_, second) = codes_in(box)
    assert first != second
    assert ada.ask(VERIFY, id=claim, code=first)["verifyEmail"]["email"] == "new@example.org"


def test_codes_are_compared_by_salted_hashes_in_any_spelling() -> None:
    hashes = [hash_code(f"AAAA000{number}", "salt") for number in range(HASHES_KEPT)]
    assert code_matches("aaaa-ooo2", "salt", hashes)
    assert not code_matches("AAAA0003", "salt", hashes)
    assert not code_matches("AAAA0002", "other salt", hashes)
    assert not code_matches("AAAA0002", "salt", [])


RULES = VENUE.model_copy(update={"letters_per_user": 6, "letters_per_address": 4})


@pytest.fixture
def strict(engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path) -> Iterator[Stage]:
    """Serve the system with 6 letters per day for a user and 4 for an address."""
    with connected(engine, clock) as connection, staged(connection, clock, tmp_path / "keys", RULES) as stage:
        yield stage


def wish(email: str) -> dict[str, Any]:
    return booking_input(duration="EVENING", contact={"email": email})


REQUEST = "mutation ($input: BookingInput!) { requestBooking(input: $input) { id } }"


def test_letters_to_one_address_are_limited_for_all_users_together(
    strict: Stage, engine: Engine | ServedEngine, clock: ManualClock
) -> None:
    people = [strict.person(f"user{number}") for number in range(3)]
    works = [lambda person=people[number % 3]: person.ask(REQUEST, input=wish("v@example.org")) for number in range(12)]
    assert at_once(works) == {"won": 4, "too_many_letters": 8}
    assert len(of_kind(all_items(engine), "Booking")) == 4
    with pytest.raises(Refused) as refused:
        strict.person("eve").ask(REQUEST_CODE, email="v@example.org")
    assert (refused.value.code, refused.value.details) == ("too_many_letters", {"retryAt": "2025-10-22T00:00:00+00:00"})
    clock.advance(14 * 3_600)
    assert strict.person("eve").ask(REQUEST_CODE, email="v@example.org")["requestEmailCode"]["email"] == "v@example.org"


def test_letters_caused_by_one_user_are_limited_for_all_addresses_together(
    strict: Stage, engine: Engine | ServedEngine
) -> None:
    eve = strict.person("eve")
    eve.ask("{ me { id } }")
    works: list[Any] = [lambda number=number: eve.ask(REQUEST, input=wish(f"v{number}@x.org")) for number in range(8)]
    works += [lambda number=number: eve.ask(CHANGE, input={"email": f"w{number}@x.org"}) for number in range(8)]
    assert at_once(works) == {"won": 6, "too_many_letters": 10}
    letters = of_kind(all_items(engine), "EmailCode") + of_kind(all_items(engine), "Booking")
    assert len(letters) == 6


def test_a_rejected_request_counts_no_letter(strict: Stage) -> None:
    ada = strict.person("ada")
    for _ in range(8):
        assert code_of(ada, REQUEST, input={**wish("ada@example.org"), "attendees": 0}) == "invalid"
    ada.ask(REQUEST, input=wish("ada@example.org"))
