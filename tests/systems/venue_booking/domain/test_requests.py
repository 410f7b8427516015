"""Input: refusals, normalisation, and refusals without quoted values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.systems.venue_booking.samples import NOW, REQUEST, VENUE

from keyplan_systems.venue_booking.domain.codes import ALPHABET, new_code, readable_code
from keyplan_systems.venue_booking.domain.contacts import normalise_email, normalise_phone, several_lines, single_line
from keyplan_systems.venue_booking.domain.refusals import DateNotBookableError, InvalidRequestError
from keyplan_systems.venue_booking.domain.requests import (
    BookingRequest,
    EventKind,
    EventRequest,
    checked_booking,
    checked_event,
    parse,
)


def contact(**changes: Any) -> dict[str, Any]:
    return {"contact": {**REQUEST["contact"], **changes}}


def test_a_valid_request_is_normalized() -> None:
    values = {**REQUEST, **contact(email=" Ada.Rossi+x@Example.ORG ", full_name="  Ada   Rossi ", phone="333 1234567")}
    request = checked_booking(parse(BookingRequest, values), VENUE, NOW)
    assert request.contact.email == "ada.rossi+x@example.org"
    assert request.contact.full_name == "Ada Rossi"
    assert request.contact.phone == "+393331234567"
    assert request.association is None


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"consent": False}, "consent"),
    ({"consent": None}, "consent"),
    ({"consent": 1}, "consent"),
    ({"consent": "true"}, "consent"),
    ({"date": "15/11/2025"}, "date"),
    ({"date": "2025-02-30"}, "date"),
    ({"attendees": 0}, "attendees"),
    ({"attendees": "50"}, "attendees"),
    ({"attendees": True}, "attendees"),
    ({"attendees": 1.5}, "attendees"),
    ({"description": " \n "}, "description"),
    ({"description": "x" * 2001}, "description"),
    ({"description": "a\x00b"}, "description"),
    ({"association": "a\nBcc: all@example.org"}, "association"),
    ({"language": "fr"}, "language"),
    ({"status": "approved"}, "status"),
    (contact(full_name=""), "contact.fullName"),
    (contact(full_name="Ada\r\nBcc: x@example.org"), "contact.fullName"),
    (contact(full_name="Ada \u202egro.elpmaxe"), "contact.fullName"),
    (contact(email="ada"), "contact.email"),
    (contact(email="ada@localhost"), "contact.email"),
    (contact(email="ada@example.org\nBcc: b@example.org"), "contact.email"),
    (contact(email="a" * 250 + "@example.org"), "contact.email"),
    (contact(phone=""), "contact.phone"),
]


@pytest.mark.parametrize(("changes", "field"), WRONG, ids=[f"{field}-{n}" for n, (_, field) in enumerate(WRONG)])
def test_an_invalid_request_names_the_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        parse(BookingRequest, {**REQUEST, **changes})
    assert list(refusal.value.details["fields"]) == [field]  # type: ignore[call-overload] # a mapping by construction


@pytest.mark.parametrize("field", ["date", "duration", "description", "attendees", "contact", "consent"])
def test_every_required_field_is_required(field: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"Invalid input: {field}"):
        parse(BookingRequest, {name: value for name, value in REQUEST.items() if name != field})


def test_a_rejection_does_not_quote_the_input() -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        parse(BookingRequest, {**REQUEST, **contact(email="very-private-text")})
    assert "very-private-text" not in refusal.value.message + str(refusal.value.details)


@pytest.mark.parametrize(("changes", "reason"), [
    ({"attendees": 101}, "holds 100 people"),
    ({"duration": "FULLDAY"}, "Unknown duration"),
    (contact(phone="12"), "phone"),
    (contact(phone="call me"), "phone"),
    (contact(phone="+39 1234567890123456"), "phone"),
])  # fmt: skip
def test_a_request_must_match_the_venue(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        checked_booking(parse(BookingRequest, {**REQUEST, **changes}), VENUE, NOW)


@pytest.mark.parametrize("day", ["2025-10-23", "2027-10-22", "0001-01-01", "9999-12-31"])
def test_a_date_outside_the_window_is_rejected(day: str) -> None:
    with pytest.raises(DateNotBookableError):
        checked_booking(parse(BookingRequest, {**REQUEST, "date": day}), VENUE, NOW)


def test_administrators_are_bound_by_the_calendar_and_not_by_the_lead_time() -> None:
    values = {"date": "2025-10-21", "duration": "FULL_DAY", "kind": "closure", "title": "Painting"}
    assert checked_event(parse(EventRequest, values), VENUE, NOW).kind is EventKind.CLOSURE
    with pytest.raises(DateNotBookableError, match="is over"):
        checked_event(parse(EventRequest, {**values, "date": "2025-10-20"}), VENUE, NOW)
    with pytest.raises(InvalidRequestError, match="kind"):
        parse(EventRequest, {**values, "kind": "private_booking"})


def test_addresses_that_differ_only_in_case_or_domain_encoding_are_equal() -> None:
    forms = ["user@bücher.example", "USER@BÜCHER.example", " user@xn--bcher-kva.example"]
    assert {normalise_email(form) for form in forms} == {"user@xn--bcher-kva.example"}


@settings(deadline=None)
@given(st.emails())
def test_normalizing_an_address_twice_changes_nothing(address: str) -> None:
    try:
        once = normalise_email(address)
    except ValueError:
        return
    assert normalise_email(once) == once
    assert normalise_email(address.upper()) == once


@settings(deadline=None)
@given(st.text())
def test_normalizing_a_line_is_idempotent(text: str) -> None:
    try:
        line = single_line(text)
    except ValueError:
        return
    assert len(line.splitlines()) <= 1
    assert single_line(line) == line


@settings(deadline=None)
@given(st.text())
def test_normalizing_a_text_is_idempotent(text: str) -> None:
    try:
        settled = several_lines(text)
    except ValueError:
        return
    assert "\r" not in settled
    assert several_lines(settled) == settled


def test_phone_numbers_without_plus_belong_to_the_country() -> None:
    assert normalise_phone("06 6982", "IT") == "+39066982"
    assert normalise_phone("+44 20 7946 0000", "IT") == "+442079460000"


def test_a_code_has_eight_characters_of_the_alphabet() -> None:
    assert new_code(bytes) == "00000000"
    assert new_code(lambda count: b"\xff" * count) == "ZZZZZZZZ"
    codes = {new_code() for _ in range(200)}
    assert len(codes) == 200
    assert {len(code) for code in codes} == {8}
    assert set("".join(codes)) <= set(ALPHABET)
    assert not set("ILOU") & set(ALPHABET)


def test_a_code_is_displayed_in_two_halves() -> None:
    assert readable_code("ABCD1234") == "ABCD-1234"


@settings(deadline=None)
@given(st.binary(min_size=5, max_size=5), st.binary(min_size=5, max_size=5))
def test_different_random_bytes_give_different_codes(first: bytes, second: bytes) -> None:
    assert (new_code(lambda _: first) == new_code(lambda _: second)) is (first == second)
