"""Sizes of index entries, from what their index holds."""

from __future__ import annotations

from typing import Literal

import pytest

from keyplan.cost.sizes import entry_size
from keyplan.design import GSI, LSI, Bytes, Entity, Items, Table, attr, key

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


@songs.entity(items=Items(1_000, bytes=Bytes(3_000)))
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
def test_an_entry_holds_each_key_field_once(index: str, size: int) -> None:
    (spec,) = songs.entities
    bound = spec.key_in(index)
    assert bound is not None
    assert entry_size(spec, bound).average == size


def test_a_key_attribute_that_two_keys_share_is_stored_once() -> None:
    app = Table("app", pk="PK", sk="SK", indexes=[GSI("turned", pk="SK", sk="kind", project="keys")])

    @app.entity(
        key=key("S#{song}", "SONG"), indexes={"turned": key("SONG", attr("kind"))}, items=Items(9, bytes=Bytes(3_000))
    )
    class Kept(Entity):
        song: str
        kind: Literal["live", "studio"]

    (spec,) = app.entities
    (bound,) = spec.indexes
    key_texts = len("PKS#{song}") + 16 + len("SKSONG")
    assert entry_size(spec, bound).average == key_texts + len("kind") + TEXT
