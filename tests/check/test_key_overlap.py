"""Questions about shared keys: the quick answers agree with the algebra."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import examples

from keyplan import Entity, Table, key
from keyplan.check.key_overlap import (
    are_disjoint,
    as_template,
    constant_template,
    is_unlikely,
    overlap,
    prefix_overlap,
    skeleton,
)
from keyplan.design.entities import spec_of
from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys.overlaps import keys_overlap
from keyplan.design.keys.templates import BoundTemplate, parse

FIELDS = {
    "name": DeclaredField.from_annotation("name", str),
    "user_id": DeclaredField.from_annotation("user_id", str),
    "number": DeclaredField.from_annotation("number", int),
    "uuid": DeclaredField.from_annotation("uuid", UUID),
}
PARTS = ("{name}", "{number:03d}", "{uuid}", "A#", "AB#", "USER#", "META", "1", "#")

templates = (
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("".join).map(lambda text: parse(text).bind(FIELDS))
)


def bound(text: str) -> BoundTemplate:
    return parse(text).bind(FIELDS)


@settings(deadline=None)
@given(templates, templates)
def test_templates_with_disjoint_prefixes_share_no_key(left: BoundTemplate, right: BoundTemplate) -> None:
    if are_disjoint(left, right):
        assert keys_overlap((left,), (right,)) is None


@settings(deadline=None)
@given(templates, templates)
def test_the_fast_overlap_check_agrees_with_the_algebra(left: BoundTemplate, right: BoundTemplate) -> None:
    assert (overlap((left,), (right,)) is None) == (keys_overlap((left,), (right,)) is None)


@settings(max_examples=examples(60), deadline=None)
@given(templates, templates)
def test_a_key_found_to_start_with_a_prefix_starts_with_it(left: BoundTemplate, right: BoundTemplate) -> None:
    witness = prefix_overlap(left, right, frozenset())
    if witness is not None and witness.certain:
        assert witness.text.startswith(left.literal_prefix)
        assert right.match(witness.text) is not None


@given(st.text(alphabet="ab{}#", min_size=1))
def test_a_constant_renders_its_text(text: str) -> None:
    assert constant_template(text).render({}) == text


@pytest.mark.parametrize(("field", "far"), [("user_id", True), ("name", False)])
def test_separators_are_not_expected_in_ids(field: str, far: bool) -> None:
    results = overlap((bound(f"{{{field}}}"),), (bound("USER#{uuid}"),))
    assert results is not None
    assert is_unlikely(results) is far


def test_a_skeleton_has_no_field_names() -> None:
    assert skeleton(bound("USER#{user_id}#{name}")) == skeleton(bound("USER#{name}#{user_id}")) == "USER#{}#{}"


def test_plain_text_fields_are_templates_of_one_placeholder() -> None:
    table = Table("app", pk="name", sk="number")

    @table.entity()
    class Thing(Entity):
        name: str
        number: int

    parts = spec_of(Thing).key.attributes
    texts: list[Any] = [template.text if (template := as_template(part)) is not None else None for part in parts]
    assert texts == ["{name}", None]


def test_composed_keys_are_their_templates() -> None:
    table = Table("app", pk="PK", sk="SK")

    @table.entity(key=key("THING#{name}", "META"))
    class Thing(Entity):
        name: str

    template = as_template(spec_of(Thing).key.partition[0])
    assert template is not None
    assert template.text == "THING#{name}"
