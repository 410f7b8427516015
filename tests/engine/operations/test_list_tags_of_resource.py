"""ListTagsOfResource: the tags of a table."""

from __future__ import annotations

from pathlib import Path

from tests.engine.table_making import ARN, create, failure

from keyplan.engine.engine import Engine

NOTES = {"ResourceArn": ARN + "notes"}
TAGS = [{"Key": "b", "Value": "1"}, {"Key": "a", "Value": "2"}]


def test_a_table_without_tags_has_an_empty_list(engine: Engine) -> None:
    create(engine)
    assert engine.call("ListTagsOfResource", NOTES) == {"Tags": []}


def test_tags_from_creation_survive_a_restart(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as engine:
        create(engine, Tags=TAGS)
    with Engine.open(tmp_path / "data.db") as engine:
        assert engine.call("ListTagsOfResource", NOTES) == {"Tags": TAGS}


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    assert failure(engine, "ListTagsOfResource", NOTES)[0] == "ResourceNotFoundException"
