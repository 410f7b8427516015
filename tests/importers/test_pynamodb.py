"""Tables imported from PynamoDB's models: source that is parsed, and tables and items that PynamoDB itself makes."""

from __future__ import annotations

import ast
import re
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.importers.tables import described_of, lasting, of_design
from tests.laws import examples
from tests.sdk import alone

from keyplan.client.codec import reader_of
from keyplan.design.workload import OnDemand, Provisioned
from keyplan.engine.engine import Engine
from keyplan.errors import KeyplanError
from keyplan.importers.entities import PlannedEntity, plan_entities
from keyplan.importers.nodes import ImportSourceError
from keyplan.importers.pynamodb import pynamodb
from keyplan.importers.schemas import SourceTable
from keyplan.importers.writing import design_text
from keyplan.server.thread import ThreadedServer

HEAD = """
from datetime import datetime, timezone
from pynamodb import attributes
from pynamodb.attributes import *
from pynamodb.constants import PAY_PER_REQUEST_BILLING_MODE, STREAM_NEW_AND_OLD_IMAGE
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, IncludeProjection, KeysOnlyProjection
from pynamodb.indexes import LocalSecondaryIndex
from pynamodb.models import Model
"""
FORUM = """
TABLE = "threads"

class ByViews(GlobalSecondaryIndex):
    class Meta:
        index_name = "by_views"
        read_capacity_units = 2
        write_capacity_units = 1
        projection = IncludeProjection(["s"])
    forum = UnicodeAttribute(hash_key=True)
    views = NumberAttribute(range_key=True)

class Recent(LocalSecondaryIndex):
    class Meta:
        projection = KeysOnlyProjection()
    forum = UnicodeAttribute(hash_key=True)
    posted = UTCDateTimeAttribute(range_key=True, attr_name="posted_at")

class Thread(Model):
    class Meta:
        table_name = TABLE
        region = "eu-west-1"
        read_capacity_units = 5
        write_capacity_units = 6
        stream_view_type = STREAM_NEW_AND_OLD_IMAGE
    forum = UnicodeAttribute(hash_key=True)
    subject = UnicodeAttribute(range_key=True, attr_name="s")
    views = NumberAttribute(default=0)
    posted = UTCDateTimeAttribute(attr_name="posted_at", default=lambda: datetime.now(timezone.utc))
    edited = UTCDateTimeAttribute(null=True)
    tags = UnicodeSetAttribute(null=True)
    votes = ListAttribute(of=NumberAttribute, null=True)
    author = MapAttribute(null=True)
    picture = BinaryAttribute(null=True, legacy_encoding=False)
    pinned = BooleanAttribute(default=False)
    version = VersionAttribute()
    gone = TTLAttribute(null=True)
    extra = JSONAttribute(null=True)
    by_views = ByViews()
    recent = Recent()
"""
ANIMALS = """
class Animal(Model):
    class Meta:
        table_name = "animals"
        billing_mode = PAY_PER_REQUEST_BILLING_MODE
    name = UnicodeAttribute(hash_key=True)
    cls = DiscriminatorAttribute()

class Cat(Animal, discriminator="cat"):
    lives = NumberAttribute(default=9)

class Dog(Animal, discriminator="dog"):
    barks = BooleanAttribute(default=True)
"""
META = """
    class Meta:
        table_name = "things"
        billing_mode = "PAY_PER_REQUEST"
    id = UnicodeAttribute(hash_key=True)
"""


def tables(text: str) -> tuple[SourceTable, ...]:
    return pynamodb([("models.py", HEAD + text)]).tables


def table(text: str) -> SourceTable:
    (source_table,) = tables(text)
    return source_table


def things(attribute: str, before: str = "") -> tuple[PlannedEntity, tuple[str, ...]]:
    """Return the entity with an additional attribute, and the gaps."""
    source_table = table(f"{before}\nclass Thing(Model):{META}    {attribute}\n")
    (entity,) = plan_entities(source_table)
    return entity, source_table.gaps


def test_a_table_has_the_keys_indexes_and_settings_of_its_model() -> None:
    source_table = table(FORUM)
    assert (source_table.name, source_table.key, source_table.ttl, source_table.stream) == (
        "threads", ("forum", "s"), "gone", "NEW_AND_OLD_IMAGES",
    )  # fmt: skip
    assert source_table.billing == Provisioned(read=5, write=6)
    views, recent = source_table.indexes
    assert (views.name, views.kind, views.partition, views.sort, views.project, views.billing) == (
        "by_views", "GSI", ("forum",), ("views",), ("s",), Provisioned(read=2, write=1),
    )  # fmt: skip
    assert (recent.name, recent.kind, recent.sort, recent.project) == ("recent", "LSI", ("posted_at",), "keys")


