"""The README contains valid queries."""

from __future__ import annotations

import re

from graphql import parse, validate
from tests.systems.readme_parts import readme_of

from keyplan_systems.venue_booking.api.schema import make_schema


def test_the_queries_of_the_readme_are_valid() -> None:
    match = re.search(r"```graphql\n(.*?)```", readme_of("venue_booking").read_text("utf-8"), re.DOTALL)
    assert match is not None
    schema = make_schema()._schema
    for query in re.split(r"\n(?=mutation|query)", match[1]):
        assert validate(schema, parse(query)) == [], query
