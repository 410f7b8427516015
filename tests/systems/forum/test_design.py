"""Design against its requirements; the document's own design is refused for its faults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.systems.served_engine import ServedEngine, connected

from keyplan.check.checking import check
from keyplan.client.connection import Connection
from keyplan.client.errors import KeyValueError
from keyplan.client.requests import Transport
from keyplan.clock import ManualClock
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine
from keyplan_systems.forum import design as patterns
from keyplan_systems.forum.entities import Event, EventType, Follow, Place, forum

WRITTEN = Path(__file__).parents[3] / "examples" / "as_written" / "forum.py"


@pytest.fixture(scope="module")
def design() -> Design:
    return Design.load("keyplan_systems.forum.design")


def test_every_finding_of_the_check_is_suppressed_with_a_reason(design: Design) -> None:
    assert check(design).findings == ()


def test_the_published_document_is_rejected_for_its_faults() -> None:
    results = {(finding.code, finding.severity) for finding in check(Design.load(str(WRITTEN))).findings}
    assert results >= {
        ("KP301", "error"),  # a subscription cannot be found by its connection
        ("KP216", "advice"),  # two events with the same timestamp are one item: the second replaces the first
        ("KP704", "warning"),  # subscriptions that have expired are pushed to
        ("KP310", "warning"),  # the last messages by a limit before the filter
        ("KP114", "advice"),  # reserved words
        ("KP205", "advice"),  # IDs that may contain the separator
    }


def test_one_table_contains_everything_under_the_documents_names(design: Design, engine: Engine | ServedEngine) -> None:
    assert [table.name for table in design.tables] == ["forum"]
    keys = {entity.name: tuple(part.text for part in entity.key.attributes) for entity in design.entities}
    assert keys["Event"] == ("THREADEV#{participant_id}#{item_id}", "{at_ms:013d}#{seq:010d}")
    assert keys["Subscription"] == ("THREADSUB#{participant_id}#{item_id}", "{connection_id}")
    assert keys["Connected"] == ("CONN#{connection_id}", "CONN")
    with connected(engine, ManualClock()) as db:
        db.create_tables(forum)
        described = engine.call("DescribeTable", {"TableName": "forum"})["Table"]
        assert [element["AttributeName"] for element in described["KeySchema"]] == ["PK", "time"]
        assert "LocalSecondaryIndexes" not in described
        expiry = engine.call("DescribeTimeToLive", {"TableName": "forum"})["TimeToLiveDescription"]
        assert expiry["AttributeName"] == "ttl"


def test_an_id_never_contains_a_separator(engine: Engine | ServedEngine) -> None:
    with pytest.raises(ValidationError):
        Event(participant_id="1#2", item_id="3", at_ms=0, seq=1, event_id="e", type=EventType.MESSAGE)
    with connected(engine, ManualClock()) as db, pytest.raises(KeyValueError):
        db.run(patterns.head_of(Place("1#2", "3")))


class Recording:
    """Transport that records its requests."""

    def __init__(self, inner: Transport) -> None:
        self.inner, self.sent = inner, list[dict[str, Any]]()

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.sent.append(request)
        return self.inner.call(operation, request)

    def close(self) -> None:
        self.inner.close()


def test_reserved_words_are_never_used_in_an_expression(engine: Engine | ServedEngine) -> None:
    place = Place("1", "2")
    with connected(engine, ManualClock()) as below:
        below.create_tables(forum)
        recording = Recording(below.transport)
        db = Connection(recording, below.context)
        db.run(patterns.follow(Follow(participant_id="1", item_id="2", user_id="3")))
        db.run(patterns.end_follow(place, "3", 1, 9_999_999_999))
        db.run(patterns.keep_follow(place, "3", 2))
        for call in (patterns.messages(place), patterns.history(place)):
            db.run(call)
        db.run(patterns.watchers(place))
    texts = [text for request in recording.sent for name, text in request.items() if name.endswith("Expression")]
    assert len(texts) >= 7
    for text in texts:
        assert not {"time", "type", "ttl"} & set(re.findall(r"(?<![#:\w])\w+", text)), text


def test_no_pattern_writes_in_batches(design: Design) -> None:
    assert "BatchWriteItem" not in {pattern.plan.operation for pattern in design.patterns}
