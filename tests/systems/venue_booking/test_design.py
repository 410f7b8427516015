"""Design against its requirements: checked clean, documented, one request for each documented pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

import keyplan_systems.venue_booking
from keyplan.check.checking import check
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.verify.run import verify
from keyplan_systems.venue_booking.entities import venue

FOLDER = Path(keyplan_systems.venue_booking.__file__).parent
DOCUMENTED = {
    "user_by_id": "GetItem",
    "booking_by_id": "GetItem",
    "bookings_of_user": "Query",
    "slots_on_date": "Query",
    "bookings_with_status": "Query",
    "slots_in_months": "Query",
    "user_by_email": "Query",
    "payments_of_booking": "Query",
    "notifications_of_user": "Query",
    "lock_code_of_event": "GetItem",
}


@pytest.fixture(scope="module")
def design() -> Design:
    return Design.load("keyplan_systems.venue_booking.design")


def test_every_finding_of_the_check_is_suppressed_with_a_reason(design: Design) -> None:
    report = check(design)
    assert report.findings == ()


def test_the_documented_patterns_are_declared_in_order_with_their_numbers(design: Design) -> None:
    numbered = [pattern for pattern in design.patterns if (pattern.doc or "")[:1].isdigit()]
    assert {pattern.name: pattern.plan.operation for pattern in numbered} == DOCUMENTED
    assert [int(pattern.doc.split(".")[0]) for pattern in numbered] == list(range(1, 11))


def test_keys_and_indexes_match_the_document_where_it_is_correct(design: Design) -> None:
    keys = {entity.name: tuple(part.text for part in entity.key.attributes) for entity in design.entities}
    assert keys == {
        "User": ("USER#{user_id}", "METADATA"),
        "Booking": ("BOOKING#{booking_id}", "METADATA"),
        "UserBooking": ("USER#{user_id}", "BOOKING#{date}#{booking_id}"),
        "Event": ("EVENT#{event_id}", "METADATA"),
        "EventSlot": ("EVENTDATE#{date}", "{slot}"),
        "Payment": ("BOOKING#{booking_id}", "PAYMENT#{received_at:utc_ms}#{payment_id}"),
        "Notification": ("USER#{user_id}", "NOTIFICATION#{sent_at:utc_ms}#{notice_key}"),
        "LockCode": ("EVENT#{event_id}", "LOCKCODE"),
        "EmailCode": ("USER#{user_id}", "VERIFICATION#{claim_id}"),
        "LetterCount": ("LETTERS#{scope}#{subject}", "{day}"),
        "Answer": ("ANSWERS#{user_id}", "{request_key}"),
        "AuditEntry": ("AUDIT#{at:month}", "{at:utc_ms}#{entry_id}"),
        "Outbox": ("OUTBOX#{notice_key}", "LETTER"),
    }
    assert [index.name for index in venue.schema.indexes] == ["GSI1", "GSI2"]
    assert venue.schema.key == ("PK", "SK")


def test_every_mutable_entity_has_a_version(design: Design) -> None:
    versioned = {entity.name for entity in design.entities if entity.version is not None}
    assert versioned == {"User", "Booking", "UserBooking", "Event"}


def test_the_table_is_on_demand_and_can_be_restored() -> None:
    assert type(venue.schema.billing).__name__ == "OnDemand"
    assert venue.schema.point_in_time_recovery
    assert venue.schema.deletion_protection


def test_the_published_document_is_rejected_for_its_faults() -> None:
    as_written = Design.load(str(Path(__file__).parents[3] / "examples" / "as_written" / "venue_booking.py"))
    findings = check(as_written).findings
    codes = {finding.code for finding in findings}
    claims = {(finding.code, finding.problem.split('"')[1]) for finding in findings if finding.problem.startswith('"')}
    assert claims >= {
        ("KP820", "$0.25 per million reads"),
        ("KP820", "$1.25 per million writes"),
    }
    # Unique by an index, decisions by an index, the copy forgotten, a blind change, one prefix for two id spaces.
    assert {"KP605", "KP305", "KP616", "KP608", "KP203"} <= codes
    # The event by its id and with its booking, an order that the key does not have, a sort key that never was.
    assert {"KP301", "KP311", "KP319", "KP314", "KP401", "KP606"} <= codes


def test_the_monthly_cost_is_positive_and_below_a_dollar(design: Design) -> None:
    assert 0 < estimate(design, book("us-east-1")).total < 1


def test_generated_data_has_the_predicted_costs_and_results(design: Design) -> None:
    result = verify(design)
    assert [(pattern.name, pattern.verdict) for pattern in result.patterns if pattern.verdict != "OK"] == []
    assert not result.failed


def test_one_table_contains_everything(design: Design) -> None:
    assert [table.name for table in design.tables] == ["venue-booking"]
    assert len(list(design.entities)) == 13