def test_attributes_are_fields_under_their_own_names() -> None:
    (entity,) = plan_entities(table(FORUM))
    fields = {field.name: (field.attribute, field.annotation, field.default) for field in entity.fields.values()}
    assert fields == {
        "forum": ("forum", "str", None),
        "subject": ("s", "str", None),
        "views": ("views", "Decimal", 'Decimal("0")'),
        "posted": ("posted_at", "str", None),
        "edited": ("edited", "datetime", None),
        "tags": ("tags", "set[str]", None),
        "votes": ("votes", "list[Decimal]", None),
        "author": ("author", "dict[str, Any]", None),
        "picture": ("picture", "bytes", None),
        "pinned": ("pinned", "bool", "False"),
        "version": ("version", "int", "0"),
        "gone": ("gone", "datetime", None),
        "extra": ("extra", "str", None),
    }
    assert entity.version == "version"


def test_differences_in_storage_are_noted() -> None:
    key, default, timestamp, text = table(FORUM).gaps
    assert key == "Thread.posted: a timestamp in a key is imported as its text, a str"
    assert default == "Thread.posted: its default is computed by the program"
    assert timestamp.startswith(
        "Thread.edited: UTCDateTimeAttribute: PynamoDB cannot read items written with the design"
    )
    assert text == "Thread.extra: JSONAttribute: its text is JSON: parse it in the program, or store a dict"


def test_subclasses_with_a_discriminator_are_the_entities_of_one_table() -> None:
    source_table = table(ANIMALS)
    assert (source_table.discriminator, [entity.discriminator for entity in source_table.entities]) == (
        "cls",
        ["cat", "dog"],
    )
    cat, dog = plan_entities(source_table, source_table.discriminator)
    assert (list(cat.fields), list(dog.fields)) == (["name", "lives"], ["name", "barks"])


def test_a_base_class_without_a_table_name_contributes_only_attributes() -> None:
    base = "class Base(Model):\n    id = UnicodeAttribute(hash_key=True)\n    made = NumberAttribute()\n"
    source_table = table(f"{base}\nclass Thing(Base):\n    class Meta:\n        table_name = 'things'\n")
    assert [entity.name for entity in source_table.entities] == ["Thing"]
    assert list(source_table.entities[0].fields) == ["id", "made"]


def test_models_of_one_table_are_its_entities() -> None:
    source_table = table(f"class A(Model):{META}\nclass B(Model):{META}    b = UnicodeAttribute()\n")
    assert [entity.name for entity in source_table.entities] == ["A", "B"]


@pytest.mark.parametrize(
    ("attribute", "annotation", "is_required"),
    [
        ("x = UnicodeAttribute()", "str", True),
        ("x = attributes.UnicodeAttribute(null=True)", "str", False),
        ("x: UnicodeAttribute = UnicodeAttribute()", "str", True),
        ("x = NumberSetAttribute()", "set[Decimal]", True),
        ("x = BinarySetAttribute(legacy_encoding=False)", "set[bytes]", True),
        ("x = ListAttribute()", "list[Any]", True),
        ("x = ListAttribute(of=MapAttribute)", "list[dict[str, Any]]", True),
        ("x = DynamicMapAttribute(default=dict)", "dict[str, Any]", False),
        ("x = NullAttribute()", "Any", False),
    ],
)
def test_types_of_attributes(attribute: str, annotation: str, is_required: bool) -> None:
    entity, _ = things(attribute)
    assert (entity.fields["x"].annotation, entity.fields["x"].is_required) == (annotation, is_required)


@pytest.mark.parametrize(
    ("attribute", "default"),
    [
        ("x = UnicodeAttribute(default='a')", '"a"'),
        ("x = UnicodeAttribute(default_for_new='a')", '"a"'),
        ("x = NumberAttribute(default=-1)", 'Decimal("-1")'),
        ("x = NumberAttribute(default=LIMIT)", 'Decimal("7")'),
        ("x = UnicodeAttribute(default=str)", None),
        ("x = NumberAttribute(default=True)", None),
    ],
)
def test_defaults_are_literals_or_named_in_a_note(attribute: str, default: str | None) -> None:
    entity, gaps = things(attribute, "LIMIT = 7")
    assert entity.fields["x"].default == default
    assert gaps == (() if default else ("Thing.x: its default is computed by the program",))


def test_attributes_of_other_classes_are_noted() -> None:
    own = "class Lower(UnicodeAttribute):\n    def serialize(self, value): return value.lower()\n"
    entity, gaps = things("x = Lower()", own)
    assert entity.fields["x"].annotation == "str"
    assert gaps == ("Thing.x: Lower is imported as a UnicodeAttribute: its conversion of values is omitted",)
    entity, gaps = things("x = GeoAttribute(srid=1)")
    assert entity.fields["x"].annotation == "Any"
    assert gaps == (
        "Thing.x: GeoAttribute is imported as of an unknown type: its conversion of values is omitted",
        "Thing.x: srid: it is not part of a design",
    )


