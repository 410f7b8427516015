"""Sizes of items that declare none, and of index entries, from what their index holds."""

from __future__ import annotations

from typing import Literal

import pytest

from keyplan import GSI, LSI, Bytes, Entity, Table, Volume, attr, key
from keyplan.cost.sizes import ItemSize, entry_size, item_size, read_size

songs = Table(
    "songs",
    pk="artist",
    sk="title",
    indexes=[
        GSI("by_genre", pk="genre", sk="year", project="keys"),
        GSI("by_label", pk="label", project=["genre", "label"]),
        LSI("by_year", sk="year", project="keys"),
    ],
)


@songs.entity(volume=Volume(1_000, bytes=Bytes(3_000)))
class Song(Entity):
    """Keys that are fields."""

    artist: str
    title: str
    genre: str
    label: str
    year: int
    text: str


TEXT, NUMBER = 20, 6
"""What values are taken to have."""


@pytest.mark.parametrize(
    ("index", "size"),
    [
        ("by_genre", len("artisttitlegenreyear") + 3 * TEXT + NUMBER),
        ("by_label", len("artisttitlelabelgenre") + 4 * TEXT),
        ("by_year", len("artisttitleyear") + 2 * TEXT + NUMBER),
    ],
)
def test_an_entry_contains_each_key_field_once(index: str, size: int) -> None:
    (spec,) = songs.entities
    bound = spec.key_in(index)
    assert bound is not None
    assert entry_size(spec, bound).average == size


def test_a_key_attribute_shared_by_two_keys_is_stored_once() -> None:
    app = Table("app", pk="PK", sk="SK", indexes=[GSI("turned", pk="SK", sk="kind", project="keys")])

    @app.entity(
        key=key("S#{song}", "SONG"), indexes={"turned": key("SONG", attr("kind"))}, volume=Volume(9, bytes=Bytes(3_000))
    )
    class Kept(Entity):
        song: str
        kind: Literal["live", "studio"]

    (spec,) = app.entities
    (bound,) = spec.indexes
    key_texts = len("PKS#{song}") + 16 + len("SKSONG")
    assert entry_size(spec, bound).average == key_texts + len("kind") + TEXT


def test_an_item_without_a_declared_size_has_the_size_of_its_fields_and_composed_keys() -> None:
    app = Table("app", pk="PK", sk="id", indexes=[GSI("one", pk="G1", sk="kind"), GSI("two", pk="G2")])

    @app.entity(
        key=key("S#{song}#{take}", attr("id")),
        indexes={"one": key("KIND#{kind}", attr("kind")), "two": key("{id}")},
    )
    class Take(Entity):
        song: str
        take: str
        id: str
        kind: Literal["live", "demo"]

    (spec,) = app.entities
    fields = len("songtakeidkind") + 4 * TEXT
    keys = len("PK" + "S#{song}#{take}") + 2 * 16 + len("G1" + "KIND#live") + len("G2" + "{id}") + 16
    assert item_size(spec) == ItemSize(fields + keys, fields + keys, None, declared=False)


@pytest.mark.parametrize(
    ("expected", "size"),
    [
        (Bytes(3_000), ItemSize(86, 86, None, declared=True)),
        (Bytes(60), ItemSize(60, 60, None, declared=True)),
        (Bytes(60, p99=80), ItemSize(60, 80, None, declared=True)),
        (Bytes(60, p99=300, most=900), ItemSize(60, 86, None, declared=True)),
    ],
)
def test_an_entry_is_at_most_as_large_as_its_item(expected: Bytes, size: ItemSize) -> None:
    app = Table("app", pk="artist", sk="title", indexes=[GSI("by_genre", pk="genre", sk="year", project="keys")])

    @app.entity(volume=Volume(9, bytes=expected))
    class Single(Entity):
        artist: str
        title: str
        genre: str
        year: int

    @app.entity(key=key("L#{name}", "LABEL"), volume=Volume(9, bytes=Bytes(700)))
    class Label(Entity):
        name: str

    single, label = app.entities
    (bound,) = single.indexes
    assert entry_size(single, bound) == read_size(single, bound.index) == size
    assert read_size(single, None) == item_size(single)
    assert read_size(label, bound.index) == item_size(label), "it is never in the index"
