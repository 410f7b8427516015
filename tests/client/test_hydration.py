"""Reads of indexes that project a part: views of what they hold, and whole items fetched by key, on every transport."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import examples

import keyplan
from keyplan import (
    GSI,
    LSI,
    Bytes,
    DesignError,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    View,
    Volume,
    attr,
    each,
    every_shard,
    everything,
    item,
    key,
    pk,
)
from keyplan.check.checking import check
from keyplan.client.connection import Connection
from keyplan.client.errors import ThrottledError
from keyplan.client.requests import Context, Meter, Retries
from keyplan.clock import ManualClock
from keyplan.cost.estimate import estimate
from keyplan.cost.expected import expected
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.design.requests.build import build
from keyplan.diff.matching import plan_form
from keyplan.engine.engine import Engine
from keyplan.export.explain import explain
from keyplan.export.iam import of_pattern
from keyplan.export.iam_keys import Bindings
from keyplan.export.markdown import of_patterns
from keyplan.verify.run import verify

mail = Table(
    "mail",
    pk="PK",
    sk="SK",
    ttl="until",
    discriminator="type",
    indexes=[
        GSI("by_sender", pk="sender", sk="at", project="keys"),
        GSI("by_day", pk="GSI2PK", sk="at", project=["type", "until", "subject", "pages"]),
        LSI("by_subject", sk="subject", project=["pages"]),
    ],
)


@mail.entity(
    key=key("BOX#{box}", "MAIL#{id}"),
    indexes={"by_day": key("DAY#{day}#{id:shard(3)}", attr("at"))},
    unique=["code"],
    volume=Volume(count=1_000, bytes=Bytes(6_000)),
)
class Mail(Entity):
    box: str
    id: str
    sender: str
    day: str
    at: int
    subject: str
    pages: int = 1
    body: str
    code: str | None = None
    until: datetime | None = None


@mail.entity(key=key("BOX#{box}", "DRAFT#{id}"))
class Draft(Entity):
    box: str
    id: str
    sender: str
    at: int
    subject: str


class Subject(View[Mail]):
    box: str
    id: str
    subject: str


class Body(View[Mail]):
    box: str
    id: str
    body: str


@mail.put(Mail)
def send_mail(new: Mail) -> ItemWrite:
    return item(new)


@mail.put(Draft)
def save_draft(new: Draft) -> ItemWrite:
    return item(new)


@mail.delete(Mail)
def remove_mail(box: str, id: str) -> ItemWrite:
    return item(box=box, id=id)


@mail.query(Mail, index="by_sender", hydrate=True, rate=Rate(average=10), expected_items=20)
def sent(sender: str) -> KeyCondition:
    """Everything that a sender wrote."""
    return pk(sender=sender)


@mail.query(Mail, index="by_sender", hydrate=True, descending=True)
def latest(sender: str) -> KeyCondition:
    return pk(sender=sender)


@mail.query(Mail, Draft, index="by_sender", hydrate=True)
def sent_or_drafted(sender: str) -> KeyCondition:
    return pk(sender=sender)


@mail.query(Mail, index="by_day", hydrate=True)
def on_day(day: str) -> KeyCondition:
    return pk(day=day, id=every_shard()).filter(F.pages > 1)


@mail.query(Body, index="by_sender", hydrate=True)
def bodies(sender: str) -> KeyCondition:
    return pk(sender=sender)


@mail.query(Mail, index="by_subject", hydrate=True)
def titled(box: str, start: str) -> KeyCondition:
    return pk(box=box).sk.begins_with(subject=start).filter(F.pages > 1)


@mail.query(Mail, index="by_subject", hydrate=True, consistent=True)
def titled_now(box: str) -> KeyCondition:
    return pk(box=box)


@mail.scan(Mail, index="by_day", hydrate=True)
def longer_than(pages: int) -> KeyCondition:
    return everything().filter(F.pages > pages)


@mail.get(Subject)
def subject_of(box: str, id: str) -> ItemKey:
    return item(box=box, id=id)


@mail.batch_get(Subject)
def subjects_of(box: str, ids: list[str]) -> ItemKey:
    return item(box=box, id=each(ids))


@mail.get(Mail)
def whole(box: str, id: str) -> ItemKey:
    return item(box=box, id=id)


@mail.query(Subject)
def subjects_in(box: str) -> KeyCondition:
    return pk(box=box)


def letter(number: int, **fields: Any) -> Mail:
    values = {"box": f"b{number % 3}", "id": f"{number:03d}", "sender": "s", "day": "d", "at": number}
    return Mail(**{**values, "subject": f"about {number}", "body": "long " * 10, **fields})


@pytest.fixture
def post(db: Any) -> Any:
    """Return a connection to the existing table."""
    db.create_tables(mail)
    return db


def test_a_hydrated_query_returns_whole_items_in_the_order_of_the_index(post: Any) -> None:
    letters = [letter(number) for number in range(7)]
    for expected_letter in reversed(letters):
        post.run(send_mail(expected_letter))
    post.run(save_draft(Draft(box="b0", id="000", sender="s", at=3, subject="draft")))
    page = post.run(sent("s"))
    assert (page.items, page.cursor, page.deleted) == (tuple(letters), None, 0)
    assert post.run(latest("s")).items == tuple(reversed(letters))
    assert [type(message) for message in post.run(sent_or_drafted("s")).items].count(Draft) == 1


def test_a_hydrated_query_continues_after_its_page(post: Any) -> None:
    letters = [letter(number) for number in range(7)]
    for expected_letter in letters:
        post.run(send_mail(expected_letter))
    for options in ({"limit": 3}, {"page_size": 3}):
        items, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            page = post.run(sent("s"), cursor=cursor, **options)
            assert len(page) <= 3
            items += page.items
            cursor, pages = page.cursor, pages + 1
        assert items == letters
    assert list(post.iterate(sent("s"), page_size=2)) == letters
    assert post.all(sent("s"), at_most=7) == letters


def test_hydration_merges_partitions_and_filters_before_it_fetches(post: Any) -> None:
    letters = [letter(number, pages=number % 3) for number in range(12)]
    for new_letter in letters:
        post.run(send_mail(new_letter))
    expected_letters = [message for message in letters if message.pages > 1]
    assert post.run(on_day("d")).items == tuple(expected_letters)
    first = post.run(on_day("d"), limit=3)
    assert first.items == tuple(expected_letters[:3])
    assert post.run(on_day("d"), cursor=first.cursor).items == tuple(expected_letters[3:])
    assert sorted(post.run(longer_than(1)).items, key=lambda message: message.at) == expected_letters


def test_a_local_index_is_hydrated_too(post: Any) -> None:
    for number in range(6):
        post.run(send_mail(letter(number, box="b", pages=number % 2 + 1)))
    items = post.run(titled("b", "about")).items
    assert items == tuple(letter(number, box="b", pages=2) for number in (1, 3, 5))
    assert len(post.run(titled_now("b"))) == 6


def test_a_hydrated_view_keeps_only_its_fields_of_each_item(post: Any) -> None:
    post.run(send_mail(letter(1, code="x")))
    assert post.run(bodies("s")).items == (Body(box="b1", id="001", body="long " * 10),)


def test_a_get_and_a_batch_return_views(post: Any) -> None:
    post.run(send_mail(letter(1, code="x")))
    expected_view = Subject(box="b1", id="001", subject="about 1")
    assert post.run(subject_of("b1", "001")) == expected_view
    assert post.run(subject_of("b1", "002")) is None
    assert post.run(subjects_of("b1", ["002", "001"])) == [None, expected_view]
    assert post.run(subjects_in("b1")).items == (expected_view,)
    post.run(send_mail(letter(4)))
    assert post.transact_get(subject_of("b1", "001"), whole("b1", "004")) == (expected_view, letter(4))
    assert post.batch_get(subject_of("b1", "001"), whole("b1", "001")) == (expected_view, letter(1, code="x"))
    assert post.batch_get(subject_of("b1", "001")) == (expected_view,)


def test_expired_items_are_left_out_of_hydrated_reads_and_views(post: Any) -> None:
    expired = datetime(2020, 1, 1, tzinfo=UTC)
    post.run(send_mail(letter(1, until=expired)))
    assert post.run(sent("s")).items == ()
    assert post.run(subject_of("b1", "001")) is None
    assert post.run(subjects_in("b1")).items == ()


# Requests.


def test_a_view_requests_its_attributes_if_that_makes_the_response_smaller() -> None:
    request = build(subject_of.plan, {"box": "b", "id": "1"})
    names = {"PK", "SK", "type", "until", "keyplan:owner", "box", "id", "subject"}
    assert set(request["ExpressionAttributeNames"].values()) == names, "key, entity, expiry, sentinels, fields"
    request = build(sent.plan, {"sender": "s"})
    assert "ProjectionExpression" not in request, "the index holds keys only"
    request = build(on_day.plan, {"day": "d"})
    assert set(request["ExpressionAttributeNames"].values()) >= {"PK", "SK", "GSI2PK", "at", "type", "until"}
    assert "#subject" not in request["ProjectionExpression"]


class Recorder:
    """A transport that records requests, and answers some of them otherwise."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.sent = engine, list[tuple[str, dict[str, Any]]]()
        self.between: Any = None
        self.unprocessed = 0

    def call(self, operation: str, request: dict[str, Any]) -> Any:
        self.sent.append((operation, request))
        if operation != "BatchGetItem":
            return self.engine.call(operation, request)
        if self.between is not None:
            self.between()
            self.between = None
        if self.unprocessed:
            self.unprocessed -= 1
            ((table, part),) = request["RequestItems"].items()
            request_items = {table: {**part, "Keys": part["Keys"][:1]}}
            left = {table: {**part, "Keys": part["Keys"][1:]}}
            response = self.engine.call(operation, {**request, "RequestItems": request_items})
            return {**response, "UnprocessedKeys": left if left[table]["Keys"] else {}}
        return self.engine.call(operation, request)

    def close(self) -> None: ...


