"""Tables with literal=True: requests are sent as stated, without checks of the expiry and without prefixes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.client.conftest import NOW

import keyplan
from keyplan import Entity, F, ItemKey, ItemWrite, KeyCondition, Table, item, key, pk
from keyplan.client.connection import Connection
from keyplan.client.errors import AlreadyExistsError, NotFoundError
from keyplan.clock import ManualClock
from keyplan.design.declaring.patterns import Call
from keyplan.design.requests.build import build
from keyplan.engine.engine import Engine

table = Table("sessions", pk="PK", sk="SK", ttl="until", discriminator="type", literal=True)
LATER = datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=60)


@table.entity(key=key("USER#{user}", "SESSION#{session}"))
class Session(Entity):
    user: str
    session: str
    hits: int = 0
    until: datetime | None = None


@table.entity(key=key("USER#{user}", "PROFILE"))
class Profile(Entity):
    user: str


@table.create(Session)
def start(session: Session) -> ItemWrite:
    return item(session)


@table.put(Profile)
def save(profile: Profile) -> ItemWrite:
    return item(profile)


@table.get(Session)
def session(user: str, session: str) -> ItemKey:
    return item(user=user, session=session)


@table.query(Session)
def sessions(user: str) -> KeyCondition:
    return pk(user=user)


@table.query(Session)
def session_range(user: str, first: str) -> KeyCondition:
    return pk(user=user).sk >= first


@table.count(Session)
def session_count(user: str) -> KeyCondition:
    return pk(user=user)


@table.update(Session)
def hit(user: str, session: str) -> ItemWrite:
    return item(user=user, session=session).add(hits=1)


@table.update(Session, upsert=True)
def hit_or_start(user: str, session: str) -> ItemWrite:
    return item(user=user, session=session).add(hits=1)


@table.delete(Session)
def end(user: str, session: str) -> ItemWrite:
    return item(user=user, session=session).condition(F.hits > 0)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Connection]:
    """Yield a database with the table."""
    with Engine.memory(clock=clock, ttl_sweep_s=None) as engine, keyplan.connect(engine=engine) as db:
        db.create_tables(table)
        yield db


@pytest.fixture
def expired(db: Connection, clock: ManualClock) -> Session:
    """Return a session whose expiry has passed."""
    started = db.run(start(Session(user="ann", session="1", until=LATER)))
    clock.advance(60)
    return started


def request(call: Call[Any]) -> dict[str, Any]:
    return build(call.pattern.plan, call.arguments, now_s=int(NOW))


def test_a_query_has_only_the_partition_condition() -> None:
    assert request(sessions("ann"))["KeyConditionExpression"] == "#PK = :PK"
    assert "FilterExpression" not in request(sessions("ann"))


def test_a_declared_range_stays_within_the_template() -> None:
    assert (
        request(session_range("ann", "1"))["KeyConditionExpression"] == "#PK = :PK AND #SK BETWEEN :SK_from AND :SK_to"
    )


def test_conditions_are_those_of_the_kind_and_the_body() -> None:
    assert request(start(Session(user="ann", session="1")))["ConditionExpression"] == "attribute_not_exists(#PK)"
    assert request(hit("ann", "1"))["ConditionExpression"] == "attribute_exists(#PK)"
    assert "ConditionExpression" not in request(hit_or_start("ann", "1"))
    assert request(end("ann", "1"))["ConditionExpression"] == "#hits > :hits"


def test_a_count_has_no_filter() -> None:
    counted = request(session_count("ann"))
    assert counted["Select"] == "COUNT"
    assert "FilterExpression" not in counted


def test_reads_return_expired_items(db: Connection, expired: Session) -> None:
    assert db.run(session("ann", "1")) == expired
    assert db.run(sessions("ann")).items == (expired,)
    assert db.transact_get(session("ann", "1")) == (expired,)
    assert db.run(session_count("ann")) == 1


def test_a_query_leaves_out_other_entities_and_a_count_does_not(db: Connection, expired: Session) -> None:
    db.run(save(Profile(user="ann")))
    assert db.run(sessions("ann")).items == (expired,)
    assert db.run(session_count("ann")) == 2


def test_writes_find_expired_items(db: Connection, expired: Session) -> None:
    assert db.run(hit("ann", "1")).hits == 1
    assert db.run(hit_or_start("ann", "1")).hits == 2
    with pytest.raises(AlreadyExistsError):
        db.run(start(expired))
    assert db.run(end("ann", "1")) is not None
    with pytest.raises(NotFoundError):
        db.run(hit("ann", "1"))
