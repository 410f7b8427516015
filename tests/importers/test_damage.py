"""Damaged documents: each is imported as a Python file, or refused with a reported error."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.importers.tables import NASTY, described
from tests.importers.templates import GLOBAL, KEY
from tests.laws import examples

from keyplan.errors import KeyplanError
from keyplan.importers.cloudformation import cloudformation
from keyplan.importers.describe_table import describe_table
from keyplan.importers.documents import Document, documents
from keyplan.importers.electrodb import electrodb
from keyplan.importers.nosql_workbench import nosql_workbench
from keyplan.importers.writing import design_text

HERE = Path(__file__).parent
(TEMPLATE,) = documents("shelves.yaml", (HERE / "shelves.yaml").read_text())
TEMPLATE.value["Resources"]["Wide"] = {"Type": "AWS::DynamoDB::GlobalTable", "Properties": GLOBAL}
TEMPLATE.value["Resources"]["Mailer"] = {
    "Type": "AWS::Serverless::Function",
    "Properties": {
        "Handler": "mail.handler",
        "Events": {
            "Changes": {
                "Type": "DynamoDB",
                "Properties": {
                    "Stream": {"Fn::GetAtt": ["Wide", "StreamArn"]},
                    "DestinationConfig": {"OnFailure": {"Destination": {"Fn::GetAtt": ["Unsent", "Arn"]}}},
                    "FilterCriteria": {"Filters": [{"Pattern": '{"eventName": ["INSERT"]}'}]},
                },
            }
        },
    },
}
MODEL = json.loads((HERE / "shop.json").read_text())
BARE_MODEL: Any = {"ModelName": "bare", "DataModel": [{**table, "TableFacets": []} for table in MODEL["DataModel"]]}
for bare, full in zip(BARE_MODEL["DataModel"], MODEL["DataModel"], strict=True):
    bare["TableData"] = [item for facet in full["TableFacets"] for item in facet["TableData"]]
ANSWERS = described({"TableName": "one", **KEY, "BillingMode": "PAY_PER_REQUEST"})
READERS = [
    (TEMPLATE.value, lambda document: cloudformation([document], {})),
    (MODEL, lambda document: nosql_workbench([document])),
    (BARE_MODEL, lambda document: nosql_workbench([document])),
    (json.loads((HERE / "electrodb.json").read_text()), lambda document: electrodb([document])),
    (ANSWERS, lambda document: describe_table([document])),
]
_leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 10**20), st.floats(allow_nan=False), st.sampled_from(NASTY)
)
_values = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NASTY), inner, max_size=2)
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a document."""
    yield path
    if isinstance(value, (dict, list)):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(member, (*path, name))


def damaged(value: Any, path: tuple[Any, ...], put: Any) -> Any:
    """Return a document with the value at a path replaced, or removed for None."""
    if not path:
        return put
    new_value = copy.deepcopy(value)
    holder = new_value
    for name in path[:-1]:
        holder = holder[name]
    if put is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = put
    return new_value


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_a_damaged_document_is_imported_or_rejected(data: st.DataObject) -> None:
    value, read = data.draw(st.sampled_from(READERS))
    for _ in range(data.draw(st.integers(1, 2))):
        value = damaged(value, data.draw(st.sampled_from(list(places(value)))), data.draw(_values))
    try:
        text = design_text(read(Document("t.json", value)))
    except KeyplanError:
        return
    ast.parse(text)
