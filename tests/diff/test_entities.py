"""Changes of entities and of their keys, as a comparison reports them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.diff.pairs import BASE, compared

from keyplan.diff.changes import ItemRewrite
from keyplan.diff.comparison import rollout

VERSIONED = BASE.replace("    until: int", "    version: int = 0\n    until: int").replace(
    "volume=Volume(count=1_000", 'version="version", volume=Volume(count=1_000'
)


def test_a_new_version_is_counted_before_it_is_checked(tmp_path: Path) -> None:
    (change,) = compared(tmp_path, BASE, VERSIONED).changes_of("version changed")
    assert change.summary == "Task now has a version, version"
    assert [(step.phase, step.text) for step in change.steps] == [
        ("write", "a version that counts the changes of Task in version, but does not check it"),
        ("read", "the new version, which checks version of Task"),
    ]


def test_a_removed_version_removes_the_protection(tmp_path: Path) -> None:
    (change,) = compared(tmp_path, VERSIONED, BASE).changes_of("version changed")
    assert change.summary == "Task no longer has a version"
    assert change.effects == "Writes of both versions can overwrite each other."
    assert change.steps == ()


SHOP = """from __future__ import annotations

from keyplan import *

shop = Table("shop", pk="PK", sk="SK", indexes=[{indexes}])


@shop.entity(key=key({key}){options}, volume=Volume(count=100, bytes=Bytes(500)))
class Order(Entity):
    customer: str
    number: int
    courier: str
"""
INVERTED = 'GSI("inverted", pk="SK", sk="PK")'
LOCAL = 'LSI("by_courier", sk="courier")'
PLAIN = 'GSI("by_courier", pk="courier")'
MADE = 'GSI("by_courier", pk="GSI1PK")'
OTHER = '"C#{customer}", "N#{number}"'
IN_KEY = '"C#{customer}", "O#{number}#{courier}"'
HIDDEN = ", store_key_fields=False"


def design(key: str = '"C#{customer}", "O#{number}"', indexes: str = "", options: str = "") -> str:
    return SHOP.format(key=key, indexes=indexes, options=options)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (design(indexes=INVERTED), design(OTHER, INVERTED), [("key changed", "Order")]),
        (design(indexes=LOCAL), design('"CUSTOMER#{customer}", "O#{number}"', LOCAL), [("key changed", "Order")]),
        (design(), design(indexes=INVERTED), [("index added", "inverted")]),
        (design(), design(OTHER, INVERTED), [("index added", "inverted"), ("key changed", "Order")]),
        (design(), design(indexes=PLAIN), [("index added", "by_courier")]),
        (
            design(IN_KEY, "", HIDDEN),
            design(IN_KEY, PLAIN, HIDDEN),
            [("index added", "by_courier"), ("key changed", "Order")],
        ),
        (design(IN_KEY), design(IN_KEY, PLAIN), [("index added", "by_courier")]),
    ],
    ids=["inverted", "local", "an index of the key", "of another key", "of a field", "of the key's text", "of both"],
)  # fmt: skip
def test_only_index_attributes_outside_the_primary_key_are_written(
    old: str, new: str, message: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert sorted((change.kind, change.subject) for change in compared(tmp_path, old, new).changes) == sorted(message)


def test_keys_that_the_new_version_does_not_write_are_first_no_longer_read(tmp_path: Path) -> None:
    new_design = design(indexes=MADE, options=', indexes={"by_courier": key("COURIER#{courier}")}')
    stages = {
        stage.phase: [step.text for step in stage.steps] for stage in rollout(compared(tmp_path, new_design, design()))
    }
    assert stages == {
        "accept": ["a version that no longer reads by_courier, but still writes GSI1PK of Order"],
        "read": ["the new version, which no longer writes GSI1PK of Order"],
        "remove": ["delete index by_courier when no version reads it"],
    }


def test_an_item_with_a_changed_key_is_updated_in_its_sentinels(tmp_path: Path) -> None:
    owned = ', unique=["courier"]'
    comparison = compared(tmp_path, design(options=owned), design(OTHER, options=owned))
    (change,) = comparison.changes_of("key changed")
    (step,) = (candidate for candidate in change.steps if candidate.phase == "backfill")
    assert step.operation == "TransactWriteItems"
    assert step.text.endswith("delete it under the old one, in one transaction, and store the new key in its sentinels")


WHEN = ', only_if=F.state == "open"'


@pytest.mark.parametrize(
    ("new", "part", "written"),
    [
        (("{due}", "{due:month}"), "the key of Task in index due changed from GSI1SK = {due} to GSI1SK = {due:month}", "GSI1SK"),  # noqa: E501
        (("DUE#", "OPEN#"), "the key of Task in index due changed from GSI1PK = DUE#{user} to GSI1PK = OPEN#{user}", "GSI1PK"),  # noqa: E501
        (('"{due}")', f'"{{due}}"{WHEN})'), "the only_if condition of Task in index due changed", "GSI1PK, GSI1SK"),
        (
            ('"{due}")', f'"{{due:month}}"{WHEN})'),
            (
                "the key of Task in index due changed from GSI1SK = {due} to GSI1SK = {due:month}, and so did its"
                " only_if condition"
            ),
            "GSI1PK, GSI1SK",
        ),
    ],
    ids=["sort key", "partition key", "members", "both"],
)  # fmt: skip
def test_only_the_changed_part_of_an_index_key_is_named(
    new: tuple[str, str], part: str, written: str, tmp_path: Path
) -> None:
    changes = compared(tmp_path, BASE, BASE.replace(*new)).changes_of("key changed")
    (change,) = (candidate for candidate in changes if candidate.facts.get("index") == "due")
    assert change.summary == part
    assert [step.text for step in change.steps if step.phase == "backfill"] == [
        f"set {written} of every stored Task again"
    ]
    assert isinstance(change.migration, ItemRewrite)
    assert ", ".join(sorted(change.migration.attributes)) == written


def test_a_key_attribute_changed_by_another_type_is_named(tmp_path: Path) -> None:
    monthly = BASE.replace('"{due}"', '"{due:month}"')
    changes = compared(tmp_path, monthly, monthly.replace("    due: date", "    due: datetime")).changes_of(
        "key changed"
    )
    assert [change.summary for change in changes] == ["the content of GSI1SK of Task in index due changed"]
