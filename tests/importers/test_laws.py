"""What holds of every table: its import is a design that makes the same table."""

from __future__ import annotations

import ast
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.importers.tables import (
    attribute_names,
    create_requests,
    created,
    described,
    described_of,
    lasting,
    of_design,
    table_names,
)
from tests.laws import examples

from keyplan.check.checking import check
from keyplan.client.codec import reader_of
from keyplan.importers.cloudformation import cloudformation
from keyplan.importers.describe_table import describe_table
from keyplan.importers.documents import Document, documents
from keyplan.importers.nosql_workbench import nosql_workbench
from keyplan.importers.writing import design_text


@settings(max_examples=examples(50), deadline=None)
@given(create_requests())
def test_a_described_table_is_imported_as_a_design_that_creates_an_equal_table(request: dict[str, Any]) -> None:
    (description,) = described(request)
    source = describe_table(documents("tables.json", json.dumps(description)))
    assert source.tables[0].gaps == ()
    with tempfile.TemporaryDirectory() as folder:
        text, design = of_design(source, Path(folder))
    assert text == design_text(source)
    created(design)
    check(design)
    assert lasting(described_of(design)) == lasting([description])


@settings(max_examples=examples(30), deadline=None)
@given(create_requests())
def test_a_table_of_a_template_is_imported_as_a_design_that_creates_an_equal_table(request: dict[str, Any]) -> None:
    template = {"Resources": {"One": {"Type": "AWS::DynamoDB::Table", "Properties": request}}}
    source = cloudformation([Document("template.json", template)], {})
    with tempfile.TemporaryDirectory() as folder:
        _, design = of_design(source, Path(folder))
    assert lasting(described_of(design)) == lasting(described(request))


_texts = st.one_of(st.text(max_size=8), st.from_regex(r"([A-Za-z]{1,6}#){0,3}[a-z0-9]{1,8}", fullmatch=True))
_values = st.one_of(
    st.builds(lambda text: {"S": text}, _texts),
    st.builds(lambda number: {"N": str(number)}, st.one_of(st.integers(-99, 99), st.decimals(-9, 9, places=2))),
    st.builds(lambda truth: {"BOOL": truth}, st.booleans()),
    st.just({"NULL": True}),
    st.just({"M": {"a": {"N": "1"}}}),
    st.just({"L": [{"S": "x"}]}),
    st.just({"SS": ["x", "y"]}),
    st.just({"NS": ["1", "2.5"]}),
)


@st.composite
def _models(draw: st.DrawFn) -> dict[str, Any]:
    """Draw data models with facets and sample items: similar keys, other attributes of any type."""
    others = draw(st.lists(attribute_names.filter(lambda name: name not in {"PK", "SK"}), max_size=4, unique=True))
    key_texts = st.from_regex(r"([A-Z]{1,3}|c)#[a-z0-9]{1,8}(#[A-Z]{2}#[0-9]{1,3})?", fullmatch=True)
    facets = []
    for name in draw(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=3, unique=True)):
        keys = st.fixed_dictionaries({"PK": key_texts | _texts.filter(bool), "SK": key_texts | _texts.filter(bool)})
        samples = [
            {name: {"S": text} for name, text in draw(keys).items()}
            | draw(st.dictionaries(st.sampled_from(others), _values) if others else st.just({}))
            for _ in range(draw(st.integers(0, 3)))
        ]
        aliases = ["SK", "id", "A#b", "A#{b}", "{day:date}#{b}", "A#{n:03d}", "{SK}", "x}"]
        alias = {"PartitionKeyAlias": draw(key_texts), "SortKeyAlias": draw(st.sampled_from(aliases))}
        facets.append({"FacetName": name, "KeyAttributeAlias": alias, "NonKeyAttributes": others, "TableData": samples})
    attribute = {"AttributeName": "PK", "AttributeType": "S"}
    key = {"PartitionKey": attribute, "SortKey": {**attribute, "AttributeName": "SK"}}
    table: dict[str, Any] = {"TableName": draw(table_names), "KeyAttributes": key, "TableFacets": facets}
    if draw(st.booleans()):
        samples = [sample for facet in table.pop("TableFacets") for sample in facet["TableData"]]
        unique = {(sample["PK"]["S"], sample["SK"]["S"]): sample for sample in samples}
        index = {"IndexName": "by_state", "KeyAttributes": {"PartitionKey": {"AttributeName": "STATE"}}}
        for number, sample in enumerate(unique.values()):
            if draw(st.booleans()):
                sample["state"] = {"S": draw(st.sampled_from(["open", "done"]))}
                if number % 3:
                    sample["STATE"] = {"S": f"STATE#{sample['state']['S']}"}
        table |= {"TableData": list(unique.values()), "GlobalSecondaryIndexes": [index]}
    return {"ModelName": "model", "DataModel": [table]}


@settings(max_examples=examples(80), deadline=None)
@given(_models())
def test_every_sample_item_is_read_as_its_inferred_entity(model: dict[str, Any]) -> None:
    source = nosql_workbench([Document("model.json", model)])
    with tempfile.TemporaryDirectory() as folder:
        _, design = of_design(source, Path(folder))
    created(design)
    for spec, entity in zip(design.tables[0].entities, source.tables[0].entities, strict=True):
        for item in entity.samples:
            reader_of(spec).entity(item)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), table_names)
def test_names_and_descriptions_of_a_source_are_escaped(about: str, name: str) -> None:
    key = {"AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST"}
    key["KeySchema"] = [{"AttributeName": "a", "KeyType": "HASH"}]
    properties = {**key, "TableName": name, about: about}
    template = {"Description": about, "Resources": {about: {"Type": "AWS::DynamoDB::Table", "Properties": properties}}}
    text = design_text(cloudformation([Document(about or "t", template)], {}))
    kinds = [type(node).__name__ for node in ast.parse(text).body]
    assert kinds == ["Expr", "ImportFrom", "Assign", "ClassDef", *["FunctionDef"] * 3]