def test_settings_that_are_not_literals_are_noted() -> None:
    source_table = table("""
import os

class By(GlobalSecondaryIndex):
    class Meta:
        index_name = os.environ["INDEX"]
        projection = projection_of()
    x = UnicodeAttribute(hash_key=True)

class Thing(Model):
    class Meta:
        table_name = os.environ["TABLE"]
        tags = {"team": "x"}
    id = UnicodeAttribute(hash_key=True)
    x = UnicodeAttribute()
    by_x = By()
""")
    assert (source_table.name, source_table.indexes[0].name, source_table.indexes[0].project) == (
        "Thing",
        "by_x",
        "all",
    )
    assert source_table.billing == OnDemand()
    assert source_table.gaps == (
        "table_name is not a literal: the class name is used as the table name",
        "index by_x: index_name is not a literal: the attribute name is used",
        "index by_x: its projection cannot be determined: imported as all attributes",
        "Meta.tags: it is not part of a design",
        "Meta states neither billing_mode nor capacity: the table is imported as on demand",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("class (", "models.py is not Python: "),
        ("x = 1", "models.py has no subclass of pynamodb.models.Model with a hash key"),
        ("class A(Model):\n    x = UnicodeAttribute()\n", "models.py has no subclass of"),
        (
            f"class I(GlobalSecondaryIndex):\n    x = UnicodeAttribute()\nclass A(Model):{META}    i = I()\n",
            "models.py: index I needs one attribute with hash_key=True",
        ),
        ("class A(Model):\n    x = BooleanAttribute(hash_key=True)\n", "table A: x is a key attribute of type BOOL"),
        (
            f"class A(Model):{META}\nclass B(Model):{META.replace('id =', 'other =')}",
            "table things: the key of B is ('other',), but that of A is ('id',)",
        ),
    ],
)
def test_models_without_a_valid_table_are_rejected(text: str, problem: str) -> None:
    with pytest.raises(ImportSourceError) as refused:
        tables(text)
    assert str(refused.value).startswith(problem)


def test_names_that_refer_to_each_other_have_no_value() -> None:
    source_table = table(f"A = B\nB = A\nclass Thing(Model):{META}    x = UnicodeAttribute(default=A)\n")
    assert source_table.gaps == ("Thing.x: its default is computed by the program",)


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_damaged_source_is_imported_or_rejected(data: st.DataObject) -> None:
    lines = (FORUM + ANIMALS).splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        word = data.draw(
            st.sampled_from(["", "(", "True", "None", "Meta", "Model", "x", "[]", "{}", "A.b", "f()", "*"])
        )
        lines[at] = re.sub(r"\w+", lambda _: word, lines[at], count=data.draw(st.integers(1, 4)))  # noqa: B023
    try:
        text = design_text(pynamodb([("models.py", "\n".join(lines))]))
    except KeyplanError:
        return
    ast.parse(text)


def test_source_is_never_executed(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    table(f"open({str(marker)!r}, 'w')\nclass Thing(Model):{META}")
    assert not marker.exists()


# What PynamoDB itself makes.


def models(text: str, url: str) -> types.SimpleNamespace:
    """Return the model classes, connected to a server."""
    pytest.importorskip("pynamodb")
    names: dict[str, Any] = {"__name__": "models"}
    exec(HEAD + text, names)
    for value in names.values():
        if isinstance(value, type) and hasattr(value, "Meta") and value.__module__ == "models":
            value.Meta.host = url
            value.Meta.region = "eu-west-1"
    return types.SimpleNamespace(**names)


def test_the_design_creates_the_table_and_reads_the_items_of_pynamodb(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    alone(monkeypatch, tmp_path_factory)
    _, design = of_design(pynamodb([("models.py", HEAD + FORUM + ANIMALS)]), tmp_path)
    with Engine.memory() as engine, ThreadedServer(engine) as server:
        own = models(FORUM + ANIMALS, server.url)
        own.Thread.create_table(wait=False)
        own.Animal.create_table(wait=False)
        entity = [engine.call("DescribeTable", {"TableName": name}) for name in ("threads", "animals")]
        when = own.datetime(2026, 1, 31, 12, tzinfo=own.timezone.utc)
        thread = own.Thread("python", "ast", edited=when, votes=[1, 2], author={"name": "ada"}, picture=b"png")
        thread.tags, thread.gone, thread.extra = {"a"}, when, {"b": 1}
        thread.save()
        own.Dog("rex", barks=False).save()
        items = [engine.call("Scan", {"TableName": name})["Items"][0] for name in ("threads", "animals")]
    assert lasting(described_of(design)) == lasting(entity)
    threads, animals = design.tables
    read: Any = reader_of(threads.entities[0]).entity(items[0])
    assert (read.subject, read.edited, read.votes, read.author) == ("ast", when, [1, 2], {"name": "ada"})
    assert (read.picture, read.gone, read.version, read.extra) == (b"png", when, 1, '{"b": 1}')
    dog: Any = reader_of(animals.entities[1]).entity(items[1])
    assert (dog.name, dog.barks) == ("rex", False)