@pytest.fixture
def recorder(engine: Engine) -> Recorder:
    return Recorder(engine)


@pytest.fixture
def recorded(recorder: Recorder, clock: ManualClock) -> Connection:
    retries = Retries(attempts=3, first_s=0.0, most_s=0.0)
    return Connection(recorder, Context(clock, b"k", retries, creates_tables=True, meter=Meter()))


def batches(recorder: Recorder) -> list[int]:
    return [
        len(part["Keys"])
        for operation, request in recorder.sent
        if operation == "BatchGetItem"
        for part in request["RequestItems"].values()
    ]


def test_items_deleted_after_the_query_are_left_out_and_counted(recorder: Recorder, recorded: Connection) -> None:
    for number in range(6):
        recorded.run(send_mail(letter(number)))
    other = keyplan.connect(engine=recorder.engine)
    recorder.between = lambda: [other.run(remove_mail("b1", "001")), other.run(remove_mail("b2", "002"))]
    page = recorded.run(sent("s"), limit=4)
    assert [message.at for message in page.items] == [0, 3, 4, 5], "the limit is filled with later entries"
    assert (page.deleted, batches(recorder)) == (2, [4, 2])
    recorder.between = lambda: [other.run(remove_mail("b0", "000"))]
    page = recorded.run(sent("s"), page_size=1)
    assert (page.items, page.deleted) == ((), 1), "a page of one request may be empty"
    assert page.cursor is not None
    assert [message.at for message in recorded.run(sent("s"), cursor=page.cursor).items] == [3, 4, 5]


