"""Secret of replicas: the same keys for all of them, a separate key for each purpose, dead letters in a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.systems.served_engine import ServedEngine, connected

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.streams import Failure, TableDestination
from keyplan.streams.records import StreamRecord
from keyplan_systems.web.development import development_key
from keyplan_systems.web.secret import SECRET_VARIABLE, Secret, secret_from
from keyplan_systems.web.system import Resources
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys

TEXT = "a secret of thirty-two characters"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_replicas_derive_the_same_keys_and_each_purpose_has_its_own() -> None:
    first, second = (secret_from({SECRET_VARIABLE: TEXT}) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.derive_key("cursors") == second.derive_key("cursors")
    assert len({first.derive_key(purpose) for purpose in ("cursors", "tokens")} | {TEXT.encode()}) == 3
    signed = first.signing_key("tokens").sign(b"text")
    second.signing_key("tokens").public_key().verify(signed, b"text")


def test_another_secret_derives_other_keys_and_is_not_shown() -> None:
    assert Secret(b"a").derive_key("cursors") != Secret(b"b").derive_key("cursors")
    assert TEXT not in repr(secret_from({SECRET_VARIABLE: TEXT}))


def test_an_unset_secret_is_none_and_a_short_one_an_error_that_does_not_quote_it() -> None:
    assert secret_from({}) is None
    assert secret_from({SECRET_VARIABLE: ""}) is None
    with pytest.raises(ValueError, match="KEYPLAN_SECRET has 5 characters") as refused:
        secret_from({SECRET_VARIABLE: "hello"})
    assert "hello" not in str(refused.value)


def test_dead_letters_of_one_replica_are_read_by_another(
    engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path
) -> None:
    item = {"id": {"S": "1"}}
    record = StreamRecord("arn", "shard", 1, "e1", "INSERT", 1.0, item, None, item, by_service=False)
    failure = Failure("orders/notify", record, "ValueError: no", "", 3, clock.now())
    verifier = TokenVerifier(TokenRules("shop"), development_keys(development_key(tmp_path)), clock)
    with connected(engine, clock) as connection, connected(engine, clock) as other:
        resources = Resources(connection, tmp_path / "one", clock, verifier)
        resources.dead_letters.send([failure])
        dead = replace(resources, connection=other, folder=tmp_path / "other").dead_letters
        assert isinstance(dead, TableDestination)
        assert list(dead.read("orders/notify")) == [failure]
