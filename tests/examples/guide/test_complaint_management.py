"""The access patterns of the guide's complaint management, on the guide's sample items."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from examples.guide.complaint_management import Comment, Complaint

from examples.guide import complaint_management as guide
from keyplan.client.connection import Connection
from keyplan.client.errors import TransactionFailedError


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def complaint(number: str, customer: str, created: str, severity: Any) -> Complaint:
    return Complaint(
        complaint_id=f"Complaint{number}",
        customer_id=customer,
        creation_time=at(created),
        severity=severity,
        complaint_description="<description text>",
    )


def comment(number: str, comm: str, date: str, state: Any, agent: str | None, attachments: set[str]) -> Comment:
    return Comment(
        complaint_id=f"Complaint{number}",
        comm_id=comm,
        comm_date=at(date),
        complaint_state=state,
        comm_text="<comm text>",
        attachments=attachments,
        agent_id=agent,
    )


COMPLAINTS = [
    complaint("123", "custABC", "2023-04-30T12:00:00", "P2"),
    complaint("1444", "custXY32", "2022-12-31T19:39:57", "P1"),
    complaint("1321", "custXYZ", "2023-05-10T15:58:00", "P2"),
    complaint("0987", "custXYZ", "2023-06-10T12:30:08", "P3"),
]
COMMENTS = [
    comment("123", "comm1", "2023-04-30T12:00:24", "investigating", "AgentA", set()),
    comment(
        "123",
        "comm2",
        "2023-04-30T12:35:54",
        "resolved",
        "AgentA",
        {"s3://URL_for_attachment1", "s3://URL_for_attachment2"},
    ),
    comment("1321", "comm3", "2023-05-10T16:00:00", "investigating", "AgentB", set()),
    comment("1444", "comm4", "2022-12-31T19:32:00", "waiting", None, set()),
    comment("1444", "comm5", "2022-12-31T19:40:00", "assigned", "AgentC", {"s3://URL_for_attachment1"}),
]


@pytest.fixture(autouse=True)
def complained(db: Connection) -> None:
    for new in COMPLAINTS:
        db.run(guide.create_complaint(new))
    for written in COMMENTS:
        db.run(guide.add_comment(written))
    db.run(guide.escalate("Complaint1444", "AgentB", at("2023-01-03T04:00:07")))
    db.run(guide.escalate("Complaint1321", "AgentB", at("2023-05-15T14:00:00")))


def test_1_a_complaint_is_stored_under_the_guides_keys_and_created_once(
    stored: Callable[..., list[dict[str, Any]]],
) -> None:
    keys = {(item["PK"], item["SK"]) for item in stored(guide.complaints)}
    assert len(keys) == 9
    assert keys > {("Complaint0987", "metadata"), ("Complaint123", "comm#2023-04-30T12:35:54Z#comm2")}


def test_2_a_complaint_is_updated(db: Connection) -> None:
    assert db.run(guide.update_complaint("Complaint0987", "Still broken")).complaint_description == "Still broken"


def test_3_the_severity_of_a_complaint_is_updated(db: Connection) -> None:
    assert db.run(guide.update_severity("Complaint0987", "P1")).severity == "P1"


def test_4_a_complaint_is_read_by_its_id(db: Connection) -> None:
    result = db.run(guide.complaint("Complaint0987"))
    assert result == COMPLAINTS[3]
    assert db.run(guide.complaint("Complaint1")) is None


def test_5_a_comment_changes_the_state_of_the_complaint_or_is_not_written(db: Connection) -> None:
    resolved = db.run(guide.complaint("Complaint123"))
    assert resolved is not None
    assert resolved.current_state == "resolved"
    with pytest.raises(TransactionFailedError):
        db.run(guide.add_comment(comment("1", "comm6", "2023-06-01T00:00:00", "assigned", "AgentA", set())))
    assert not db.run(guide.comments("Complaint1")).items


def test_6_all_comments_on_a_complaint_are_listed_without_its_metadata(db: Connection) -> None:
    assert db.run(guide.comments("Complaint123")).items == (COMMENTS[0], COMMENTS[1])


def test_7_the_latest_comment_on_a_complaint_is_one_item(db: Connection) -> None:
    assert db.run(guide.latest_comment("Complaint123")).items == (COMMENTS[1],)


def test_8_a_complaint_is_found_only_for_its_own_customer(db: Connection) -> None:
    (result,) = db.run(guide.complaint_of_customer("custXYZ", "Complaint1321"))
    assert result.severity == "P2"
    assert not db.run(guide.complaint_of_customer("custABC", "Complaint1321")).items


def test_9_all_complaints_of_a_customer_are_listed(db: Connection) -> None:
    complaint_ids = [
        found_complaint.complaint_id for found_complaint in db.run(guide.complaints_of_customer("custXYZ"))
    ]
    assert complaint_ids == ["Complaint0987", "Complaint1321"]


def test_10_an_escalated_complaint_enters_the_sparse_index(
    db: Connection, stored: Callable[..., list[dict[str, Any]]]
) -> None:
    assert len(stored(guide.complaints, "Escalations_GSI")) == 2
    result = db.run(guide.escalate("Complaint0987", "AgentC", at("2023-06-11T00:00:00")))
    assert (result.escalated_to, result.escalation_time) == ("AgentC", at("2023-06-11T00:00:00"))
    assert len(stored(guide.complaints, "Escalations_GSI")) == 3


def test_11_all_escalated_complaints_are_a_scan_of_the_index(db: Connection) -> None:
    complaint_ids = {found_complaint.complaint_id for found_complaint in db.run(guide.escalated_complaints())}
    assert complaint_ids == {"Complaint1321", "Complaint1444"}


def test_12_complaints_escalated_to_an_agent_come_newest_first(db: Connection) -> None:
    complaint_ids = [
        found_complaint.complaint_id for found_complaint in db.run(guide.escalated_complaints_of("AgentB"))
    ]
    assert complaint_ids == ["Complaint1321", "Complaint1444"]


def test_13_comments_of_an_agent_are_found_between_two_dates(db: Connection) -> None:
    result = db.run(guide.comments_of_agent("AgentA", at("2023-04-30T12:30:00"), at("2023-05-01T09:00:00")))
    assert result.items == (COMMENTS[1],)