def test_an_item_changed_after_the_query_is_returned_in_its_new_state(recorder: Recorder, recorded: Connection) -> None:
    recorded.run(send_mail(letter(1)))
    other = keyplan.connect(engine=recorder.engine)
    recorder.between = lambda: other.run(send_mail(letter(1, sender="t", at=9)))
    page = recorded.run(sent("s"), limit=1)
    assert page.items == (letter(1, sender="t", at=9),)
    assert recorded.run(sent("s"), cursor=page.cursor).items == (), "the cursor is the entry's, not the item's"


def test_items_are_fetched_a_hundred_at_a_time(recorder: Recorder, recorded: Connection) -> None:
    letters = [letter(number) for number in range(250)]
    for new_letter in letters:
        recorded.run(send_mail(new_letter))
    recorder.sent.clear()
    assert recorded.run(sent("s")).items == tuple(letters)
    assert batches(recorder) == [100, 100, 50]


def test_unprocessed_keys_are_requested_again(recorder: Recorder, recorded: Connection) -> None:
    letters = [letter(number) for number in range(5)]
    for new_letter in letters:
        recorded.run(send_mail(new_letter))
    recorder.unprocessed = 3
    assert recorded.run(sent("s")).items == tuple(letters)
    assert batches(recorder) == [5, 4, 3, 2]


def test_a_hydrated_read_fails_if_no_key_is_read_any_more(recorder: Recorder, recorded: Connection) -> None:
    recorded.run(send_mail(letter(1)))
    real_call = recorder.engine.call

    def refuse(operation: str, request: dict[str, Any]) -> Any:
        if operation != "BatchGetItem":
            return real_call(operation, request)
        return {"Responses": {}, "UnprocessedKeys": request["RequestItems"]}

    recorded._call = refuse
    with pytest.raises(ThrottledError, match="mail: the service read none of the remaining keys in 3 attempts"):
        recorded.run(sent("s"))


def test_only_items_that_pass_the_filter_are_fetched(recorder: Recorder, recorded: Connection) -> None:
    for number in range(6):
        recorded.run(send_mail(letter(number, box="b", pages=number % 3)))
    recorder.sent.clear()
    assert len(recorded.run(titled("b", "about"))) == 2
    assert batches(recorder) == [2]
    assert "Select" not in recorder.sent[0][1], "the index does not fetch as well"


def test_the_meter_counts_both_requests(recorder: Recorder, recorded: Connection) -> None:
    for number in range(4):
        recorded.run(send_mail(letter(number, body="x" * 6000)))
    meter = recorded.context.meter
    assert meter is not None
    meter.take()
    recorded.run(sent("s"))
    used = meter.take()["sent"]
    assert (used.calls, used.requests) == (1, 2)
    assert used.consumed.read == {"mail/by_sender": 0.5, "mail": 4.0}


# What reads plans.


DESIGN = Design("mail", (mail,))


def test_a_hydrated_read_is_priced_as_its_query_and_its_gets() -> None:
    actual_estimate = expected(sent)
    assert actual_estimate.units.read == 0.5 + 20 * 1.0
    assert (actual_estimate.evaluated, actual_estimate.returned) == (20, 20)
    assert (actual_estimate.read_from(sent.plan, sent.plan.index), actual_estimate.read_from(sent.plan, None)) == (
        0.5,
        20.0,
    )
    (table,) = estimate(DESIGN, book()).tables
    assert {part.name: part.read for part in table.parts if part.read} == {"mail": 200.0, "mail/by_sender": 5.0}


def test_an_explanation_shows_both_requests_and_the_savings_of_a_view() -> None:
    text = explain(sent, book())
    assert text.startswith("sent: Query on index by_sender of table mail, then BatchGetItem on the table (Mail)\n")
    assert "Then BatchGetItem for the items of the returned entries" in text
    assert '"Keys": [' in text
    assert "reads the item of each returned entry by key, up to 100 in a request" in text
    text = explain(subject_of, book())
    assert "(Mail, as Subject)" in text
    assert "requests only the attributes of Subject: a smaller response for the same capacity" in text


def test_documents_policies_and_comparisons_show_both_requests() -> None:
    text = "\n".join(of_patterns(DESIGN))
    assert "| Query, then BatchGetItem | mail/by_sender |" in text
    assert "view Subject: box, id, subject" in text
    grants = [(access.action, access.subpath, access.leading.texts) for access in of_pattern(sent, Bindings({}))]
    assert grants == [("Query", "index/by_sender", ("*",)), ("BatchGetItem", "", ("BOX#*",))]
    hydrated, view, entity = (plan_form(pattern.plan) for pattern in (sent, subject_of, whole))
    assert hydrated["hydration"] is True
    assert {name for name in view if view[name] != entity[name]} == {"view"}


def test_no_rule_reports_a_missing_projection_of_a_hydrated_read_or_a_view() -> None:
    assert [finding for finding in check(DESIGN).findings if finding.code in {"KP306", "KP307"}] == []


@pytest.mark.slow  # verifies a whole design
def test_hydrated_reads_and_views_are_verified() -> None:
    result = verify(DESIGN, items=60)
    assert [(pattern.name, problem) for pattern in result.patterns for problem in pattern.problems] == []


def test_unneeded_hydration_is_rejected() -> None:
    with pytest.raises(DesignError, match="hydrates items of table mail, which are already complete"):

        @mail.query(Mail, hydrate=True)
        def own(box: str) -> KeyCondition:
            return pk(box=box)

    with pytest.raises(DesignError, match="hydrates entries of index by_day, which contain every requested field"):

        @mail.query(Subject, index="by_day", hydrate=True)
        def titles(day: str) -> KeyCondition:
            return pk(day=day, id=every_shard())

    options: dict[str, Any] = {"hydrate": "yes"}
    with pytest.raises(DesignError, match="hydrate='yes'"):
        mail.query(Mail, index="by_sender", **options)


def test_a_hydrated_read_cannot_filter_by_attributes_that_its_index_does_not_project() -> None:
    table = Table("notes", pk="id", indexes=[GSI("by_owner", pk="owner", project="keys")])

    @table.entity()
    class Note(Entity):
        id: str
        owner: str
        text: str

    @table.query(Note, index="by_owner", hydrate=True)
    def with_word(owner: str, word: str) -> KeyCondition:
        return pk(owner=owner).filter(F.text.contains(word))

    (fault,) = with_word.plan.faults
    assert (fault.code, fault.fix) == ("KP306", 'write project=["text"] instead of project="keys", or project all')


@settings(max_examples=examples(25), deadline=None)
@given(
    numbers=st.lists(st.integers(0, 40), unique=True, max_size=25),
    removed=st.sets(st.integers(0, 40)),
    limit=st.integers(1, 7),
)
def test_pages_of_a_hydrated_query_contain_the_existing_items(
    numbers: list[int], removed: set[int], limit: int
) -> None:
    """Entries of deleted items stay in a lagging index: pages leave them out, and lose and repeat nothing."""
    with Engine.memory(ttl_sweep_s=None) as engine:
        recorder = Recorder(engine)
        connection = Connection(recorder, Context(ManualClock(1_800_000_000.0), b"k", creates_tables=True))
        for number in numbers:
            connection.run(send_mail(letter(number)))
        removed_keys = {f"MAIL#{number:03d}" for number in removed}

        def call(operation: str, request: dict[str, Any]) -> Any:
            response = engine.call(operation, request)
            if operation == "BatchGetItem":
                remaining = [
                    stored for stored in response["Responses"]["mail"] if stored["SK"]["S"] not in removed_keys
                ]
                return {**response, "Responses": {"mail": remaining}}
            return response

        connection._call = call
        entries: list[int] = []
        deleted, cursor = 0, None
        while True:
            page = connection.run(sent("s"), limit=limit, cursor=cursor)
            assert len(page) <= limit
            assert len(page) == limit or page.cursor is None, "a page with more behind it is full"
            entries += [message.at for message in page.items]
            deleted, cursor = deleted + page.deleted, page.cursor
            if cursor is None:
                break
        assert entries == sorted(set(numbers) - removed)
        assert deleted == len(removed.intersection(numbers))
